"""Solve problems declared in Pyomo.

Several of its solvers are programs that read the problem from files.  The files hold
the standardised values of records.  They are written to a folder that only this user
may read, in memory if the system has a folder there, and removed at once.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError, PyomoException
from pyomo.common.log import LoggingIntercept
from pyomo.common.tempfiles import TempfileManager
from pyomo.contrib.fbbt.fbbt import compute_bounds_on_expr
from pyomo.core.base.block import BlockData
from pyomo.core.base.PyomoModel import ModelSolutions
from pyomo.opt import SolverStatus
from pyomo.opt import TerminationCondition as End
from pyomo.opt.solver.shellcmd import SystemCallSolver

from aggopt.core.deadline import compile_time
from aggopt.core.stale_files import make_scratch_folder
from aggopt.core.types import Floats
from aggopt.solvers._linear_bound import prove_bound, solve_for_multipliers
from aggopt.solvers._pyomo_program import (
    extract_pyomo_program,
    get_objective,
    measure_violation,
    read_named_multipliers,
    scale_of_problem,
)
from aggopt.solvers._pyomo_program import find_problem_class as find_problem_class
from aggopt.solvers.certificate import Status
from aggopt.solvers.options import explain_refusal
from aggopt.solvers.solver import CLASSES, Solver
from aggopt.solvers.solver_log import is_logged
from aggopt.solvers.termination import Ended


class PyomoState(NamedTuple):
    """Values by the variable's place, suffixes by name and the component's place."""

    values: list[tuple[Any, bool]]
    suffixes: dict[str, tuple[Any, list[tuple[int, Any]]]]


def _iter_components(problem: Any) -> Iterator[Any]:
    """Yield the components that a suffix may hold values for, in a fixed order."""
    for kind in (pyo.Var, pyo.Constraint, pyo.Objective):
        yield from problem.model().component_data_objects(kind, descend_into=True)


def _list_variables(problem: Any) -> Iterator[Any]:
    yield from problem.model().component_data_objects(pyo.Var, descend_into=True)


def read_state(problem: Any) -> PyomoState:
    """Return the state that a solve left in a problem."""
    place = {id(component): i for i, component in enumerate(_iter_components(problem))}
    suffixes = {
        suffix.local_name: (
            suffix.direction,
            [(place[id(c)], v) for c, v in suffix.items() if id(c) in place],
        )
        for suffix in problem.component_objects(pyo.Suffix, descend_into=False)
        if suffix.import_enabled()
    }
    return PyomoState([(v.value, v.stale) for v in _list_variables(problem)], suffixes)


def restore(problem: Any, state: PyomoState) -> None:
    """Store the state of a solve in another process in a problem."""
    for variable, (value, stale) in zip(
        _list_variables(problem), state.values, strict=True
    ):
        variable.set_value(value, skip_validation=True)
        variable.stale = stale
    components = list(_iter_components(problem)) if state.suffixes else []
    for name, (direction, values) in state.suffixes.items():
        if problem.component(name) is None:
            problem.add_component(name, pyo.Suffix(direction=direction))
        suffix = problem.component(name)
        suffix.clear()
        for place, value in values:
            suffix[components[place]] = value


NAME = "pyomo"
_MEANING = {
    End.optimal: Status.OPTIMAL,
    End.globallyOptimal: Status.OPTIMAL,
    End.locallyOptimal: Status.LOCAL,
    End.feasible: Status.UNPROVEN,
    End.maxTimeLimit: Status.LIMIT,
    End.maxIterations: Status.LIMIT,
    End.maxEvaluations: Status.LIMIT,
    End.infeasible: Status.INFEASIBLE,
}
_REFUSAL = re.compile(r"(unknown|unrecognized|invalid) (option|value|keyword).*", re.I)
# Pyomo's logger and its folder for files are the process's: one solve at a time
_ONE = threading.RLock()


def is_problem(problem: object) -> bool:
    """Whether this is a problem that can be solved."""
    return isinstance(problem, BlockData) and problem.is_constructed()


def list_known_solvers() -> list[str]:
    """Return the names of all solvers that Pyomo knows, installed or not."""
    return [name for name in pyo.SolverFactory if not name.startswith("_")]


def list_classes(name: str) -> frozenset[str]:
    """Return all classes: Pyomo does not report the classes that a solver can solve."""
    return frozenset(CLASSES)


def is_installed(name: str) -> bool:
    """Whether Pyomo finds a solver here."""
    with LoggingIntercept(StringIO(), "pyomo"):
        try:
            return bool(pyo.SolverFactory(name).available(exception_flag=False))
        except (ApplicationError, RuntimeError, OSError, TypeError):
            return False  # some look for their program by running it


def pack_problem(problem: Any) -> Any:
    """Return the parts from which `received` rebuilds the problem elsewhere."""
    return problem.model(), problem  # a block may have variables outside


def unpack_problem(parts: Any) -> Any:
    """Return the problem of another process."""
    return parts[1]


def run(problem: Any, solver: Solver, native: Mapping[str, Any], kind: str) -> Ended:
    """Solve `problem` in place and return the result; other threads wait meanwhile."""
    with _ONE:
        return _run(problem, solver, native, kind)


def _run(problem: Any, solver: Solver, native: Mapping[str, Any], kind: str) -> Ended:
    """Run the solver of Pyomo on a problem; return how it ended."""
    if solver.needs == ("pyomo_ripopt",):
        import pyomo_ripopt  # noqa: F401  # registers itself with Pyomo
    started = compile_time.now()
    with _set_private_folder() as folder, _import_duals(problem, solver, kind):
        log = folder / "log"
        try:
            with LoggingIntercept(StringIO(), "pyomo"):  # it may quote the problem
                result = _run_solver(problem, solver, native, log)
        except (ValueError, KeyError, TypeError) as refusal:
            raise explain_refusal(solver, native, refusal) from None
        # highspy's duals of a program that HiGHS would not look at are a list too short
        except (ApplicationError, RuntimeError, OSError, IndexError):
            return Ended(Status.FAILED, seconds=compile_time.now() - started)
        log_text = log.read_text(errors="replace") if log.exists() else ""
    if refusal_said := _REFUSAL.search(log_text):
        raise explain_refusal(solver, native, refusal_said.group())
    spent = compile_time.now() - started
    limit = native.get(solver.time_limit or "")
    return _read_termination(problem, solver, result, kind, spent, limit)


def _read_termination(
    problem: Any,
    solver: Solver,
    result: Any,
    kind: str,
    seconds: float,
    limit: float | None,
) -> Ended:
    cost = get_objective(problem)
    status = _MEANING.get(result.solver.termination_condition, Status.FAILED)
    left = None if limit is None else limit - seconds
    bound, is_proven = _bound(problem, solver, result, kind, left)
    has_point = status.usable and _has_point(result)
    is_claimed = status is Status.INFEASIBLE or (bound is not None and not is_proven)
    taken = is_claimed and solver.is_global
    reached = float(pyo.value(cost)) if has_point else None
    has_duals = has_point and _has_duals(solver, kind)
    return Ended(
        status,
        reached,
        bound,
        is_proven,
        measure_violation(problem) if has_point else 0.0,
        seconds,
        cost.sense == pyo.maximize,
        scale_of_problem(problem, reached) if taken else None,
        multipliers=read_named_multipliers(problem) if has_duals else None,
        is_one_sided=bound is not None and _is_one_sided(cost),
    )


def _is_one_sided(cost: Any) -> bool:
    """Whether the bounds of its variables keep an objective on one side of 0."""
    with suppress(PyomoException, ArithmeticError, ValueError, NotImplementedError):
        low, high = compute_bounds_on_expr(cost.expr)
        if cost.sense == pyo.maximize:
            return high is not None and high <= 0
        return low is not None and low >= 0
    return False


def _bound(
    problem: Any, solver: Solver, result: Any, kind: str, left: float | None
) -> tuple[float | None, bool]:
    """Return the bound, in the sense of the objective, and if it is proven here."""
    any_of_pyomo = solver.time_limit is None  # its word is nothing; multipliers are
    if not (solver.is_global or any_of_pyomo):
        return None, False
    maximised = get_objective(problem).sense == pyo.maximize
    stated = extract_pyomo_program(problem) if kind in ("LP", "QP") else None
    if stated is None and not solver.is_global:
        return None, False
    if stated is None:
        claimed_bound = (
            result.problem.upper_bound if maximised else result.problem.lower_bound
        )
        return (None if claimed_bound is None else float(claimed_bound)), False
    if not solver.duals:
        _store_multipliers(
            problem, stated.rows, solve_for_multipliers(stated.program, left)
        )
    proven_bound = prove_bound(stated.program, read_multipliers(problem, stated.rows))
    return (
        -proven_bound if maximised and proven_bound is not None else proven_bound
    ), True


def read_multipliers(problem: Any, rows: Sequence[Any]) -> Floats:
    """Return the multipliers (m,) of constraints that a solver left; 0 if missing."""
    left = getattr(problem, "dual", None)
    if not isinstance(left, pyo.Suffix):
        return np.zeros(len(rows))
    return np.array([left.get(row, 0.0) for row in rows], np.float64)


def _store_multipliers(problem: Any, rows: Sequence[Any], multipliers: Floats) -> None:
    """Store multipliers for `read_multipliers` and a model's own proof."""
    if not isinstance(getattr(problem, "dual", None), pyo.Suffix):
        if hasattr(problem, "dual"):
            return
        problem.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    for row, value in zip(rows, multipliers.tolist(), strict=True):
        problem.dual[row] = value


