"""Repair that merges groups by an integer program."""

from typing import TYPE_CHECKING, Any

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.partition._shared.result import Partition
from aggopt.repair._registry import Given, Repair, Solving

if TYPE_CHECKING:
    from aggopt.repair._close import How
    from aggopt.repair._problem import Problem
    from aggopt.repair._repaired import Found


def _repaired(given: Given, labels: Labels, how: Any) -> Partition:
    from aggopt.repair._by_closeness import by_closeness

    return by_closeness("merge-ilp", given, labels, how)


def _solve(problem: "Problem", given: Labels, how: "How", clock: Deadline) -> "Found":
    from aggopt.repair._close import chosen_solver
    from aggopt.repair._merge_ilp import chosen_unions
    from aggopt.repair._merge_until_close import made_close
    from aggopt.repair._repaired import Found
    from aggopt.solvers import Status

    start = made_close(problem, given)
    solver = how.solver or chosen_solver(None)
    chosen = chosen_unions(problem, given, start, solver, clock)
    status = chosen.certificate.status
    # the best of all unions is not the best of all partitions
    ended = Status.LOCAL if status is Status.OPTIMAL else status
    return Found(chosen.labels, ended, chosen.certificate)


METHOD = Repair(
    name="merge-ilp",
    when="t of one ordered attribute, groups kept whole, so that k and l stay",
    rank=10,
    function=_repaired,
    solve=_solve,
    settings=Solving,
    adds=frozenset("t"),
    leaves=frozenset({"k", "l", "p"}),
    any_distance=False,
    asks_solver=True,
    model="closeness_merge",
    certificate="of all unions a proven gap; a bound on any t-close groups",
)
