"""Means that are stretched beyond a bound are drawn in, as those of one table are."""

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, ROLES, digest, job, linked, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt.engine.executors import tasks
from aggopt.engine.state.run_state import ShiftEnd
from aggopt.errors import InfeasibleInputError
from aggopt.solvers import Status

KEEP = {"method": "mean", "keep": "variance"}
LIMITS = {"income": {"lower": 0}, "age": {"lower": 18, "upper": 90}}
ENDS = {"lower": [18, -np.inf, 0], "upper": [90, np.inf, np.inf]}
FULL = {"digits": "full"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two parts, with weights."""
    folder = tmp_path_factory.mktemp("bounds") / "in"
    rng = np.random.default_rng(2)
    tables = [persons(150), persons(90, seed=1)]
    for table in tables:  # ages that no group mean leaves room beyond
        table["age"] = rng.choice([18, 50, 90], len(table), p=[0.4, 0.2, 0.4])
        table["w"] = 1.0 + rng.integers(0, 7, len(table))
    return put(folder, *tables)


UNWEIGHED = {"roles": {**ROLES, "identifier": ["name", "w"]}}
WEIGHTS = {"none": UNWEIGHED, "some": {"roles": {**ROLES, "weight": ["w"]}}}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_values_and_certificates_are_those_of_one_table(folder, tmp_path, weights):
    sections = WEIGHTS[weights]
    asked = job(aggregation=KEEP, attributes=LIMITS, output=FULL, **sections)
    found = masked(folder, asked, tmp_path / "out")
    before, after = linked(folder, found)
    labels, X = pd.factorize(before["group"])[0], before[QUASI].to_numpy(float)
    w = before["w"].to_numpy() if weights == "some" else None
    whole = aggopt.aggregate.mean(X, labels, keep="variance", weights=w, **ENDS)
    assert after[QUASI].to_numpy() == pytest.approx(whole.values, rel=1e-5, abs=1e-5)
    for name, expected in zip(QUASI, whole.certificates, strict=True):
        ours = found.certificates[name]
        assert ours.objective == pytest.approx(expected.objective, rel=1e-7)
        assert ours.bound == pytest.approx(expected.bound, rel=1e-5)
        assert ours.violation < 1e-8
    assert after["income"].min() > 0
    assert after["age"].between(18, 90).all()
    assert after["age"].isin([18, 90]).any()  # without bounds it would be beyond
    solvers = [found.certificates[name].solver for name in QUASI]
    assert solvers == ["lagrangian", "closed form", "closed form"]
    both = (
        np.average((x - np.average(x, weights=w)) ** 2, weights=w)
        for x in (before["age"], after["age"])
    )
    first, second = both
    assert second == pytest.approx(first, rel=1e-6)


def test_bounds_that_nothing_leaves_change_nothing(folder, tmp_path):
    wide = {"height": {"lower": 0, "upper": 300}}
    asked = job(aggregation=KEEP, attributes=wide, **UNWEIGHED)
    found = masked(folder, asked, tmp_path / "wide")
    plain = masked(folder, job(aggregation=KEEP, **UNWEIGHED), tmp_path / "plain")
    assert read(found.path).equals(read(plain.path))
    assert digest(found.path) == digest(plain.path)


def test_bounds_without_an_answer_are_refused(folder, tmp_path, monkeypatch):
    failed = ShiftEnd(Status.FAILED, np.inf, 0.0, 1, 0.0)
    monkeypatch.setitem(tasks.TASKS, "draw in", lambda j, config: failed)
    asked = job(aggregation=KEEP, attributes=LIMITS, **UNWEIGHED)
    with refused(InfeasibleInputError, "'age'"):
        masked(folder, asked, tmp_path / "out")
    assert not (tmp_path / "out").exists()
