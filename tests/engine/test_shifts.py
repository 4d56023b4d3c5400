"""P3M of a folder is P3M of the table, on the same groups and distances."""

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, SECRET, job, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt.aggregate.secret_margins import draw_margins
from aggopt.core.standardise import Scale
from aggopt.engine.executors import tasks
from aggopt.engine.state.run_state import ShiftEnd
from aggopt.errors import SolverError
from aggopt.solvers import Status


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
