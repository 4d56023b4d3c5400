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
from aggopt.privacy._ordered import Ordered
from aggopt.repair._problem import Problem
from aggopt.repair._registry import REPAIRS, Repair
from aggopt.repair._repaired import Found
from aggopt.solvers import Solver, Status, choose

SEARCH = 0.6  # share of the time if a program follows
TRIAL = 2.0  # seconds in which four records are repaired, if HiGHS returns


class How(NamedTuple):
    """Options of a method."""

    solver: Solver | None
    proposals: int
    seed: int


Solve = Callable[[Problem, Labels, How, Deadline], Found]


def methods() -> dict[str, Repair]:
    """Return the repairs that `closeness` offers."""
    return {n: method for n, method in REPAIRS.items() if method.solve is not None}


def chosen_solver(name: object) -> Solver:
    """Return the named solver for programs over unions; refuse an unsuitable one."""
    return choose(name, *MODEL.kinds)


def of_search(how: How, clock: Deadline) -> Deadline:
    """Return the clock of the search, which leaves time for a subsequent program."""
    if how.solver is None or clock.seconds is None:
        return clock
    return Deadline(SEARCH * clock.left, clock.progress)


def polished(
    problem: Problem, labels: Labels, how: How, searching: Deadline, clock: Deadline
) -> Found:
    """Return the labels of a search, improved by a program if a solver was named."""
    if how.solver is None:
        return Found(labels, Status.LIMIT if searching.over else Status.LOCAL)
    from aggopt.repair._exchange import exchanged

    best, status = exchanged(problem, labels, how.solver, replace(clock, progress=None))
    ended = Status.LIMIT if searching.over else status
    return Found(best, ended, polished=how.solver.name)


@cache
def compile_for(method: str, language: str | None) -> None:
    """Compile the kernels of a method, on four records, before the clock starts.

    Modules that solve programs are imported, too, also for the `language` of the named
    solver: every method needs a solver for its bound.
    """
    languages = {"cvxpy", language or "cvxpy"}
    for each in languages:
        import_module(f"aggopt.solvers._{each}")
    ordered = Ordered.of([0, 0, 1, 1])
    problem = Problem(np.array([[0.0], [0.0], [1.0], [1.0]]), ordered, 2, 0.1)
    solve = methods()[method].solve
    if solve is not None:
        solve(problem, np.array([0, 0, 1, 1]), How(None, 1, 0), Deadline(TRIAL))
