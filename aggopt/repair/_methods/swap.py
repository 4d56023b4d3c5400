"""Repair that swaps and moves records."""

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

    return by_closeness("swap", given, labels, how)


def _solve(problem: "Problem", given: Labels, how: "How", clock: Deadline) -> "Found":
    from aggopt.repair._close import of_search, polished
    from aggopt.repair._local_search import searched
    from aggopt.repair._merge_until_close import made_close

    whole, clock = clock, of_search(how, clock)
    start = given if problem.holds(given) else made_close(problem, given)
    best = searched(problem, start, how.proposals, how.seed, clock)
    return polished(problem, best, how, clock, whole)


METHOD = Repair(
    name="swap",
    when="t of one ordered attribute, from the groups given",
    rank=20,
    function=_repaired,
    solve=_solve,
    settings=Solving,
    adds=frozenset("t"),
    leaves=frozenset("k"),
    any_distance=False,
    model="closeness_merge",
    certificate="a bound on any t-close groups",
)
