"""Solve problems declared in cvxpy."""

import threading
import warnings
from collections.abc import Iterable, Mapping
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from cvxpy import settings
from cvxpy.constraints import NonNeg, Zero
from cvxpy.error import DNLPError
from cvxpy.reductions import CvxAttr2Constr, Dcp2Cone, FlipObjective
from cvxpy.reductions.solvers import defines

from aggopt.core.deadline import compile_time
from aggopt.core.types import Floats
from aggopt.errors import JobError
from aggopt.solvers._linear_bound import (
    LinearProgram,
    prove_bound,
    solve_for_multipliers,
)
from aggopt.solvers.certificate import Status
from aggopt.solvers.options import explain_refusal
from aggopt.solvers.solver import Solver
from aggopt.solvers.solver_log import is_logged
from aggopt.solvers.termination import Ended, read_iterations, scale_of

_LINEAR = (NonNeg, Zero, cp.constraints.Equality, cp.constraints.Inequality)


def find_problem_class(problem: cp.Problem) -> str:
    """Return the class of a problem: one of `CLASSES`.

    A convex problem outside the classes of cones is an NLP.

    Raises
    ------
    JobError
        The problem has no variable, or a parameter without a value.
    """
    if any(p.value is None for p in problem.parameters()):
        raise JobError(
            "A parameter of the problem has no value.", fix="give it one: p.value = 3."
        )
    if not problem.variables():
        raise JobError(
            "The problem has no variable that a solver could choose.",
            fix="pass an objective or constraints with a variable.",
        )
    is_mixed = problem.is_mixed_integer()
    if problem.is_lp():
        return "MILP" if is_mixed else "LP"
    if problem.is_qp():
        return "MIQP" if is_mixed else "QP"
    if is_mixed:
        return "MINLP"
    return _is_conic(problem) if problem.is_dcp() else "NLP"


def _is_conic(problem: cp.Problem) -> str:
    if isinstance(problem.objective, cp.Maximize):
        problem, _ = FlipObjective().apply(problem)
    problem, _ = Dcp2Cone().apply(problem)
    problem, _ = CvxAttr2Constr().apply(problem)
    kinds = {type(c) for c in problem.constraints}
    if not kinds <= {*_LINEAR, cp.SOC, cp.PSD}:
        return "NLP"
    return "SDP" if cp.PSD in kinds else "SOCP"


def extract_linear_program(data: dict[str, Any], offset: float) -> LinearProgram | None:
    """Return the linear program in a solver's data; None for any other program.

    Quadratic costs are accepted if each is of one variable.  Rows must be linear.
    """
    if "F" in data:  # of a solver of quadratic programs
        rows = _stack_rows(data["A"], data["F"])
        high = np.append(data["b"], data["G"])
        equal = len(data["b"])
        cost = data["q"]
    elif "dims" in data and _is_linear(data["dims"]):
        rows = data["A"]
        high = np.asarray(data["b"], float)
        equal = int(data["dims"].zero)
        cost = data["c"]
    else:
        return None
    curve = _read_diagonal(data.get("P"), len(cost))
    if curve is None:
        return None
    low = np.full(len(high), -np.inf)
    low[:equal] = high[:equal]
    left, right = _read_box(data, len(cost))
    return LinearProgram(
        np.asarray(cost, float),
        curve,
        offset,
        rows.tocsr(),
        low,
        np.asarray(high, float),
        left,
        right,
    )


def _read_box(data: dict[str, Any], n: int) -> tuple[Floats, Floats]:
    low = data.get("lower_bounds")
    high = data.get("upper_bounds")
    left = np.full(n, -np.inf) if low is None else np.array(low, np.float64)
    right = np.full(n, np.inf) if high is None else np.array(high, np.float64)
    binary = np.asarray(data.get(settings.BOOL_IDX) or [], np.intp)
    left[binary] = np.maximum(left[binary], 0.0)
    right[binary] = np.minimum(right[binary], 1.0)
    return left, right


def _stack_rows(one: Any, other: Any) -> Any:
    from scipy.sparse import csr_array, vstack

    return vstack([csr_array(one), csr_array(other)])


def _is_linear(dims: Any) -> bool:
    return not (dims.exp or dims.soc or dims.psd or dims.p3d or dims.pnd)


def _read_diagonal(P: Any, n: int) -> Floats | None:
    """Return the diagonal of P (n,); None if an entry is off it or negative."""
    if P is None:
        return np.zeros(n)
    table = P.tocoo()
    on = table.row == table.col
    curve = np.bincount(table.row[on], table.data[on], n).astype(np.float64)
    return None if table.data[~on].any() or (curve < 0).any() else curve


