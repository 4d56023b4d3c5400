"""The methods of repair, one function each."""

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels
from aggopt.models.closeness_merge import MODEL
from aggopt.privacy._ordered import Ordered
from aggopt.repair._repaired import Found
from aggopt.repair._task import Task
from aggopt.solvers import SOLVERS, Solver, Status, choose

SEARCH = 0.6  # share of the time, where a program has the last word


class How(NamedTuple):
    """What a method is told beside the task."""

    solver: Solver | None
    proposals: int
    seed: int


def chosen_solver(name: str | None) -> Solver:
    """Return the solver of that name for programs over unions; refuse another."""
    return choose(name, *MODEL.kinds)


def _by_unions(task: Task, given: Labels, how: How, clock: Deadline) -> Found:
    from aggopt.repair._merge import made_close
    from aggopt.repair._merge_ilp import chosen_unions

    start = made_close(task, given)
    solver = how.solver or chosen_solver(None)
    chosen = chosen_unions(task, given, start, solver, clock)
    status = chosen.certificate.status
    # the best of all unions is not the best of all partitions
    ended = Status.LOCAL if status is Status.OPTIMAL else status
    return Found(chosen.labels, ended, chosen.certificate)


def _by_swaps(task: Task, given: Labels, how: How, clock: Deadline) -> Found:
    from aggopt.repair._improved import improved
    from aggopt.repair._merge import made_close

    whole, clock = clock, _of_search(how, clock)
    start = given if task.holds(given) else made_close(task, given)
    best = improved(task, start, how.proposals, how.seed, clock)
    return _polished(task, best, how, clock, whole)


def _by_sweep(task: Task, given: Labels, how: How, clock: Deadline) -> Found:
    from aggopt.repair._merge import made_close
    from aggopt.repair._sweep import swept

    whole, clock = clock, _of_search(how, clock)
    start = given if task.holds(given) else None
    best = swept(task, start, how.proposals, how.seed, clock)
    if best is None:
        best = made_close(task, given)
    return _polished(task, best, how, clock, whole)


def _of_search(how: How, clock: Deadline) -> Deadline:
    """Return the clock of the search, which leaves time for a program that follows."""
    if how.solver is None or clock.seconds is None:
        return clock
    return Deadline(SEARCH * clock.left, clock.progress)


def _polished(
    task: Task, labels: Labels, how: How, searching: Deadline, clock: Deadline
) -> Found:
    """Return the labels of a search, after the program of a solver that was named."""
    if how.solver is None:
        return Found(labels, Status.LIMIT if searching.over else Status.LOCAL)
    from aggopt.repair._exchange import exchanged

    best, status = exchanged(task, labels, how.solver, replace(clock, progress=None))
    ended = Status.LIMIT if searching.over else status
    return Found(best, ended, polished=how.solver.name)


SOLVE = {"merge-ilp": _by_unions, "swap": _by_swaps, "sweep": _by_sweep}


METHODS = tuple(SOLVE)


@cache
def compile_for(method: str, language: str | None) -> None:
    """Compile what a method needs, on four records, before its time is taken.

    What solves programs is imported, too, also that in the `language` of the solver
    that is named: a bound needs one, whatever the method.
    """
    from aggopt.partition._local_search.search import compile_all

    compile_all(promising=True)
    languages = {"cvxpy", language or "cvxpy"}
    highs = [] if SOLVERS["cvxpy:highs"].lacks else ["highspy"]
    for name in (*highs, *(f"aggopt.solvers._{each}" for each in languages)):
        import_module(name)
    ordered = Ordered.of([0, 0, 1, 1])
    task = Task(np.array([[0.0], [0.0], [1.0], [1.0]]), ordered, 2, 0.1)
    SOLVE[method](task, np.array([0, 0, 1, 1]), How(None, 1, 0), Deadline(None))
