"""Group medians."""

import itertools
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.aggregation import (
    Aggregation,
    aggregate_by_attribute,
    read_float_records,
)
from aggopt.aggregate.registry import Aggregating, Aggregator
from aggopt.core.deadline import compile_time
from aggopt.core.record_weights import (
    check_weights,
    multiply_by_weights,
    scale_to_mean_one,
)
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats, Labels
from aggopt.core.validation import check_labellings
from aggopt.solvers import Certificate, Status


def median(
    X: npt.ArrayLike, labels: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> Aggregation:
    """Return the group medians: the values with the least absolute error.

    Less moved by extreme records than the mean.  Of an even number of values the
    midpoint of the middle two is taken.

    Parameters
    ----------
    X : (n, d)
        Records, original units.
    labels : (n,) or (n, d)
        Group of each record, 0..m-1, for all attributes or for each of them.
    weights : (n,)
        Sampling weights, above 0, of any scale: half of a group's weight is on either
        side, and errors are weighted.

    Returns
    -------
    Aggregation
        Certificates in standardised units: objective = bound = sum of absolute
        errors.

    Raises
    ------
    TableError, JobError
        X, labels or weights cannot be used.

    Examples
    --------
    >>> median([[1.0], [2.0], [90.0], [5.0], [7.0]], [0, 0, 0, 1, 1]).centroids
    array([[2.],
           [6.]])
    """
    started = compile_time.now()
    records = read_float_records(X)
    label = check_labellings(labels, *records.shape)
    checked_weights = check_weights(weights, len(records))
    if label.ndim == 2:
        return aggregate_by_attribute(
            partial(median, weights=checked_weights), records, label
        )
    compute = (
        _compute_medians
        if checked_weights is None
        else partial(_compute_weighted_medians, weights=checked_weights)
    )
    centroids = np.stack([compute(x, label) for x in records.T], axis=1)
    scale = Scale.of(records, checked_weights)
    lost = scale.standardise(centroids)[label] - scale.standardise(records)
    seconds = (compile_time.now() - started) / records.shape[1]
    certificates = tuple(
        Certificate(Status.OPTIMAL, sae, sae, 0.0, "closed form", seconds)
        for sae in np.sum(
            multiply_by_weights(np.abs(lost), scale_to_mean_one(checked_weights)),
            axis=0,
        ).tolist()
    )
    return Aggregation(centroids, label, certificates)


def _compute_medians(x: Floats, labels: Labels) -> Floats:
    """Return the median of x (n,) in each group, (m,)."""
    ordered = x[np.lexsort((x, labels))]
    sizes = np.bincount(labels)
    first = np.cumsum(sizes) - sizes
    low = ordered[first + (sizes - 1) // 2]
    high = ordered[first + sizes // 2]
    return np.asarray(low + (high - low) / 2)


def _compute_weighted_medians(x: Floats, labels: Labels, weights: Floats) -> Floats:
    """Return the value at which half of each group's weight is reached, (m,).

    Where exactly half is reached, the midpoint between it and the next.
    """
    order = np.lexsort((x, labels))
    ordered = x[order]
    label = labels[order]
    weight = weights[order]
    first = np.searchsorted(label, np.arange(labels.max() + 2))
    medians = np.empty(len(first) - 1)
    for j, (start, stop) in enumerate(itertools.pairwise(first.tolist())):
        sums = np.cumsum(weight[start:stop])
        half = sums[-1] / 2
        low = start + int(np.searchsorted(sums, half))
        high = start + int(np.searchsorted(sums, half, side="right"))
        medians[j] = ordered[low] + (ordered[high] - ordered[low]) / 2
    return medians


class Median(Aggregating):
    """Settings of `aggopt.aggregate.median`."""

    method: Literal["median"]


AGGREGATOR = Aggregator(
    name="median",
    when="least absolute error; less moved by extreme records",
    rank=20,
    function=median,
    settings=Median,
    certificate="sum of absolute errors, least of all values",
)