NAME = "cvxpy"
_MEANING = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.OPTIMAL_INACCURATE: Status.UNPROVEN,
    cp.USER_LIMIT: Status.LIMIT,
    cp.INFEASIBLE: Status.INFEASIBLE,
}
_WARNINGS = threading.Lock()  # warning filters are a setting of the whole process


def is_problem(problem: object) -> bool:
    """Whether this is a problem that can be solved."""
    return isinstance(problem, cp.Problem)


def list_known_solvers() -> list[str]:
    """Return the names of all solvers that cvxpy knows, installed or not."""
    maps = defines.SOLVER_MAP_CONIC, defines.SOLVER_MAP_QP, defines.SOLVER_MAP_NLP
    return list(dict.fromkeys(name for one in maps for name in one))


def list_classes(name: str) -> frozenset[str]:
    """Return the classes of problems that cvxpy hands to a solver that it knows."""
    classes: set[str] = set()
    if (quadratic := defines.SOLVER_MAP_QP.get(name)) is not None:
        classes |= {"LP", "QP"} | ({"MILP", "MIQP"} if quadratic.MIP_CAPABLE else set())
    if (conic := defines.SOLVER_MAP_CONIC.get(name)) is not None:
        squares = conic.supports_quad_obj()
        classes |= _list_cone_classes(conic.SUPPORTED_CONSTRAINTS, squares=squares)
        if conic.MIP_CAPABLE:
            mixed_classes = _list_cone_classes(
                conic.MI_SUPPORTED_CONSTRAINTS, squares=squares
            )
            classes |= {f"MI{kind}" for kind in mixed_classes & {"LP", "QP"}}
    return frozenset(classes | ({"NLP"} if name in defines.SOLVER_MAP_NLP else set()))


def _list_cone_classes(cones: Iterable[type], *, squares: bool) -> set[str]:
    """Return the classes that some cones are enough for."""
    names = {cone.__name__ for cone in cones}
    classes = {"LP"} | ({"QP"} if squares or "SOC" in names else set())
    classes |= {"SOCP"} if "SOC" in names else set()
    return classes | ({"SDP"} if names & {"PSD", "SvecPSD"} else set())


def is_installed(name: str) -> bool:
    """Whether cvxpy finds a solver here."""
    return name in cp.installed_solvers()


def pack_problem(problem: cp.Problem) -> Any:
    """Return the parts from which `received` rebuilds the problem elsewhere."""
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    return problem.objective, problem.constraints, ID_COUNTER.count


def unpack_problem(parts: Any) -> cp.Problem:
    """Return the problem of another process; its numbers stay those of that process."""
    from cvxpy.lin_ops.lin_utils import ID_COUNTER

    objective, constraints, count = parts
    ID_COUNTER.count = max(ID_COUNTER.count, count)  # new objects get other numbers
    return cp.Problem(objective, constraints)


def read_state(problem: cp.Problem) -> Any:
    """Return the solution and the statistics that a solve stored in a problem."""
    solution = problem.solution
    stats = problem.solver_stats
    if solution is not None:
        solution.attr.pop(settings.EXTRA_STATS, None)  # objects of the solver
    if stats is not None:
        stats.extra_stats = None
    return solution, stats


def restore(problem: cp.Problem, state: Any) -> None:
    """Store the state of a solve in another process in a problem."""
    _forget_multipliers(problem)
    solution, problem._solver_stats = state
    if solution is not None:
        _unpack(problem, solution)


class CvxpySolution(NamedTuple):
    """A bound, as a problem of minimising, if it is proven, and the linear program.

    `iterations` is the number that the solver reports.
    """

    bound: float | None = None
    proven: bool = False
    program: LinearProgram | None = None
    iterations: object = None


def run(
    problem: cp.Problem, solver: Solver, native: Mapping[str, Any], kind: str
) -> Ended:
    """Solve `problem` in place and return how the solve ended."""
    maximised = isinstance(problem.objective, cp.Maximize)
    solution = CvxpySolution()
    _forget_multipliers(problem)
    started = compile_time.now()
    try:
        if kind in ("NLP", "MINLP"):
            solution = _solve_smooth(problem, solver, native)
        else:
            solution = _solve_cones(problem, solver, native)
        status = _MEANING.get(problem.status, Status.FAILED)
    except cp.SolverError:
        status = Status.FAILED
    except (cp.DCPError, DNLPError):  # their messages quote numbers of the problem
        raise JobError(
            "The problem breaks the rules by which cvxpy takes one that is not convex.",
            fix="state it by smooth functions; what is not smooth must be convex where "
            "it is minimised, or bounded from above.",
        ) from None
    except (TypeError, KeyError, ValueError, RuntimeError) as refusal:
        raise explain_refusal(solver, native, refusal) from None
    has_point = status.usable and problem.value is not None
    value = float(problem.value) if has_point else nan
    bound = solution.bound
    program = solution.program
    taken = status is Status.INFEASIBLE or not solution.proven
    return Ended(
        status,
        value if isfinite(value) else None,
        -bound if maximised and bound is not None else bound,
        solution.proven,
        _measure_violation(problem) if has_point else 0.0,
        compile_time.now() - started,
        maximised,
        scale_of(program) if taken and program is not None else None,
        read_iterations(solution.iterations),
        read_multipliers(problem) if has_point else None,
        _is_one_sided(problem.objective.expr, maximised=maximised),
    )