def _has_duals(solver: Solver, kind: str) -> bool:
    return solver.duals and kind in ("LP", "QP")


@contextmanager
def _import_duals(problem: Any, solver: Solver, kind: str) -> Iterator[None]:
    """Have a solver leave its multipliers in the problem's suffix `dual`.

    Only a solver that has multipliers receives the suffix; any other would fail.
    """
    wanted = _has_duals(solver, kind)
    if wanted and not hasattr(problem, "dual"):
        problem.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    suffix = getattr(problem, "dual", None)
    if wanted or not isinstance(suffix, pyo.Suffix):
        yield
        return
    before = suffix.direction
    suffix.direction = pyo.Suffix.LOCAL
    suffix.clear()  # multipliers of an earlier solve
    try:
        yield
    finally:
        suffix.direction = before


def _run_solver(
    problem: Any, solver: Solver, native: Mapping[str, Any], log: Path
) -> Any:
    """Return the results of Pyomo's call of the solver."""
    if solver.native == "highs":
        _try_on_highs(native)
    called = pyo.SolverFactory(solver.native)
    arguments = _make_arguments(solver, native, log)
    if solver.time_limit is None and not isinstance(called, SystemCallSolver):
        arguments.pop("logfile", None)  # solvers that are not programs do not take it
    result = called.solve(problem, load_solutions=False, tee=is_logged(), **arguments)
    if _has_point(result):
        ModelSolutions(problem).load_from(result)  # a block has none of its own
    return result


