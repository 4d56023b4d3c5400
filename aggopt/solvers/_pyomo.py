"""Solve problems declared in Pyomo.

Several of its solvers are programs, to which Pyomo hands the problem in files.  Those
hold the standardised values of records, so they are kept in a folder that only this
user may read, in memory where the system has such a folder, and removed at once.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError
from pyomo.common.log import LoggingIntercept
from pyomo.common.tempfiles import TempfileManager
from pyomo.opt import TerminationCondition as End

from aggopt.solvers._certificate import Status
from aggopt.solvers._options import refused
from aggopt.solvers._scratch import scratch
from aggopt.solvers._solver import Solver

NAME = "pyomo"
_MEANING = {
    End.optimal: Status.OPTIMAL,
    End.globallyOptimal: Status.OPTIMAL,
    End.locallyOptimal: Status.LOCAL,
    End.feasible: Status.LIMIT,
    End.maxTimeLimit: Status.LIMIT,
    End.maxIterations: Status.LIMIT,
    End.maxEvaluations: Status.LIMIT,
    End.infeasible: Status.INFEASIBLE,
}
_REFUSAL = re.compile(r"(unknown|unrecognized|invalid) (option|value|keyword).*", re.I)


def problem_class(problem: Any) -> str:
    """Class of a problem: LP, MILP, NLP or MINLP."""
    variables = problem.component_data_objects(pyo.Var)
    mixed = any(not v.is_continuous() for v in variables)
    bodies = [c.body for c in problem.component_data_objects(pyo.Constraint)]
    bodies += [o.expr for o in problem.component_data_objects(pyo.Objective)]
    linear = all(body.polynomial_degree() in (0, 1) for body in bodies)
    return ("MI" if mixed else "") + ("LP" if linear else "NLP")


def run(
    problem: Any, solver: Solver, native: Mapping[str, Any], kind: str
) -> tuple[Status, float | None, float]:
    """Return status, bound and wall seconds of solving `problem` in place."""
    if solver.needs == ("pyomo_ripopt",):
        import pyomo_ripopt  # noqa: F401  # registers itself with Pyomo
    started = time.perf_counter()
    with _private_folder() as folder:
        log = folder / "log"
        try:
            with LoggingIntercept(StringIO(), "pyomo"):  # it may quote the problem
                result = _solved(problem, solver, native, log)
        except (ValueError, KeyError, TypeError) as refusal:
            raise refused(solver, native, refusal) from None
        except (ApplicationError, RuntimeError, OSError):
            return Status.FAILED, None, time.perf_counter() - started
        said = log.read_text(errors="replace") if log.exists() else ""
    if refusal_said := _REFUSAL.search(said):
        raise refused(solver, native, refusal_said.group())
    status = _status(solver, result)
    bound = _bound(solver, result)
    return status, bound, time.perf_counter() - started


def _solved(problem: Any, solver: Solver, native: Mapping[str, Any], log: Path) -> Any:
    if solver.native == "highs":
        _try_on_highs(native)
    called = pyo.SolverFactory(solver.native)
    how = _arguments(solver, native, log)
    result = called.solve(problem, load_solutions=False, **how)
    if len(result.solution) and _holds_a_point(result):
        problem.solutions.load_from(result)
    return result


def _try_on_highs(native: Mapping[str, Any]) -> None:
    """Raise what HiGHS has against its options: Pyomo passes over it in silence."""
    import highspy

    trial = highspy.Highs()
    trial.silent()
    for name, value in native.items():
        if trial.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"it does not have {name!r}, or not with this value")


def _arguments(solver: Solver, native: Mapping[str, Any], log: Path) -> dict[str, Any]:
    """Return the options in the form that this one of Pyomo's interfaces takes."""
    if solver.native in ("scip_direct", "highs"):  # new interfaces with their old face
        return {"options": dict(native)}
    if solver.native == "gams":  # statements; and a folder, else it makes its own
        statements = [f"option {name}={value};" for name, value in native.items()]
        folder = str(log.parent / "gams")
        return {"add_options": statements, "tmpdir": folder, "logfile": str(log)}
    return {"options": dict(native), "logfile": str(log)}


def _holds_a_point(result: Any) -> bool:
    return bool(result.solution[0].variable)


def _status(solver: Solver, result: Any) -> Status:
    status = _MEANING.get(result.solver.termination_condition, Status.FAILED)
    if solver.is_global:
        return status
    # a local solver proves neither that its point is best nor that there is none
    weaker = {Status.OPTIMAL: Status.LOCAL, Status.INFEASIBLE: Status.FAILED}
    return weaker.get(status, status)


def _bound(solver: Solver, result: Any) -> float | None:
    if not solver.is_global:
        return None
    bound = result.problem.lower_bound
    return float(bound) if bound is not None and abs(bound) < 1e20 else None


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Let Pyomo write into a folder that nobody else may read, and remove it."""
    before = TempfileManager.tempdir
    with scratch() as folder:
        TempfileManager.tempdir = str(folder)
        try:
            yield folder
        finally:
            TempfileManager.tempdir = before
