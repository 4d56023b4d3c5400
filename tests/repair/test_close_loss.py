"""What t costs at least: of many coordinates few directions are looked at."""

import numpy as np
import pytest

from aggopt.models import closeness_bound as model
from aggopt.partition.shared import promised_bound as bound_module
from aggopt.partition.shared.promised_bound import WIDEST, bound_close_loss
from aggopt.repair._problem import Problem, create_problem
from aggopt.solvers import solve

PIECES = 4


def wide(d: int) -> Problem:
    """Return 60 records whose d coordinates vary with what is confidential."""
    rng = np.random.default_rng(1)
    r = rng.permutation(60) / 59
    told = np.column_stack([r, r**2, rng.normal(size=(60, 3))])
    X = told @ rng.normal(size=(5, d)) + 0.5 * rng.normal(size=(60, d))
    return create_problem(X, r, 3, 0.2, "distinct")


@pytest.fixture(autouse=True)
def sizes(monkeypatch) -> list[int]:
    """Return the sizes of the programs that are solved."""
    seen = []

    def spied(program, solver, **limit):
        seen.append(program.variables()[0].shape[0])
        return solve(program, solver, **limit)

    monkeypatch.setattr(bound_module, "solve", spied)
    monkeypatch.setattr(bound_module, "PIECES", (PIECES,))
    return seen


def test_few_directions_prove_nearly_as_much_and_never_more(sizes) -> None:
    task = wide(WIDEST + 6)
    data = model.Data(task.Z, task.ordered.place / 59, task.t, PIECES)
    program = model.build(data, "cvxpy")
    solve(program, "cvxpy:clarabel")
    whole = model.proven(data, model.multipliers(program, data)) * task.Z.size
    found = bound_close_loss(task.Z, task.ordered, task.t)
    assert 0.9 * whole <= found <= whole * (1 + 1e-6)
    assert whole > 0
    assert sizes == [WIDEST + PIECES]


def test_all_directions_are_seen_where_they_are_few(sizes) -> None:
    task = wide(WIDEST)
    assert bound_close_loss(task.Z, task.ordered, task.t) > 0
    assert sizes == [WIDEST + PIECES]


def test_coordinates_beyond_count_no_more_than_memory(sizes) -> None:
    task = wide(400)
    assert bound_close_loss(task.Z, task.ordered, task.t) > 0
    assert sizes == [WIDEST + PIECES]