def _try_on_highs(native: Mapping[str, Any]) -> None:
    """Raise what HiGHS has against its options: Pyomo passes over it in silence."""
    import highspy

    trial = highspy.Highs()
    trial.silent()
    for name, value in native.items():
        if trial.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"it does not have {name!r}, or not with this value")


def _make_arguments(
    solver: Solver, native: Mapping[str, Any], log: Path
) -> dict[str, Any]:
    """Return the options in the form that this one of Pyomo's interfaces takes."""
    if solver.native in ("scip_direct", "highs"):  # new interfaces with their old face
        return {"options": dict(native)}
    if solver.native == "gams":  # statements; and a folder, else it makes its own
        statements = [f"option {name}={value};" for name, value in native.items()]
        folder = str(log.parent / "gams")
        return {"add_options": statements, "tmpdir": folder, "logfile": str(log)}
    return {"options": dict(native), "logfile": str(log)}


def _has_point(result: Any) -> bool:
    """Whether a point came back, of a solve that went well."""
    if result.solver.status in (SolverStatus.error, SolverStatus.unknown):
        return False
    return len(result.solution) > 0 and bool(result.solution[0].variable)


@contextmanager
def _set_private_folder() -> Iterator[Path]:
    """Let Pyomo write into a folder that only this user may read, and remove it."""
    before = TempfileManager.tempdir
    with make_scratch_folder() as folder:
        TempfileManager.tempdir = str(folder)
        try:
            yield folder
        finally:
            TempfileManager.tempdir = before
