"""Repair that merges groups by an integer program."""

from typing import TYPE_CHECKING, Any

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.partition.shared.result import Partition
from aggopt.repair.registry import Repair, RepairInput, SolvingSettings

if TYPE_CHECKING:
    from aggopt.repair._closeness import RepairOptions
    from aggopt.repair._problem import MethodResult, Problem


def _repair(repair_input: RepairInput, labels: Labels, settings: Any) -> Partition:
    """Return the partition repaired by `closeness` with method "merge-ilp"."""
    from aggopt.repair._closeness import repair_by_closeness

    return repair_by_closeness("merge-ilp", repair_input, labels, settings)


def _solve(
    problem: "Problem", labels: Labels, options: "RepairOptions", clock: Deadline
) -> "MethodResult":
    """Return the best t-close unions of groups that an integer program finds."""
    from aggopt.repair._closeness import choose_union_solver
    from aggopt.repair._merge_ilp import choose_unions
    from aggopt.repair._problem import MethodResult, make_close
    from aggopt.solvers import Status

    start = make_close(problem, labels)
    solver = options.solver or choose_union_solver(None)
    chosen = choose_unions(problem, labels, start, solver, clock)
    status = chosen.certificate.status
    # the best of all unions is not the best of all partitions
    ended = Status.LOCAL if status is Status.OPTIMAL else status
    return MethodResult(chosen.labels, ended, chosen.certificate)


METHOD = Repair(
    name="merge-ilp",
    when="t of one ordered attribute, groups kept whole, so that k and l stay",
    rank=10,
    function=_repair,
    solve=_solve,
    settings=SolvingSettings,
    adds=frozenset("t"),
    leaves=frozenset({"k", "l", "p"}),
    any_distance=False,
    asks_solver=True,
    model="closeness_merge",
    certificate="of all unions a proven gap; a bound on any t-close groups",
)
