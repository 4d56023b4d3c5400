"""Whether a regression on released records says what it says on original ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import weight_of_each
from aggopt.core.validation import Floats
from aggopt.errors import TableError
from aggopt.measure.utility._formula import columns_of, installed
from aggopt.measure.utility._frames import both, names_of

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05  # of significance; intervals are of 1 - LEVEL


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a regression, on the original and on the released records.

    Attributes
    ----------
    name
        Of its term.
    overlap
        Of the two 95 % confidence intervals: 1 where they are the same, 0 where they
        touch, below where they are apart; None where it cannot be estimated.
    sign, significance
        Whether it has the same sign, and is as significant at 5 %.
    """

    name: str
    overlap: float | None
    sign: bool
    significance: bool


@dataclass(frozen=True)
class RegressionKept:
    """How much of a regression a release keeps: one entry per coefficient."""

    formula: str
    coefficients: tuple[Coefficient, ...]

    @property
    def smallest(self) -> float | None:
        """The smallest overlap; None where a coefficient cannot be estimated."""
        found = [each.overlap for each in self.coefficients]
        return None if None in found else min(found, default=None)  # type: ignore[type-var]


def interval_overlap(
    formula: str,
    original: Any,
    released: Any,
    *,
    weights: npt.ArrayLike | None = None,
    released_weights: npt.ArrayLike | None = None,
) -> RegressionKept:
    """Return how far the confidence intervals of a regression overlap; 1 is best.

    Least squares on each of the two tables by itself: of each coefficient but the
    intercept, (w/u + w/v)/2 where w is the length that both 95 % intervals have in
    common and u, v are theirs.

    Parameters
    ----------
    formula
        Such as "y ~ a + b": names of columns, in backquotes where they are no words,
        +, :, *, and log, log10, log2, exp, C, I, center, scale, poly.
    original, released
        Tables of the same columns.  Records that miss one of these are left out.
    weights, released_weights : (n,), (m,)
        Of the records: weighted least squares.  Released ones are those of the original
        when left out, for tables in the same order.

    Raises
    ------
    JobError
        The formula cannot be read, calls something else, or names no column.
    TableError
        No tables of the same columns, the response is no number, no record is complete,
        or weights are not positive.
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
    one, other = both(original, released)
    names = columns_of(formula, names_of(one))
    w = weight_of_each(weights, len(one))
    same = released_weights is None and len(one) == len(other)
    v = w if same else weight_of_each(released_weights, len(other))
    before, spec = _fitted(formula, one[names], w)
    after, _ = _fitted(spec, other[names], v)
    return RegressionKept(formula, tuple(_compared(before, after)))


def _fitted(formula: Any, frame: "pd.DataFrame", weights: Floats) -> tuple[Any, Any]:
    """Return the fit of a formula, and what makes the same columns of other records."""
    there = frame.notna().all(axis=1).to_numpy()
    if not there.any():
        raise TableError(
            "Every record misses a column of the formula.",
            fix="leave out the columns that are missing.",
        )
    made = installed("formulaic").model_matrix(formula, frame[there], context={})
    if made.lhs.shape[1] != 1:
        raise TableError(
            "The response of the formula is no number.",
            fix="name a column of numbers before the ~.",
        )
    models = installed("statsmodels.regression.linear_model")
    fit = models.WLS(made.lhs, made.rhs, weights=weights[there]).fit()
    return fit, made.model_spec


def _compared(before: Any, after: Any) -> Iterator[Coefficient]:
    """Yield what two fits of the same columns have in common."""
    ends = [fit.conf_int(LEVEL).to_numpy() for fit in (before, after)]
    significant = [fit.pvalues.to_numpy() < LEVEL for fit in (before, after)]
    signs = [np.sign(fit.params.to_numpy()) for fit in (before, after)]
    for j, name in enumerate(before.params.index):
        if name != "Intercept":
            yield Coefficient(
                str(name),
                _overlap(*(both[j] for both in ends)),
                bool(signs[0][j] == signs[1][j]),
                bool(significant[0][j] == significant[1][j]),
            )


def _overlap(one: Floats, other: Floats) -> float | None:
    """Return the share of two intervals (2,) that both have; None without one."""
    lengths = np.array([one[1] - one[0], other[1] - other[0]])
    if not (lengths > 0).all():  # nan, too
        return None
    common = min(one[1], other[1]) - max(one[0], other[0])
    return float((common / lengths).mean())
