"""Interval disclosure relative to the value, the range or the rank."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from aggopt.core.types import F64, Bool
from aggopt.core.validation import check_matrix
from aggopt.errors import require_known
from aggopt.measure._interval import check_safety, is_within
from aggopt.measure._pair import Pair
from aggopt.measure.registry import Measure

KINDS = ("value", "range", "rank")


def interval_disclosure(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    relative_to: Literal["value", "range", "rank"] = "range",
    safety: float = 0.05,
) -> float:
    """Return the share of values inside an interval about their released value.

    The mean over all records and all attributes that vary in the original, a fraction
    in [0, 1]; lower is better.  Each record is compared with its own released record,
    as in `sdid`, whose intervals are in standard deviations.  A value at the border
    counts as inside.

    Parameters
    ----------
    relative_to
        "value": |x_ij - x'_ij| <= safety |x_ij|, in the attribute's unit, so that the
        origin of the unit matters.  "range": |x_ij - x'_ij| <= safety (max - min), of
        the original attribute.  "rank": x_ij is not beyond the released values whose
        ranks differ from that of x'_ij by at most safety n; equal released values have
        all ranks from the first of them to the last.
    safety
        Half the width of the interval, as a share, 0 or more.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.
    JobError
        safety is not a number, not finite or negative; relative_to is none of the
        three.

    Source: Mortazavi and Jalili (2017), section 2.3; by rank, Domingo-Ferrer and Torra
    (2001).

    Examples
    --------
    >>> X, released = [[0.0], [2.0], [4.0], [10.0]], [[0.1], [1.0], [5.0], [9.9]]
    >>> interval_disclosure(X, released, relative_to="range")
    0.5
    >>> interval_disclosure(X, released, relative_to="value")
    0.25
    >>> interval_disclosure(X, released, relative_to="rank", safety=0.25)
    0.5
    """
    share = check_safety(safety)
    require_known("kind of interval", relative_to, KINDS)
    pair = Pair.of(original, released)
    X, Y = (
        check_matrix(table, name=name)[:, pair.varying]
        for table, name in ((original, "original"), (released, "released"))
    )
    if relative_to == "rank":
        inside = [
            _is_within_ranks(x, y, int(share * pair.n + 1e-9))
            for x, y in zip(X.T, Y.T, strict=True)
        ]
    elif relative_to == "value":
        inside = [is_within(np.abs(Y - X), share * np.abs(X))]
    else:
        ranges = np.ptp(pair.original, axis=0)
        inside = [is_within(np.abs(pair.difference) / ranges, share)]
    return float(np.mean(inside))


def _is_within_ranks(x: F64, y: F64, ranks: int) -> Bool:
    """Return whether each x is between the y at most `ranks` before and after its own.

    >>> y = np.array([1.0, 2.0, 3.0])
    >>> _is_within_ranks(np.array([2.5, 2.5, 2.5]), y, 1).tolist()
    [False, True, True]
    """
    in_order = np.sort(y)
    lowest = np.searchsorted(in_order, y, side="left") - ranks
    highest = np.searchsorted(in_order, y, side="right") - 1 + ranks
    low = in_order[np.maximum(lowest, 0)]
    high = in_order[np.minimum(highest, len(y) - 1)]
    return np.asarray((low <= x) & (x <= high))


INTERVAL_DISCLOSURE = Measure(
    name="interval_disclosure",
    when="how many values are published nearly as they are, by value, range or rank",
    rank=75,
    function=interval_disclosure,
    range="0..1",
    better="lower",
    source="Mortazavi and Jalili (2017)",
)
