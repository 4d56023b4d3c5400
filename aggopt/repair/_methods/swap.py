"""Repair that swaps and moves records."""

from typing import TYPE_CHECKING, Any

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.partition.shared.result import Partition
from aggopt.repair.registry import Repair, RepairInput, SolvingSettings

if TYPE_CHECKING:
    from aggopt.repair._closeness import RepairOptions
    from aggopt.repair._problem import MethodResult, Problem


def _repair(repair_input: RepairInput, labels: Labels, settings: Any) -> Partition:
    """Return the partition repaired by `closeness` with method "swap"."""
    from aggopt.repair._closeness import repair_by_closeness

    return repair_by_closeness("swap", repair_input, labels, settings)


def _solve(
    problem: "Problem", labels: Labels, options: "RepairOptions", clock: Deadline
) -> "MethodResult":
    """Return t-close groups by local search from the initial groups."""
    from aggopt.repair._closeness import make_search_clock, polish_by_program
    from aggopt.repair._local_search import search_locally
    from aggopt.repair._problem import make_close

    total_clock = clock
    clock = make_search_clock(options, clock)
    start = labels if problem.holds(labels) else make_close(problem, labels)
    best = search_locally(problem, start, options.proposals, options.seed, clock)
    return polish_by_program(problem, best, options, clock, total_clock)


METHOD = Repair(
    name="swap",
    when="t of one ordered attribute, from the groups given",
    rank=20,
    function=_repair,
    solve=_solve,
    settings=SolvingSettings,
    adds=frozenset("t"),
    leaves=frozenset("k"),
    any_distance=False,
    model="closeness_merge",
    certificate="a bound on any t-close groups",
)
