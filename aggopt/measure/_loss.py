"""Information loss: distances of the released values from the original ones."""

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.validation import check_matrix
from aggopt.measure._pair import Pair, find_varying_scale
from aggopt.measure.registry import Heading, Measure, describe_numbers_only


def sse(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return the sum of squared differences between standardised values.

    SSE = sum_ij ((x_ij - x'_ij) / s_j)^2, with s_j the original's standard deviation,
    divisor n.  When groups are released as their means, this is the within-group sum
    of squares.  From 0 up, in standard deviations squared; lower is better.

    Attributes that are constant in the original count 0, whatever is released.

    With sampling `weights` (n,), of any scale, sums, means and standard deviations are
    weighted, by weights of mean 1.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies; or not
        one weight above 0 for each record.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> round(sse([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]]), 6)
    0.8
    """
    return compute_paired_sse(Pair.of(original, released, weights))


def sst(original: npt.ArrayLike) -> float:
    """Return the total sum of squares of the standardised original.

    SST = sum_ij ((x_ij - mean_j) / s_j)^2, which is n times the number of attributes
    that vary, since s_j has divisor n.  What `sse` is held against; it depends on the
    original only, and has no better or worse.

    Raises
    ------
    TableError
        Not a matrix of finite numbers, or no attribute varies.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> sst([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0], [6.0, 5.0]])
    4.0
    """
    X = check_matrix(original, name="original")
    return float(len(X) * find_varying_scale(X)[1].sum())


def il(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return the information loss SSE / SST, a fraction.

    The mean of ((x_ij - x'_ij) / s_j)^2 over all records and all attributes that vary
    in the original.  0 is no loss, 1 is the loss of releasing the mean for all records.
    Group means give values between; other releases may exceed 1.  Lower is better.
    Sampling `weights` (n,) are as in `sse`.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> round(il([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]]), 6)
    0.2
    """
    return compute_il(Pair.of(original, released, weights))


def il1s(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return the information loss IL1s, a mean absolute difference without unit.

    The mean of |x_ij - x'_ij| / (sqrt(2) S_j) over all records and all attributes that
    vary in the original, S_j its standard deviation with divisor n - 1.  From 0 up,
    not bounded by 1; lower is better.
    Sampling `weights` (n,) are as in `sse`.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.

    Source: Yancey, Winkler and Creecy (2002).

    Examples
    --------
    >>> round(il1s([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]]), 6)
    0.273861
    """
    return compute_il1s(Pair.of(original, released, weights))


def range_sse(original: npt.ArrayLike, released: npt.ArrayLike) -> float:
    """Return the sum of squared differences, each as a share of its attribute's range.

    sum_ij ((x_ij - x'_ij) / (max_i x_ij - min_i x_ij))^2, the range of the original:
    `sse` with distances that are normalised to 0..1.  Divide by n and by the number of
    attributes for their mean.  From 0 up, without unit; lower is better.

    Attributes that are constant in the original count 0, whatever is released.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.

    Source: Soria-Comas, Domingo-Ferrer, Sanchez and Martinez (2015), formula 5.

    Examples
    --------
    >>> range_sse([[0.0], [2.0], [4.0], [8.0]], [[1.0], [1.0], [6.0], [6.0]])
    0.15625
    """
    pair = Pair.of(original, released)
    return float(((pair.difference / np.ptp(pair.original, axis=0)) ** 2).sum())


def compute_paired_sse(pair: Pair) -> float:
    """Return `sse` of tables already paired."""
    return float(multiply_by_weights(pair.difference**2, pair.weights).sum())


def compute_sst(pair: Pair) -> float:
    """Return `sst` of tables already paired."""
    return pair.total


def compute_il(pair: Pair) -> float:
    """Return `il` of tables already paired."""
    total = compute_sst(pair)
    return compute_paired_sse(pair) / total if total else 0.0


def compute_il1s(pair: Pair) -> float:
    """Return `il1s` of tables already paired."""
    unit = np.sqrt(2) * pair.sample_deviation
    return float(
        multiply_by_weights(np.abs(pair.difference) / unit, pair.weights).mean()
    )


_GROUPED = "Domingo-Ferrer and Torra (2001)"

SSE = Measure(
    name="sse",
    when="what groups lose, as a sum of squares",
    rank=90,
    function=sse,
    range="0..",
    better="lower",
    source=_GROUPED,
    of=lambda tables: compute_paired_sse(tables.weighed),
)

SST = Measure(
    name="sst",
    when="what one group of all records would lose",
    rank=100,
    function=sst,
    range="0..",
    better="-",
    source=_GROUPED,
    needs="original",
    of=lambda tables: compute_sst(tables.weighed),
)

RANGE_SSE = Measure(
    name="range_sse",
    when="what groups lose, in the unit of studies of t-closeness",
    rank=105,
    function=range_sse,
    range="0..",
    better="lower",
    source="Soria-Comas, Domingo-Ferrer, Sanchez and Martinez (2015)",
)

IL = Measure(
    name="il",
    when="how much groups lose: the first figure to compare partitions by",
    rank=110,
    function=il,
    range="0..",
    better="lower",
    source=_GROUPED,
    of=lambda tables: compute_il(tables.weighed),
    heading=Heading.LOSS,
    label="IL",
    says=lambda result: f"SSE {result.sse:.6g} / SST {result.sst:.6g}",
)

IL1S = Measure(
    name="il1s",
    when="how far values moved, without squares",
    rank=120,
    function=il1s,
    range="0..",
    better="lower",
    source="Yancey, Winkler and Creecy (2002)",
    of=lambda tables: tables.of_numbers(compute_il1s, weighed=True),
    heading=Heading.LOSS,
    label="IL1s",
    says=lambda result: (
        f"mean |difference| / (sqrt(2) S){describe_numbers_only(result)}"
    ),
)
