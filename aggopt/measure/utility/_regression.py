"""Agreement of a regression on released records with that on original ones."""

import ast
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import Bool, Floats
from aggopt.errors import JobError, TableError, require_known
from aggopt.measure.utility._frames import list_names, read_frames

FUNCTIONS = {"log", "log10", "log2", "exp", "C", "I", "center", "scale", "poly"}
PLAIN = (
    *(ast.Expression, ast.Call, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp),
    *(ast.operator, ast.unaryop, ast.expr_context, ast.keyword),
)
EXAMPLE = 'write it as "y ~ a + b".'


def list_formula_columns(formula: str, columns: Collection[str]) -> list[str]:
    """Return the columns that a formula needs.

    Raises
    ------
    JobError
        It cannot be read, has not one response, names no column, or has more in it than
        columns, numbers and functions that are known: code would be run.
    """
    formulaic = import_package("formulaic")
    try:
        parsed = formulaic.Formula(formula)
        sides = [parsed.lhs, parsed.rhs]
        factors = [f for side in sides for term in side for f in term.factors]
    except MemoryError:
        raise
    except Exception:  # of the parser, whose messages are its own
        raise JobError("The formula cannot be read.", fix=EXAMPLE) from None
    if len(parsed.lhs) != 1:
        raise JobError("The formula has not one response.", fix=EXAMPLE)
    for factor in factors:
        if factor.eval_method.value == "python":
            _require_plain(factor.expr)
    names = sorted(parsed.required_variables)
    for name in names:
        require_known("column", name, columns)
    return names


