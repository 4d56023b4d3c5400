"""Satisfaction level: share of values at the required distance from the original."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import agree
from aggopt.core.types import Floats, WishValues
from aggopt.core.validation import read_relative
from aggopt.errors import JobError
from aggopt.measure._pair import TOLERANCE, Pair
from aggopt.measure.registry import Comparison, Heading, Measure, describe_numbers_only


def sl(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    delta: WishValues = 0.1,
    importance: WishValues = 1.0,
) -> float:
    """Return the satisfaction level, a fraction in [0, 1].

    SL = sum_ij m_ij [ |z_ij - z'_ij| >= delta_ij or delta_ij = 0 ] / sum_ij m_ij, in
    population standard deviations of the original.  Higher is better: more values
    keep the distance that their owners require.  0 when all values are released
    unchanged, unless some delta is 0.  A value exactly at the distance counts, to one
    part in 1e9.

    Attributes constant in the original are left out, with their importance.

    Parameters
    ----------
    delta
        Required distance, in standard deviations, 0 or more: one number, one per
        attribute (d,), or one per value (n, d).  {"relative": r}, with r of any of
        these shapes, is r times the distance of the original value from the mean, as
        `aggopt.aggregate.p3m` takes it.
    importance
        Weight m_ij of each value, 0 or more, in one of these shapes; only ratios count.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.
    JobError
        delta or importance have another shape, or entries that are not finite numbers
        of at least 0; or the importance of all attributes that vary is 0.

    Source: Mortazavi and Jalili (2017).

    Examples
    --------
    >>> sl([[0.0], [2.0], [4.0], [6.0]], [[0.0], [1.0], [5.0], [6.0]])
    0.5
    """
    return compute_sl(Pair.of(original, released), delta, importance)


def compute_sl(pair: Pair, delta: WishValues, importance: WishValues) -> float:
    """Return `sl` of tables already paired."""
    wanted = _spread_argument(delta, "delta", pair)
    w = _spread_argument(importance, "importance", pair)
    if not w.any():
        raise JobError(
            "The importance of all attributes that vary is 0.",
            fix="give at least one value a positive importance.",
        )
    is_satisfied = np.abs(pair.difference) >= wanted * (
        1 - TOLERANCE
    )  # true where wanted is 0
    w = np.ldexp(w, -np.frexp(w.max())[1])  # no overflow in the sums, no rounding
    return float((w * is_satisfied).sum() / w.sum())


def _spread_argument(argument: WishValues, name: str, pair: Pair) -> Floats:
    """Return one number per value of the pair, (n, v)."""
    if isinstance(argument, Mapping):
        share = _spread_argument(read_relative(argument, name), name, pair)
        return np.asarray(share * np.abs(pair.original))
    array = np.asarray(argument)
    n = pair.n
    d = len(pair.varying)
    if array.shape not in ((), (d,), (n, d)):
        raise JobError(
            f"{name} has shape {array.shape}.",
            fix=f"pass one number, one per attribute ({d},), or one per value "
            f"({n}, {d}).",
        )
    if array.dtype.kind not in "iuf":
        raise JobError(
            f"{name} has entries of type {array.dtype}, which are not numbers.",
            fix="pass real numbers of at least 0.",
        )
    bad = int((~(np.isfinite(array) & (array >= 0))).sum())
    if bad:
        raise JobError(
            f"{name} has {bad} {agree(bad, 'entry that is', 'entries that are')} "
            "negative or not finite.",
            fix="pass real numbers of at least 0.",
        )
    numbers = np.broadcast_to(array.astype(np.float64), (n, d))
    return np.asarray(numbers[:, pair.varying])


def _compute_measure(tables: Comparison) -> float | None:
    """Return the satisfaction of requested distances; None without numbers."""
    return tables.of_numbers(
        lambda pair: compute_sl(pair, tables.delta, tables.importance)
    )


def _describe_far(result: Any) -> str:
    if result.delta is None:
        return f"values at the distance asked for{describe_numbers_only(result)}"
    far = f"values at least {result.delta:g} standard deviations away"
    return f"{far}{describe_numbers_only(result)}"


SL = Measure(
    name="sl",
    when="how many values keep the distance that their records ask for",
    rank=170,
    function=sl,
    range="0..1",
    better="higher",
    source="Mortazavi and Jalili (2017)",
    of=_compute_measure,
    heading=Heading.SATISFACTION,
    label="SL",
    says=_describe_far,
)
