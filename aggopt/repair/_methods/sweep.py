"""Repair that starts from groups of several sizes."""

from typing import TYPE_CHECKING, Any

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.partition.shared.result import Partition
from aggopt.repair.registry import Repair, RepairInput, SolvingSettings

if TYPE_CHECKING:
    from aggopt.repair._closeness import RepairOptions
    from aggopt.repair._problem import MethodResult, Problem


def _repair(repair_input: RepairInput, labels: Labels, settings: Any) -> Partition:
    """Return the partition repaired by `closeness` with method "sweep"."""
    from aggopt.repair._closeness import repair_by_closeness

    return repair_by_closeness("sweep", repair_input, labels, settings)


def _solve(
    problem: "Problem", labels: Labels, options: "RepairOptions", clock: Deadline
) -> "MethodResult":
    """Return the best t-close groups of local searches from strata of several sizes."""
    from aggopt.repair._closeness import make_search_clock, polish_by_program
    from aggopt.repair._local_search import search_from_strata
    from aggopt.repair._problem import make_close

    total_clock = clock
    clock = make_search_clock(options, clock)
    start = labels if problem.holds(labels) else None
    best = search_from_strata(problem, start, options.proposals, options.seed, clock)
    if best is None:
        best = make_close(problem, labels)
    return polish_by_program(problem, best, options, clock, total_clock)


METHOD = Repair(
    name="sweep",
    when="t of one ordered attribute, mostly at the least loss",
    rank=30,
    function=_repair,
    solve=_solve,
    settings=SolvingSettings,
    adds=frozenset("t"),
    leaves=frozenset("k"),
    any_distance=False,
    model="closeness_merge",
    certificate="a bound on any t-close groups",
)
