"""The restricted master: its optimum, its duals, columns and rows added later."""

import numpy as np
import pytest
from refusals import refused

from aggopt.core.highs_program import HighsProgram
from aggopt.errors import SolverError
from aggopt.partition._optimal.column_generation import GroupMaster
from aggopt.partition._optimal.columns import group_columns
from aggopt.partition.shared import restricted_master
from aggopt.partition.shared.restricted_master import RestrictedMaster, require_highs


def test_the_optimum_takes_the_cheaper_cover():
    master = RestrictedMaster(3)
    starts, rows = np.array([0, 2, 3]), np.array([0, 1, 2, 0, 1, 2])
    master.add_columns(np.array([1.0, 1.0, 3.0]), starts, rows, np.ones(6))
    assert master.ask(10, HighsProgram.solve, 10.0).objective == pytest.approx(2.0)
    master.add_columns(np.array([0.5]), np.array([0]), np.arange(3), np.ones(3))
    found = master.ask(np.inf, HighsProgram.solve, np.inf)
    assert list(found.columns) == pytest.approx([0, 0, 0, 1])
    assert sum(found.duals) == pytest.approx(0.5)


def test_groups_are_priced_by_their_records():
    labels = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0]]
    master = GroupMaster(6)
    for found, cost in zip(labels, (2.0, 5.0), strict=True):
        master.add(group_columns(np.array(found), 3), np.full(2, cost))
    solved = master.solve()
    assert solved.value == pytest.approx(4.0)
    assert list(solved.share) == pytest.approx([1, 1, 0, 0])
    assert solved.is_integral
    assert solved.duals.u.sum() == pytest.approx(4.0)


def test_a_deadline_that_has_passed_is_no_limit_below_zero():
    master = GroupMaster(4)
    master.add(group_columns(np.array([0, 0, 1, 1]), 2), np.ones(2))
    solved = master.solve(-1.0)
    assert solved is None or solved.value == pytest.approx(2.0)


def test_without_highs_the_command_that_installs_it_is_named(monkeypatch):
    class Lacking:
        lacks = ("highspy",)
        install = "pip install highspy"

    monkeypatch.setattr(restricted_master, "SOLVERS", {"cvxpy:highs": Lacking})
    with refused(SolverError):
        require_highs("Unions")
