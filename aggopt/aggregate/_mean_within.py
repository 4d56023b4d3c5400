"""Means that keep more than the mean, within bounds: programs without a wish."""

from dataclasses import replace
from typing import Any

import numpy as np

from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.bounds import Bounds
from aggopt.aggregate.shifted_means import ShiftOptions, solution
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.errors import InfeasibleInputError, naming
from aggopt.models import Model, p3m, p3m_joint
from aggopt.models.shared.joint import Records
from aggopt.models.shared.value_bounds import ROUNDING, outside
from aggopt.solvers import Certificate, choose


def variance_within(
    made: Aggregation, X: Floats, bounds: Bounds, weights: Floats | None
) -> Aggregation:
    """Return stretched means of X (n, d), or new centroids if they leave bounds.

    Weights (n,), if there are any, have the mean 1.

    Raises
    ------
    InfeasibleInputError
        No values within the bounds keep the variance.
    """
    scale, labels = Scale.of(X, weights), made.labels
    Z, z = scale.standardise(X), scale.standardise(made.centroids)
    ends, proofs = bounds.standardised(scale), list(made.certificates)
    leaving = _leaving(z, ends)
    for j in leaving.tolist():
        wishes = np.zeros(len(Z)), np.zeros(len(Z)), 0.0
        lower, upper = float(ends.lower[j]), float(ends.upper[j])
        with naming(f"Column {j}"):
            x = np.ascontiguousarray(Z[:, j])
            data = p3m.Data(
                x, labels, *wishes, lower=lower, upper=upper, weights=weights
            )
            z[:, j], proofs[j] = _nearest(p3m.MODEL, data, x[:, None])
    centroids = np.clip(made.centroids, *bounds)  # of the others: what rounding left
    centroids[:, leaving] = bounds.undone(z, scale)[:, leaving]
    return Aggregation(centroids, labels, tuple(proofs))


def covariance_within(
    of: Records, ends: Bounds, free: Certificate
) -> tuple[Floats, Certificate]:
    """Return centroids that keep the covariance of records within standardised `ends`.

    The covariance with a response is kept as well, if given.  `free` is the certificate
    of centroids without bounds, which have no larger loss.

    Raises
    ------
    SolverError
        No solver that keeps bounds is installed.
    InfeasibleInputError
        No centroids were found.
    """
    wishes = np.zeros(of.Z.shape), np.zeros(of.Z.shape), 0.0
    known: dict[str, Any] = {"y": of.y, "weights": of.weights}
    lower, upper = ends.lower.copy(), ends.upper.copy()
    data = p3m_joint.Data(of.Z, of.labels, *wishes, lower=lower, upper=upper, **known)
    c, proof = _nearest(p3m_joint.MODEL, data, of.Z)
    bounds = [bound for bound in (proof.bound, free.bound) if bound is not None]
    return c, replace(proof, bound=min(max(bounds), proof.objective))


def leaves(c: Floats, ends: Bounds) -> bool:
    """Whether any of the standardised centroids (m, d) is beyond its bounds."""
    return max(outside(c, *ends).values()) > ROUNDING


def _leaving(z: Floats, ends: Bounds) -> I64:
    beyond = (z < ends.lower - ROUNDING) | (z > ends.upper + ROUNDING)
    return np.flatnonzero(beyond.any(axis=0))


def _nearest(model: Model, data: Any, Z: Floats) -> tuple[Floats, Certificate]:
    """Return the centroids nearest to the means, with their loss of Z (n, d)."""
    how = choose(None, *model.kinds, within=True)
    start = None if how.is_global else "renormalised"
    c, proof = solution(model, data, ShiftOptions(how, start))
    if not proof.status.usable:
        raise InfeasibleInputError(
            "No values within the bounds of what is published were found that keep as "
            "much of the originals.",
            fix="choose a smaller k, keep less, or leave a bound out.",
        )
    means = np.reshape(data.means, (len(data.sizes), -1))
    known = getattr(data, "weights", None)
    within = float(np.sum(multiply_by_weights((Z - means[data.labels]) ** 2, known)))
    bound = None if proof.bound is None else proof.bound + within
    return c, replace(proof, objective=proof.objective + within, bound=bound)
