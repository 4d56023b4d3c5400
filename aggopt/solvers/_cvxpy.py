"""Solve problems declared in cvxpy."""

import time
import warnings
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from aggopt.solvers._certificate import Status
from aggopt.solvers._options import refused
from aggopt.solvers._solver import Solver

NAME = "cvxpy"
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
    """Class of a problem: LP (any convex one), MILP, NLP or MINLP."""
    if problem.is_dcp():
        return "MILP" if problem.is_mixed_integer() else "LP"
    return "MINLP" if problem.is_mixed_integer() else "NLP"


def run(
    problem: cp.Problem, solver: Solver, native: Mapping[str, Any], kind: str
) -> tuple[Status, float | None, float]:
    """Return status, bound and wall seconds of solving `problem` in place."""
    local = not solver.is_global
    how = {"nlp": True, **native} if kind == "NLP" else native
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=solver.native, **how)
        status = (_MEANING_IF_LOCAL if local else _MEANING).get(problem.status)
    except cp.SolverError:
        status = None
    except (TypeError, KeyError, ValueError, RuntimeError) as refusal:
        raise refused(solver, native, refusal) from None
    seconds = time.perf_counter() - started
    if status is Status.LOCAL and _missed(problem) > _FEASIBLE:
        status = None  # Uno calls it success when it stalls at an infeasible point
    proven = float(problem.value) if status is Status.OPTIMAL else None
    return status or Status.FAILED, proven, seconds


def _missed(problem: cp.Problem) -> float:
    """Largest violation of any constraint at the problem's present point."""
    missed = (np.max(c.violation(), initial=0.0) for c in problem.constraints)
    return float(max(missed, default=0.0))