def _require_plain(expression: str) -> None:
    """Refuse expressions of more than columns, numbers and known functions."""
    for node in ast.walk(ast.parse(re.sub(r"`[^`]*`", "_", expression), mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            require_known("function of a formula", node.func.id, FUNCTIONS)
        elif isinstance(node, ast.Call) or not isinstance(node, PLAIN):
            raise JobError(
                "The formula has more in it than columns, numbers and functions.",
                fix=f"use names, +, :, * and {', '.join(sorted(FUNCTIONS))}.",
            )


def import_package(package: str) -> Any:
    """Return a package that only regressions need; a refusal names the fix."""
    try:
        return import_module(package)
    except ImportError:
        raise JobError(
            f"Regressions need the package {package}, which is not here.",
            fix="install the extra that holds it: pip install 'aggopt[stats]'.",
        ) from None


if TYPE_CHECKING:
    import pandas as pd

DEPENDENT = 1e-8  # part of a column in a linear dependence; less is rounding
LEVEL = 0.05  # of significance; intervals are of 1 - LEVEL


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a regression, on the original and on the released records.

    Attributes
    ----------
    name
        Name of its term.
    overlap
        Overlap of the two 95 % confidence intervals: 1 if they are equal, 0 if they
        touch, below 0 if they are apart; None if the coefficient cannot be estimated in
        one of the two tables: its column is constant, or others determine it.
    sign, significance
        Whether both have one sign, and agree on significance at 5 %.
    """

    name: str
    overlap: float | None
    sign: bool
    significance: bool


@dataclass(frozen=True)
class RegressionKept:
    """Preserved part of a regression: one entry per coefficient."""

    formula: str
    coefficients: tuple[Coefficient, ...]

    @property
    def smallest(self) -> float | None:
        """The smallest overlap; None if a coefficient cannot be estimated."""
        overlaps = [coefficient.overlap for coefficient in self.coefficients]
        return None if None in overlaps else min(overlaps, default=None)  # type: ignore[type-var]


def interval_overlap(
    formula: str,
    original: Any,
    released: Any,
    *,
    weights: npt.ArrayLike | None = None,
    released_weights: npt.ArrayLike | None = None,
) -> RegressionKept:
    """Return the overlap of the confidence intervals of a regression; 1 is best.

    Least squares on each of the two tables.  The overlap of each coefficient but the
    intercept is (w/u + w/v)/2: w is the length that both 95 % intervals share, and u, v
    are their lengths.

    Parameters
    ----------
    formula
        Such as "y ~ a + b": names of columns, in backquotes if they are not words, +,
        :, *, and log, log10, log2, exp, C, I, center, scale, poly.
    original, released
        Tables with equal columns.  Records that miss a column of the formula are left
        out.
    weights, released_weights : (n,), (m,)
        Weights of the records, for weighted least squares.  When `released_weights` are
        left out, the original's are used, for tables in one order.

    Raises
    ------
    JobError
        The formula cannot be read, calls something else, or names no column.
    TableError
        Not tables with equal columns, the response is not a number, no record is
        complete, or weights are not positive.
    JobError
        statsmodels or formulaic is not installed: extra `stats`.

    Source: Karr, Kohnen, Oganian, Reiter and Sanil (2006).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "x": [0.0, 1.0, 2.0, 3.0]})
    >>> interval_overlap("y ~ x", table, table).smallest
    1.0
    """
    one, other = read_frames(original, released)
    names = list_formula_columns(formula, list_names(one))
    w = weight_of_each(weights, len(one))
    is_paired = released_weights is None and len(one) == len(other)
    v = w if is_paired else weight_of_each(released_weights, len(other))
    before, spec = _fit_formula(formula, one[names], w)
    after, _ = _fit_formula(spec, other[names], v)
    return RegressionKept(formula, tuple(_compare_coefficients(before, after)))


def _fit_formula(
    formula: Any, frame: "pd.DataFrame", weights: Floats
) -> tuple[Any, Any]:
    """Return the fit of a formula, and its specification for other records."""
    is_complete = frame.notna().all(axis=1).to_numpy()
    if not is_complete.any():
        raise TableError(
            "Every record misses a column of the formula.",
            fix="leave out the columns that are missing.",
        )
    matrices = import_package("formulaic").model_matrix(
        formula, frame[is_complete], context={}
    )
    if matrices.lhs.shape[1] != 1:
        raise TableError(
            "The response of the formula is no number.",
            fix="name a column of numbers before the ~.",
        )
    models = import_package("statsmodels.regression.linear_model")
    with warnings.catch_warnings():  # `_find_estimable` finds what it warns of
        warnings.simplefilter("ignore")
        fit = models.WLS(matrices.lhs, matrices.rhs, weights=weights[is_complete]).fit()
    return fit, matrices.model_spec


def _find_estimable(design: Floats) -> Bool:
    """Return which coefficients of a design (n, p) have one least-squares estimate.

    A coefficient has one if no solution of design @ x = 0 changes it.
    """
    from scipy.linalg import null_space

    norms = np.linalg.norm(design, axis=0)
    triangle = np.linalg.qr(design / np.where(norms > 0, norms, 1.0), mode="r")
    directions = null_space(triangle, rcond=len(design) * np.finfo(float).eps)
    estimable: Bool = (np.abs(directions) < DEPENDENT).all(axis=1)
    return estimable


def _compare_coefficients(before: Any, after: Any) -> Iterator[Coefficient]:
    """Yield each coefficient of two fits of the same columns."""
    fits = (before, after)
    estimable = [_find_estimable(np.asarray(fit.model.exog)) for fit in fits]
    with warnings.catch_warnings():  # of a constant response: its interval has length 0
        warnings.simplefilter("ignore")
        ends = [
            np.where(has_one[:, None], fit.conf_int(LEVEL).to_numpy(), np.nan)
            for fit, has_one in zip(fits, estimable, strict=True)
        ]
        significant = [fit.pvalues.to_numpy() < LEVEL for fit in fits]
    signs = [np.sign(fit.params.to_numpy()) for fit in fits]
    for j, name in enumerate(before.params.index):
        if name != "Intercept":
            yield Coefficient(
                str(name),
                _compute_overlap(*(intervals[j] for intervals in ends)),
                bool(signs[0][j] == signs[1][j]),
                bool(significant[0][j] == significant[1][j]),
            )


def _compute_overlap(one: Floats, other: Floats) -> float | None:
    """Return the share of two intervals (2,) that both have; None without one."""
    lengths = np.array([one[1] - one[0], other[1] - other[0]])
    if not (lengths > 0).all():  # nan, too
        return None
    common = min(one[1], other[1]) - max(one[0], other[0])
    return float((common / lengths).mean())
