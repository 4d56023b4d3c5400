"""Group means: unchanged, or moved to keep variance or covariance."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.aggregation import (
    Aggregation,
    aggregate_by_attribute,
    group_means,
    read_float_records,
)
from aggopt.aggregate.bounds import Bounds, End
from aggopt.aggregate.joint_aggregation import (
    COINCIDE,
    keep_covariance,
    keep_variance_within,
)
from aggopt.aggregate.kept_statistics import (
    STATISTICS,
    Keep,
    Keeping,
    KeptApart,
    Part,
    Statistic,
    combine_parts,
    require_statistic,
    split_by_statistic,
    standardise_response,
)
from aggopt.aggregate.registry import Aggregator
from aggopt.core.deadline import compile_time
from aggopt.core.record_weights import (
    check_weights,
    multiply_by_weights,
    scale_to_mean_one,
)
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats, Labels
from aggopt.core.validation import check_labellings
from aggopt.errors import InfeasibleInputError
from aggopt.solvers import Certificate, Status


def mean(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    keep: Keep = "mean",
    response: npt.ArrayLike | None = None,
    lower: End = None,
    upper: End = None,
    weights: npt.ArrayLike | None = None,
) -> Aggregation:
    """Return the group means, or the nearest values that keep more than the mean.

    Parameters
    ----------
    X : (n, d)
        Records, original units.
    labels : (n,) or (n, d)
        Group of each record, 0..m-1, for all attributes or for each of them.
    keep
        "mean": the group means, the values with the least squared error.
        "variance": the means of each attribute, stretched about their centre, so that
        the published attribute has the mean and the variance of the original:
        x' = x_C / sigma_C on z-scores.  "covariance": all attributes have the means,
        variances, covariances and correlations of the originals; the model is stated
        in `aggopt.models.covariance_mean`.  The returned centroids have the least
        squared error among all that keep these moments.  A table sets it by column,
        each column once: {"covariance": [0, 2], "variance": [1]}, where "covariance"
        may be several lists of columns, each with its own.  {"regression": [0, 2]}
        keeps the covariance of these columns, and their covariances with `response`.
        This keeps the coefficients of its regression on them.
    response : (n,)
        The response of a regression, which is published unchanged with the attributes.
    lower, upper
        Least and largest published value, as in `p3m`.  Means are within, because
        originals must be.  Centroids moved to keep more than the mean are the nearest
        ones within the bounds.  If stretched means would leave the bounds, the result
        is that of the model `aggopt.models.p3m`, or for the covariance
        `aggopt.models.p3m_joint`, at alpha 0; the latter has a local optimum.
    weights : (n,)
        Sampling weights, above 0, of any scale: means and variances are weighted, and
        so are covariances, regressions and errors.

    Returns
    -------
    Aggregation
        Certificates in standardised units: objective = bound = sum of squared errors.
        If the covariance is kept, one for all attributes that vary, or one for each
        list of them.

    Raises
    ------
    TableError, JobError
        X, labels or keep cannot be used; the covariance of attributes that have
        groups of their own; originals beyond lower or upper.
    SolverError
        No solver of `p3m_joint` that keeps bounds is installed.
    InfeasibleInputError
        No values within the bounds keep the variance.
        "variance", and an attribute's group means coincide although its values
        differ (one group does that): no stretch restores the variance.  "covariance",
        and the number of groups does not exceed the number of linearly independent
        attributes.  "regression", and groups do not exceed that number by two, or have
        lost too much of the response for the part that the attributes explain.

    Examples
    --------
    >>> X = [[1.0], [3.0], [10.0], [14.0]]
    >>> mean(X, [0, 0, 1, 1]).values.ravel().tolist()
    [2.0, 2.0, 12.0, 12.0]
    >>> stretched = mean(X, [0, 0, 1, 1], keep="variance").values
    >>> round(float(stretched.std()), 6) == round(float(np.std(X)), 6)
    True
    """
    started = compile_time.now()
    if isinstance(keep, Mapping):
        return _aggregate_by_statistic(
            X, labels, keep, response, (lower, upper, weights)
        )
    require_statistic("mean", Mean.able, keep)
    records = read_float_records(X)
    standardise_response((), response, len(records))
    label = check_labellings(labels, *records.shape)
    bounds = Bounds.of(lower, upper, records)
    checked_weights = check_weights(weights, len(records))
    if keep == "covariance":
        return keep_covariance(
            records, label, bounds, weights=scale_to_mean_one(checked_weights)
        )
    if label.ndim == 2:
        combine = partial(mean, keep=keep, weights=checked_weights)
        return aggregate_by_attribute(combine, records, label, bounds)
    centroids = group_means(records, label, checked_weights)
    scale = Scale.of(records, checked_weights)
    share = scale_to_mean_one(checked_weights)
    if keep == "variance":
        centroids = _stretch_means(centroids, label, scale, share)
    lost = scale.standardise(centroids)[label] - scale.standardise(records)
    seconds = (compile_time.now() - started) / records.shape[1]
    certificates = tuple(
        Certificate(Status.OPTIMAL, sse, sse, 0.0, "closed form", seconds)
        for sse in np.sum(multiply_by_weights(lost**2, share), axis=0).tolist()
    )
    aggregation = Aggregation(centroids, label, certificates)
    if not bounds.are_set:
        return aggregation
    return keep_variance_within(aggregation, records, bounds, share)


def _aggregate_by_statistic(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    keep: Mapping[str, Sequence[Any]],
    response: npt.ArrayLike | None,
    ends: tuple[End, End, npt.ArrayLike | None],
) -> Aggregation:
    """Return the group means, moved to keep the statistic of each attribute."""
    records = read_float_records(X)
    label = check_labellings(labels, *records.shape)
    parts = split_by_statistic("mean", Mean.able, keep, records.shape[1])
    bounds = Bounds.of(*ends[:2], records)
    weights = ends[2]
    checked_weights = check_weights(weights, len(records))
    y = standardise_response(parts, response, len(records), checked_weights)

    def combine(part: Part, values: Floats, groups: Labels) -> Aggregation:
        inside = bounds.of_columns(list(part.columns))
        if part.statistic == "regression":
            return keep_covariance(
                values, groups, inside, y, scale_to_mean_one(checked_weights)
            )
        constraints = {**inside._asdict(), "weights": weights}
        return mean(values, groups, keep=part.statistic, **constraints)

    return combine_parts(records, label, parts, combine)


def _stretch_means(
    centroids: Floats, labels: Labels, scale: Scale, weights: Floats | None
) -> Floats:
    """Return group means stretched to the records' variance; weights have mean 1."""
    means = scale.standardise(centroids)
    share = np.bincount(labels, weights)[:, None] / len(labels)
    away = means - np.sum(share * means, axis=0)
    spread = np.sqrt(np.sum(share * away**2, axis=0))
    flat = np.flatnonzero((spread < COINCIDE) & ~scale.constant)
    if flat.size:
        where = f" in column(s) {flat.tolist()}" if len(spread) > 1 else ""
        raise InfeasibleInputError(
            f"All group means coincide{where}, so no stretch restores the variance.",
            fix="choose a smaller k, or take the means as they are.",
        )
    return scale.undo(away / np.where(scale.constant, 1.0, spread))


class Mean(Keeping):
    """Settings of `aggopt.aggregate.mean`."""

    able: ClassVar[tuple[str, ...]] = (*STATISTICS[1:], "regression")
    method: Literal["mean"] = "mean"
    keep: Statistic | KeptApart = "mean"


AGGREGATOR = Aggregator(
    name="mean",
    when="least squared error; the default",
    rank=10,
    function=mean,
    settings=Mean,
    template="""\
# keep = "variance"      # left out, mean keeps the mean, and the others the variance;
#                          or "covariance", of all at once""",
    certificate="sum of squared errors, least of all values that keep as much",
)
