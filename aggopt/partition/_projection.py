"""Projection: records ordered along an axis and split optimally into groups."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, Labels, check_group_size
from aggopt.errors import require_known
from aggopt.partition.path_split import find_best_split
from aggopt.partition.registry import Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records, scale_to_unit
from aggopt.partition.shared.settings import Grouping

NOTHING = 1e-9  # share of an attribute's spread that may be rounding


def projection(
    X: npt.ArrayLike, k: int, *, axis: str = "pca", scale: str = "z"
) -> Partition:
    """Return groups: the records ordered along an axis, split optimally.

    Among all splits of that ordering into groups of k to 2k - 1 consecutive records,
    the result has minimum SSE over all attributes.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    axis : "pca", "zsum" or "robust_pca"
        "pca": the first principal component. "zsum": the sum of the attributes.
        Attributes that are negatively correlated cancel each other out: change the sign
        of some, or use another axis. "robust_pca": the first principal component of
        directions.  Each attribute is centred at its median and, with scale="z",
        divided by its median absolute deviation (by its mean absolute deviation if that
        is 0); each record is projected to distance 1 from the medians, so that outliers
        hardly change the axis.
    scale : "z" or "none"
        "z" takes z-scores (population standard deviation), and a constant attribute
        weighs nothing.  "none" uses X unchanged: for attributes that you have weighted
        yourself.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 along the axis from the end that is
        farther from its middle (mean, or median with "robust_pca").  Each group has k
        to 2k - 1 records.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k is below 1 or not a whole number; an unknown axis or scale
        (UnknownNameError).
    TableError
        X is not a matrix of finite numbers.

    Notes
    -----
    Equal projections are ordered by record.  If two components are equally strong,
    rounding chooses one.

    Time grows as n d (d + k), memory as n d.

    Weaknesses: records that are far apart may have equal projections.  Unless one
    component dominates, SSE is often several times that of `mdav`, without protecting
    more: the method reveals an interval for each record's projection, with which an
    intruder links records to groups.  Use it for comparison, or for attributes that
    measure the same quantity.

    Source: Defays and Nanopoulos, Panels of enterprises and confidentiality, 1993;
    Mateo-Sanz and Domingo-Ferrer, A comparative study of microaggregation methods,
    Questiio 22(3), 1998, for "pca" and "zsum", there with groups of fixed size.
    Robust: Locantore et al., Robust principal component analysis for functional
    data, Test 8(1), 1999 (spherical components); sdcMicro has "pppca" and "mcdpca".

    Examples
    --------
    >>> projection([[0, 1], [7, 7], [2, 2], [9, 8], [1, 0], [8, 9.0]], k=3).labels
    array([0, 1, 0, 1, 0, 1])
    """
    clock = Deadline(None)
    require_known("axis", axis, AXES)
    records = scale_records(X, scale)
    k = check_group_size(k, len(records))
    labels = _split_along_axis(records, k, axis, scale)
    evidence = certify_squares(records, labels, k, by="projection", seconds=clock.spent)
    return Partition(labels, evidence)


def _split_along_axis(records: Floats, k: int, axis: str, scale: str) -> Labels:
    """Return labels (n,): the optimal split of the records along an axis."""
    if len(records) < 2 * k:
        return np.zeros(len(records), np.intp)
    records, _ = scale_to_unit(records)
    along = AXES[axis](records - records[0], scale)
    from_farther_end = -along if along.max() > -along.min() else along
    return find_best_split(records, [from_farther_end.argsort(kind="stable")], k)


def _project_on_pca(records: Floats, scale: str) -> Floats:
    """Return the records' first principal component scores, (n,)."""
    gaps = records - records.mean(axis=0)
    return _project_on_axis(gaps, _find_first_component(gaps))


def _project_on_sum(records: Floats, scale: str) -> Floats:
    """Return each record's sum of deviations from the means, (n,)."""
    gaps = records - records.mean(axis=0)
    return _project_on_axis(gaps, np.ones(gaps.shape[1]))


def _project_on_robust_pca(records: Floats, scale: str) -> Floats:
    """Return scores of a robust principal component (spherical PCA), (n,)."""
    gaps = records - np.median(records, axis=0)
    if scale == "z":
        gaps /= _compute_deviations(np.abs(gaps))
    directions = _normalise_gaps(gaps)
    return _project_on_axis(gaps, _find_first_component(directions))


AXES = {
    "pca": _project_on_pca,
    "zsum": _project_on_sum,
    "robust_pca": _project_on_robust_pca,
}


def _compute_deviations(gaps: Floats) -> Floats:
    """Return each attribute's median absolute deviation, else the mean one, else 1."""
    median = np.median(gaps, axis=0)
    mean = gaps.mean(axis=0)
    some = np.where(mean > 0, mean, 1.0)
    return np.where(median > NOTHING * mean, median, some)


def _normalise_gaps(gaps: Floats) -> Floats:
    """Return deviations (n, d) divided by their lengths; 0 stays 0."""
    distances = np.sqrt((gaps**2).sum(axis=1, keepdims=True))
    return np.asarray(gaps / np.where(distances > 0, distances, 1.0))


def _find_first_component(gaps: Floats) -> Floats:
    """Return the first principal axis of deviations (n, d), its largest entry > 0."""
    component = np.linalg.eigh(gaps.T @ gaps)[1][:, -1]
    longest = component[np.abs(component).argmax()]
    return np.asarray(component * np.sign(longest))


def _project_on_axis(gaps: Floats, axis: Floats) -> Floats:
    """Return the inner products of deviations (n, d) with an axis, (n,)."""
    # attribute by attribute: equal records keep equal projections
    total = np.zeros(len(gaps))
    for t, weight in enumerate(axis):
        total += weight * gaps[:, t]
    return total


class Projection(Grouping):
    """Settings of `aggopt.partition.projection`."""

    method: Literal["projection"]
    axis: Literal["pca", "zsum", "robust_pca"] = "pca"


PARTITIONER = Partitioner(
    name="projection",
    when="for comparison: records ordered along an axis, split optimally",
    rank=70,
    function=projection,
    settings=Projection,
    initial=True,
    inner=True,
)
