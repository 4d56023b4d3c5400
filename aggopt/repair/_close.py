"""Common steps of the repairs that keep t of one attribute, as in `closeness`."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.types import Labels
from aggopt.models.closeness_merge import MODEL
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.repair._problem import Problem
from aggopt.repair._result import MethodResult
from aggopt.repair.registry import REPAIRS, Repair
from aggopt.solvers import Solver, Status, choose_solver

SEARCH = 0.6  # share of the time if a program follows
TRIAL = 2.0  # seconds in which four records are repaired, if HiGHS returns


class RepairOptions(NamedTuple):
    """Options of a method."""

    solver: Solver | None
    proposals: int
    seed: int


Solve = Callable[[Problem, Labels, RepairOptions, Deadline], MethodResult]


def list_closeness_methods() -> dict[str, Repair]:
    """Return the repairs that `closeness` offers."""
    return {n: method for n, method in REPAIRS.items() if method.solve is not None}


def choose_union_solver(name: object) -> Solver:
    """Return the named solver for programs over unions; refuse an unsuitable one."""
    return choose_solver(name, *MODEL.kinds)


def make_search_clock(options: RepairOptions, clock: Deadline) -> Deadline:
    """Return the clock of the search, which leaves time for a subsequent program."""
    if options.solver is None or clock.seconds is None:
        return clock
    return Deadline(SEARCH * clock.left, clock.progress)


def polish_by_program(
    problem: Problem,
    labels: Labels,
    options: RepairOptions,
    searching: Deadline,
    clock: Deadline,
) -> MethodResult:
    """Return the labels of a search, improved by a program if a solver was named."""
    if options.solver is None:
        return MethodResult(labels, Status.LIMIT if searching.over else Status.LOCAL)
    from aggopt.repair._merge_ilp import exchange_records

    best, status = exchange_records(
        problem, labels, options.solver, replace(clock, progress=None)
    )
    ended = Status.LIMIT if searching.over else status
    return MethodResult(best, ended, polished=options.solver.name)


@cache
def compile_for(method: str, language: str | None) -> None:
    """Compile the kernels of a method, on four records, before the clock starts.

    Modules that solve programs are imported, too, also for the `language` of the named
    solver: every method needs a solver for its bound.
    """
    languages = {"cvxpy", language or "cvxpy"}
    for name in languages:
        import_module(f"aggopt.solvers._{name}")
    ordered = Ordered.of([0, 0, 1, 1])
    problem = Problem(np.array([[0.0], [0.0], [1.0], [1.0]]), ordered, 2, 0.1)
    solve = list_closeness_methods()[method].solve
    if solve is not None:
        solve(
            problem, np.array([0, 0, 1, 1]), RepairOptions(None, 1, 0), Deadline(TRIAL)
        )
