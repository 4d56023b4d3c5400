"""Passes for bounds, moments and shifts."""

import numpy as np
import pandas as pd
import pytest
from folders import (
    QUASI,
    ROLES,
    SECRET,
    digest,
    job,
    linked,
    masked,
    persons,
    put,
    read,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.aggregate.secret_margins import draw_margins
from aggopt.core.standardise import Scale
from aggopt.engine.executors import tasks
from aggopt.engine.state.moments import PartMoments
from aggopt.engine.state.run_state import ShiftEnd
from aggopt.errors import InfeasibleInputError, SolverError, TableError
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


# --- partMoments of pieces are those of all records


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 30), min_size=1, max_size=5))
def test_pieces_together_have_the_moments_of_all(seed, sizes):
    rng = np.random.default_rng(seed)
    parts = [1e6 + rng.normal(size=(size, 3)) for size in sizes]
    whole, found = (
        np.vstack(parts),
        PartMoments.together([PartMoments.of(x) for x in parts]),
    )
    away = whole - whole.mean(axis=0)
    assert (found.n == len(whole)).all()
    assert found.mean == pytest.approx(whole.mean(axis=0), rel=1e-14)
    assert found.products == pytest.approx(away.T @ away, rel=1e-7, abs=1e-7)
    assert found.variance == pytest.approx(whole.var(axis=0), rel=1e-7, abs=1e-9)
    assert (found.low, found.high) == (
        pytest.approx(whole.min(axis=0), abs=0),
        pytest.approx(whole.max(axis=0), abs=0),
    )


def test_numbers_whose_squares_no_float_sums_are_refused_by_name(tmp_path):
    tables = [persons(30).astype({"age": float}) for _ in range(2)]
    tables[1].loc[3, "age"] = 1.1e150
    with refused(TableError, "in-1.parquet", "150", "'age'"):
        masked(put(tmp_path / "in", *tables), job(), tmp_path / "out")


# --- p3M of a folder is P3M of the table, on the same groups and distances


@pytest.mark.parametrize(
    "asked",
    [{"delta": 0.1}, {"delta": {"relative": 0.5}, "importance": 0.5, "alpha": 0.8}],
    ids=["little", "much"],
)
def test_objective_and_values_are_those_of_one_process(tmp_path, asked):
    folder = put(
        tmp_path / "in",
        persons(150).assign(height=1.0),
        persons(70, seed=1).assign(height=1.0),
    )
    how = {"method": "p3m", **asked}
    given = job(aggregation=how, output={"digits": "full"}, engine={"block": 60})
    found = masked(folder, given, tmp_path / "out")
    assert any("secret margin" in note for note in found.notes)
    key, written = read(found.private), read(found.path)
    originals = pd.concat(
        pd.read_parquet(path).assign(
            input_file=path.name, input_record=range(len(pd.read_parquet(path)))
        )
        for path in sorted(folder.iterdir())
    )
    at = key.astype({"input_file": str}).reset_index()
    rows = at.merge(originals, on=["input_file", "input_record"]).sort_values("index")
    X, labels = rows[QUASI].to_numpy(float), pd.factorize(rows["group"], sort=True)[0]
    Z = Scale.of(X).standardise(X)
    delta = np.full(Z.shape, 0.1) if asked["delta"] == 0.1 else 0.5 * np.abs(Z)
    block = rows["group"].to_numpy() >> 32
    for number in np.unique(block):
        own = block == number
        inner = (rows["group"].to_numpy() & (2**32 - 1))[own].astype(np.intp)
        secret, steps = f"{SECRET} block {number}", np.zeros(Z.shape[1])
        delta[own] += draw_margins(inner, delta[own], None, secret, steps)
    soft = {
        "importance": asked.get("importance", 0.001),
        "alpha": asked.get("alpha", 0.5),
    }
    whole = aggopt.aggregate.p3m(X, labels, delta=delta, **soft)
    for name, expected in zip(QUASI, whole.certificates, strict=True):
        ours = found.certificates[name]
        assert ours.status == expected.status == "optimal"
        assert ours.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-12)
        assert ours.bound == pytest.approx(expected.bound, rel=1e-6, abs=1e-12)
        assert ours.violation < 1e-9
    spread = np.where(X.std(axis=0) == 0, 1.0, X.std(axis=0))
    away = (written[QUASI].to_numpy() - whole.values) / spread
    assert np.abs(away).max() < 1e-4


def test_a_release_without_margins_is_warned_of(tmp_path):
    folder = put(tmp_path / "in", persons(60))
    found = masked(
        folder, job(aggregation={"method": "p3m", "margin": 0}), tmp_path / "out"
    )
    assert any(note.startswith("margin = 0: ") for note in found.notes)


def test_a_program_without_an_answer_leaves_nothing(tmp_path, monkeypatch):
    ended = ShiftEnd(Status.FAILED, np.inf, 0.0, 1, 0.0)
    monkeypatch.setitem(tasks.TASKS, "solve", lambda j, config: ended)
    folder = put(tmp_path / "in", persons(60))
    with refused(SolverError, "'age'"):
        masked(folder, job(aggregation={"method": "p3m"}), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(("bound", "status"), [(2.0, "optimal"), (1.9, "ended")])
def test_optimal_is_said_where_the_bound_shows_it(bound, status):
    end = ShiftEnd(Status.OPTIMAL, 2.0, bound, 1, 0.0)
    certificate = end.certificate(1e-12)
    assert certificate.status.value.startswith(status)
    assert (certificate.bound, certificate.violation) == (bound, 1e-12)
