"""Class of a problem in cvxpy, and the linear program passed to its solver."""

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings
from cvxpy.constraints import NonNeg, Zero
from cvxpy.reductions import CvxAttr2Constr, Dcp2Cone, FlipObjective

from aggopt.core.validation import Floats
from aggopt.errors import JobError
from aggopt.solvers._linear_bound import LinearProgram

_LINEAR = (NonNeg, Zero, cp.constraints.Equality, cp.constraints.Inequality)


def problem_class(problem: cp.Problem) -> str:
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
    whole = problem.is_mixed_integer()
    if problem.is_lp():
        return "MILP" if whole else "LP"
    if problem.is_qp():
        return "MIQP" if whole else "QP"
    if whole:
        return "MINLP"
    return _conic(problem) if problem.is_dcp() else "NLP"


def _conic(problem: cp.Problem) -> str:
    if isinstance(problem.objective, cp.Maximize):
        problem, _ = FlipObjective().apply(problem)
    problem, _ = Dcp2Cone().apply(problem)
    problem, _ = CvxAttr2Constr().apply(problem)
    kinds = {type(c) for c in problem.constraints}
    if not kinds <= {*_LINEAR, cp.SOC, cp.PSD}:
        return "NLP"
    return "SDP" if cp.PSD in kinds else "SOCP"


def program_of(data: dict[str, Any], offset: float) -> LinearProgram | None:
    """Return the linear program in a solver's data; None for any other program.

    Quadratic costs are accepted if each is of one variable.  Rows must be linear.
    """
    if "F" in data:  # of a solver of quadratic programs
        rows, high = _stacked(data["A"], data["F"]), np.append(data["b"], data["G"])
        equal, cost = len(data["b"]), data["q"]
    elif "dims" in data and _is_linear(data["dims"]):
        rows, high = data["A"], np.asarray(data["b"], float)
        equal, cost = int(data["dims"].zero), data["c"]
    else:
        return None
    curve = _diagonal(data.get("P"), len(cost))
    if curve is None:
        return None
    low = np.full(len(high), -np.inf)
    low[:equal] = high[:equal]
    left, right = _box(data, len(cost))
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


def _box(data: dict[str, Any], n: int) -> tuple[Floats, Floats]:
    low, high = data.get("lower_bounds"), data.get("upper_bounds")
    left = np.full(n, -np.inf) if low is None else np.array(low, np.float64)
    right = np.full(n, np.inf) if high is None else np.array(high, np.float64)
    binary = np.asarray(data.get(settings.BOOL_IDX) or [], np.intp)
    left[binary] = np.maximum(left[binary], 0.0)
    right[binary] = np.minimum(right[binary], 1.0)
    return left, right


def _stacked(one: Any, other: Any) -> Any:
    from scipy.sparse import csr_array, vstack

    return vstack([csr_array(one), csr_array(other)])


def _is_linear(dims: Any) -> bool:
    return not (dims.exp or dims.soc or dims.psd or dims.p3d or dims.pnd)


def _diagonal(P: Any, n: int) -> Floats | None:
    """Return the diagonal of P (n,); None if an entry is off it or negative."""
    if P is None:
        return np.zeros(n)
    table = P.tocoo()
    on = table.row == table.col
    curve = np.bincount(table.row[on], table.data[on], n).astype(np.float64)
    return None if table.data[~on].any() or (curve < 0).any() else curve
