"""A repair of the user's: it is told what is broken, and what it makes is checked."""

import re

import numpy as np
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt import Job
from aggopt.errors import JobError, PrivacyError, UnknownNameError, UntrustedCodeError

CODE = """
import numpy as np

def joined(X, labels, k, *, broken, most=100):
    while most and broken(labels).any():
        first = int(np.flatnonzero(broken(labels))[0])
        other = first + 1 if first < labels.max() else first - 1
        labels = np.where(labels == first, other, labels)
        labels = np.unique(labels, return_inverse=True)[1]
        most -= 1
    X[:] = 0.0
    return labels
"""
space: dict = {}
exec(CODE, space)
joined = space["joined"]


def asked(repair, **privacy):
    return job(privacy={"k": 3, "l": 2, "repair": repair, **privacy})


def test_what_it_makes_is_checked_and_certified() -> None:
    release = aggopt.mask(people(), asked(joined))
    (check,) = release.audit.promises
    assert check.holds
    certificate = release.blocks[0].certificate
    assert certificate.solver == "joined"
    assert 0 < certificate.bound <= certificate.objective
    assert release.manifest()["code"][0]["kind"] == "repairs"
    assert release.manifest()["job"]["privacy"]["repair"] == {
        "method": "joined",
        "most": 100,
    }


def test_groups_that_satisfy_it_already_are_left() -> None:
    whole = job(privacy={"k": 20, "l": 2, "repair": joined})
    release = aggopt.mask(people(), whole)
    assert release.blocks[0].certificate.solver == "mdav"


def leaves(X, labels, k):
    return labels


def too_small(X, labels, k):
    return np.arange(len(labels))


def too_few(X, labels, k):
    return labels[:-1]


def asks_wrongly(X, labels, k, *, broken):
    return broken(labels[:-1])


@pytest.mark.parametrize(
    ("repair", "error"),
    [
        (leaves, PrivacyError),
        (too_small, PrivacyError),
        (too_few, JobError),
        (asks_wrongly, JobError),
    ],
)
def test_what_it_does_not_repair_is_refused(repair, error) -> None:
    with refused(error):
        aggopt.mask(people(), asked(repair))


def test_a_job_names_it_by_its_file(tmp_path) -> None:
    code = tmp_path / "mine.py"
    code.write_text(CODE)
    text = asked("merge").to_toml()
    assert 'method = "merge"' in text
    file = tmp_path / "job.toml"
    file.write_text(text.replace('"merge"', '"mine.py:joined"'))
    read = Job.read(file)
    short = re.sub(r"\[privacy\.repair\]\nmethod = (.*)", "", file.read_text())
    file.write_text(short.replace("l = 2", 'l = 2\nrepair = "mine.py:joined"'))
    assert Job.read(file) == read
    assert read.privacy.repair.method == f"{code}:joined"
    with refused(UntrustedCodeError, "[privacy]"):
        aggopt.mask(people(), read)
    release = aggopt.mask(people(), read, trust=[code])
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(
        files.manifest, people(), tmp_path / "again.csv", trust=[code]
    )
    assert again.table.read_bytes() == files.table.read_bytes()
    assert asked(f"{code}:joined") == asked({"method": f"{code}:joined"})


def test_settings_of_a_repair_are_those_of_its_function() -> None:
    assert asked({"method": joined, "most": 5}).privacy.repair.settings == {"most": 5}
    with refused(UnknownNameError, "'msot'"):
        asked({"method": joined, "msot": 5})
    with refused(JobError):
        asked({"method": joined, "most": "5"})
    with refused(JobError, "privacy"):
        asked("mrege")
