"""Privacy models of the user's, and all others, are kept and counted in folders."""

import json

import numpy as np
import pytest
from folders import QUASI, job, masked, persons, put, read
from refusals import refused

from aggopt.engine.validate import values
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.privacy import dissimilarity, epsilon_m

SEEN: list[list[int]] = []
MINE = """
def several(values, *, least=2):
    return len(set(values)) >= least
"""


def told(values, whole):
    """Note what all records have."""
    SEEN.append(sorted(whole.tolist()))
    return True


def narrow(values):
    """Whether a group's values lie within 20, which those of all do not."""
    return bool(np.ptp(values) <= 20)


def never(values):
    """Say no."""
    return False


def asking(own, **sections):
    """Return a job that asks for a model, by merging, in four blocks."""
    privacy = {"own": own, "repair": "merge"}
    return job(privacy=privacy, engine={"block": 40}, **sections)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of persons who differ in income; what is confidential goes with it."""
    table = persons(160).assign(height=0.0, age=3).sort_values("income")
    table["ill"] = np.maximum(np.arange(160) - 40, 20) - 20
    to = tmp_path_factory.mktemp("own") / "in"
    return put(to, table[::2], table[1::2])


def test_a_function_of_a_file_judges_groups_of_blocks(folder, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    own = [{"method": f"{mine}:several", "least": 3}]
    found = masked(folder, asking(own), tmp_path / "out", trust=[mine])
    written = read(found.path)
    assert written.groupby(QUASI)["ill"].nunique().min() >= 3
    (check,) = found.audit.promises
    assert check.holds
    assert check.groups == written.groupby(QUASI).ngroups > 1
    assert "by mine.py, sha256" in str(found.audit)
    said = json.loads((found.private / "manifest.json").read_text())
    assert [each["file"] for each in said["code"]] == ["mine.py"]
    assert found.manifest["blocks"] < 4


def test_it_is_told_the_values_of_all_records(folder, tmp_path):
    SEEN.clear()
    masked(folder, asking(told), tmp_path / "out")
    expected = sorted(read(folder)["ill"].tolist())
    assert SEEN
    assert all(each == expected for each in SEEN)


def test_groups_may_keep_what_all_records_together_do_not(folder, tmp_path):
    found = masked(folder, asking(narrow), tmp_path / "out")
    spread = read(found.path).groupby(QUASI)["ill"].agg(np.ptp)
    assert spread.max() <= 20
    assert found.manifest["blocks"] > 1


def test_what_no_groups_keep_is_refused(folder, tmp_path):
    with refused(InfeasibleInputError, "DOES", "NOT", "HOLD"):
        masked(folder, asking(never), tmp_path / "out")


def test_a_function_that_no_process_finds_is_refused(folder, tmp_path):
    with refused(JobError, "mine.py"):
        masked(folder, asking(lambda values: True), tmp_path / "out")


def test_more_records_than_a_process_holds_are_not_told(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(values, "MOST_RECORDS", 159)
    assert masked(folder, asking(narrow), tmp_path / "out").audit.groups > 1
    with refused(InfeasibleInputError, "160", "'ill'", "159"):
        masked(folder, asking(told), tmp_path / "other")


MODELS = {
    "proximity": {"proximity": {"epsilon": 2, "m": 2}},
    "dissimilarity": {"dissimilarity": {"epsilon": 2, "delta": 0.5}},
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_this_package_are_kept_in_blocks(name, folder, tmp_path):
    privacy = MODELS[name] | {"repair": "merge"}
    found = masked(folder, job(privacy=privacy, engine={"block": 60}), tmp_path / "out")
    written = read(found.path)
    (check,) = found.audit.promises
    count = {"proximity": epsilon_m, "dissimilarity": dissimilarity}[name]
    assert check.holds
    assert check.found == pytest.approx(count(written[QUASI], written["ill"], 2))
    assert check.groups == written.groupby(QUASI).ngroups