def _is_one_sided(cost: Any, *, maximised: bool) -> bool:
    """Whether the signs of its terms keep an objective on one side of 0."""
    return bool(cost.is_nonpos() if maximised else cost.is_nonneg())


def read_multipliers(problem: cp.Problem) -> dict[str, Floats] | None:
    """Return the multipliers that a solve left, by label or by place; None without.

    Constraints of one label are put one after the other.
    """
    multipliers: dict[str, list[Floats]] = {}
    for place, row in enumerate(problem.constraints, 1):
        for variable in row.dual_variables:
            if variable.value is not None:
                of_row = multipliers.setdefault(row.label or f"constraint {place}", [])
                of_row.append(np.array(variable.value, np.float64))
    joined = {
        name: every[0] if len(every) == 1 else np.concatenate([*map(np.ravel, every)])
        for name, every in multipliers.items()
    }
    return joined or None


def _forget_multipliers(problem: cp.Problem) -> None:
    """Clear the multipliers of an earlier solve."""
    for row in problem.constraints:
        for variable in row.dual_variables:
            variable.save_value(None)


def _solve_smooth(
    problem: cp.Problem, solver: Solver, native: Mapping[str, Any]
) -> CvxpySolution:
    """Solve a nonlinear program in place; return its iterations and no dual bound."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        loud = solver.loud if is_logged() else {}
        problem.solve(solver=solver.native, nlp=True, **{**native, **loud})
    stats = problem.solver_stats
    return CvxpySolution(iterations=None if stats is None else stats.num_iters)


def _solve_cones(
    problem: cp.Problem, solver: Solver, native: Mapping[str, Any]
) -> CvxpySolution:
    """Solve a problem of cones; return its bound, if it has one, and its program."""
    native_options = dict(native)
    data, chain, inverse = problem.get_problem_data(
        solver.native, solver_opts=native_options
    )
    raw = chain.solve_via_data(problem, data, False, is_logged(), dict(native))
    solution = chain.invert(raw, inverse)
    if solution.status not in (*settings.SOLUTION_PRESENT, *settings.INF_OR_UNB):
        raise cp.SolverError("failed")
    if not _is_finite(solution.primal_vars.values()):
        raise cp.SolverError("no point")  # HiGHS, at a limit of its iterations
    _unpack(problem, solution)
    took = solution.attr.get(settings.NUM_ITERS)
    if not isinstance(data, dict) or "dims" not in data:
        return CvxpySolution(iterations=took)
    offset = float(inverse[-1][settings.OFFSET])
    program = extract_linear_program(data, offset)
    if data.get(settings.BOOL_IDX) or data.get(settings.INT_IDX):
        return CvxpySolution(_read_highs_bound(raw, offset), False, program, took)
    if program is None:
        return CvxpySolution(iterations=took)
    left = native.get(solver.time_limit or "")
    multipliers = (
        _read_row_multipliers(raw)
        if solver.duals
        else solve_for_multipliers(program, left)
    )
    bound = prove_bound(program, multipliers)
    return CvxpySolution(bound, bound is not None, program, took)


def _read_highs_bound(raw: Any, offset: float) -> float | None:
    """Return the bound that HiGHS gives of an integer program; None of others."""
    info = raw.get("info") if isinstance(raw, dict) else None
    return float(info.mip_dual_bound) + offset if info else None


def _read_row_multipliers(raw: Any) -> Floats:
    """Return the multipliers of all rows, as HiGHS or Clarabel hand them back."""
    dual_values = raw["solution"].row_dual if isinstance(raw, dict) else raw.z
    return np.asarray(dual_values, dtype=np.float64)


def _unpack(problem: cp.Problem, solution: Any) -> None:
    """Put a point into a problem; its objective may be too large for a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        problem.unpack(solution)


def _measure_violation(problem: cp.Problem) -> float:
    """Largest violation at the problem's present point; infinite if none is known."""
    with np.errstate(over="ignore", invalid="ignore"):
        violations = [np.max(c.violation(), initial=0.0) for c in problem.constraints]
    missed = float(np.max(violations, initial=0.0))  # NaN, if one is
    return missed if isfinite(missed) else inf


def _is_finite(values: Iterable[Any]) -> bool:
    """Whether a point has values, and numbers alone."""
    return all(np.isfinite(entries).all() for entries in values)
