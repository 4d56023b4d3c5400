"""Tables that are refused, and tables in regular steps."""

import json
import os
import re
import socket
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt import Job
from aggopt.data.parsing.parse_text import NOT_AS_THEY_ARE, UNDONE
from aggopt.errors import AggoptError, JobError, TableError
from aggopt.pipeline.review.review_release import assess_release

TEXT = people().assign(age=np.tile(["low", "middle", "high", "low"], 10))
DIGITS = people().assign(age=2**60 + np.arange(40))


def expect_refusal(data):
    with refused(AggoptError) as error:
        aggopt.mask(data, job())
    return str(error.value)


def test_objects_and_words_among_numbers_are_to_be_recoded_or_dropped(tmp_path):
    exact = pd.Series([Decimal(i) for i in range(40)], dtype=object)
    said = expect_refusal(people().assign(age=exact))
    assert said.endswith(f"{NOT_AS_THEY_ARE} Convert their type if they are numbers.")
    some = people()["age"].astype(str).where(people().index > 2, "unknown")
    people().assign(age=some).to_csv(tmp_path / "people.csv", index=False)
    said = expect_refusal(tmp_path / "people.csv")
    assert f"{NOT_AS_THEY_ARE} For numbers with a decimal comma" in said


def test_digits_that_floats_lose_are_to_be_shortened_or_dropped():
    said = expect_refusal(DIGITS)
    assert said.endswith(f"or drop them, as identifier. {UNDONE}")


def test_an_l_that_cannot_be_reached_does_not_advise_to_drop_the_promise():
    with refused(AggoptError):
        aggopt.mask(people(), job(privacy={"k": 3, "l": 4, "repair": "merge"}))


def test_what_is_advised_works():
    order = {"low": 0, "middle": 1, "high": 2}
    assert aggopt.mask(TEXT.assign(age=TEXT["age"].map(order)), job()).audit.holds
    columns = pd.get_dummies(TEXT["age"], dtype=int)
    roles = {**ROLES, "quasi-identifier": ["income", *columns]}
    coded = pd.concat([TEXT.drop(columns="age"), columns], axis=1)
    assert aggopt.mask(coded, job(roles=roles)).audit.holds
    roles = {**ROLES, "identifier": ["name", "age"], "quasi-identifier": ["income"]}
    assert aggopt.mask(TEXT, job(roles=roles)).audit.holds
    assert aggopt.mask(DIGITS, job(roles=roles)).audit.holds


def test_no_advice_of_the_package_is_another_role():
    for path in Path(aggopt.__file__).parent.rglob("*.py"):
        assert not re.search(r"another\W+role", path.read_text("utf-8")), path.name


def test_of_text_that_tells_most_apart_it_is_said_how_dates_are_read():
    days = people().assign(age=pd.date_range("2020", periods=40).astype(str))
    expect_refusal(days)
    asked = job(attributes={"age": {"kind": "date"}})
    assert aggopt.mask(days, asked).audit.holds


# --- what is no plain file is refused wherever a file is read, and never waited for


ODD = {
    "pipe": (os.mkfifo, "is a named pipe and no plain file"),
    "device": (lambda path: os.symlink("/dev/null", path), "is a device and no plain"),
    "socket": (
        lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
        "is a socket and no plain file",
    ),
    "folder": (os.mkdir, "is a directory"),
}


@pytest.fixture(params=ODD)
def odd(request, tmp_path, monkeypatch):
    """Put what is no file at a place; return what is said of it."""
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    make, says = ODD[request.param]

    def put(name):
        if os.path.exists(name):
            os.unlink(name)
        make(name)
        return says

    return put


@pytest.mark.filterwarnings("ignore:unclosed")
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_tables(odd, name):
    says = odd(name)
    with pytest.raises(TableError, match=says):
        aggopt.mask(name, job())


@pytest.mark.filterwarnings("ignore:unclosed")
def test_jobs(odd):
    says = odd("job.toml")
    with pytest.raises(JobError, match=says):
        Job.read("job.toml")


@pytest.mark.filterwarnings("ignore:unclosed")
@pytest.mark.parametrize("name", ["m.manifest.json", "m.private.csv"])
def test_keys_and_manifests(odd, tmp_path, name):
    people().to_csv("t.csv", index=False)
    aggopt.mask("t.csv", job()).write("m.csv")
    says = odd(name)
    with pytest.raises(TableError, match=says):
        assess_release(tmp_path / "t.csv", tmp_path / "m.csv", job())


@pytest.mark.filterwarnings("ignore:unclosed")
def test_manifests_that_are_repeated(odd):
    says = odd("m.manifest.json")
    with pytest.raises(TableError, match=says):
        aggopt.repeat("m.manifest.json", people(), "again.csv")


def test_a_link_to_a_plain_file_is_fine(tmp_path):
    people().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "job.toml").write_text(job().to_toml())
    for name in ("t.csv", "job.toml"):
        (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
    asked = Job.read(tmp_path / "link-job.toml")
    release = aggopt.mask(tmp_path / "link-t.csv", asked)
    assert json.loads(json.dumps(release.manifest()))["audit"]["holds"]
