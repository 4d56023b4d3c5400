"""Solve problems declared in cvxpy."""

import time
import warnings
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from aggopt.errors import JobError
from aggopt.solvers._certificate import Status
from aggopt.solvers._table import Solver

_MEANING = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.OPTIMAL_INACCURATE: Status.LIMIT,
    cp.USER_LIMIT: Status.LIMIT,
    cp.INFEASIBLE: Status.INFEASIBLE,
}
_FEASIBLE = 1e-4  # what Ipopt, too, lets a constraint be missed by
# a local solver proves neither that its point is best nor that there is none
_MEANING_IF_LOCAL = {
    **_MEANING,
    cp.OPTIMAL: Status.LOCAL,
    cp.INFEASIBLE: Status.FAILED,
}


def problem_class(problem: cp.Problem) -> str:
    """Class of a problem: LP (any convex one), MILP or NLP."""
    if problem.is_mixed_integer():
        return "MILP"
    return "LP" if problem.is_dcp() else "NLP"


def run(
    problem: cp.Problem, solver: Solver, native: Mapping[str, Any]
) -> tuple[Status, float]:
    """Return the status and the wall seconds of solving `problem` in place."""
    local = problem_class(problem) == "NLP"
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(
                solver=solver.native, **({"nlp": True} if local else {}), **native
            )
        status = (_MEANING_IF_LOCAL if local else _MEANING).get(problem.status)
    except cp.SolverError:
        status = None
    except (TypeError, KeyError, ValueError, RuntimeError) as refusal:
        raise JobError(
            f"{solver.name} refused one of its options {sorted(native)}: {refusal}.",
            fix="look its options up in its own manual, under the names it uses.",
        ) from None
    seconds = time.perf_counter() - started
    if status is Status.LOCAL and _missed(problem) > _FEASIBLE:
        status = None  # Uno calls it success when it stalls at an infeasible point
    return status or Status.FAILED, seconds


def _missed(problem: cp.Problem) -> float:
    """Largest violation of any constraint at the problem's present point."""
    missed = (np.max(c.violation(), initial=0.0) for c in problem.constraints)
    return float(max(missed, default=0.0))
