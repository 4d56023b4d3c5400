"""Aggregation of all attributes at once, which keeps their covariance."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.bounds import Bounds
from aggopt.aggregate.shifted_means import ShiftOptions, solve_shift
from aggopt.core.deadline import compile_time
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.standardise import Scale
from aggopt.core.types import I64, Floats, Labels
from aggopt.errors import InfeasibleInputError, JobError, naming
from aggopt.models import Model, p3m, p3m_joint
from aggopt.models import covariance_mean as model
from aggopt.models.shared.joint import ROWS, Records
from aggopt.models.shared.value_bounds import ROUNDING, measure_excess
from aggopt.solvers import Certificate, Status, choose_solver
from aggopt.solvers.certificate import choose_gap_size, is_gap_closed
from aggopt.solvers.run_solver import run_solver


def keep_variance_within(
    aggregation: Aggregation, X: Floats, bounds: Bounds, weights: Floats | None
) -> Aggregation:
    """Return stretched means of X (n, d), or new centroids if they leave bounds.

    Weights (n,), if there are any, have the mean 1.

    Raises
    ------
    InfeasibleInputError
        No values within the bounds keep the variance.
    """
    scale = Scale.of(X, weights)
    labels = aggregation.labels
    Z = scale.standardise(X)
    z = scale.standardise(aggregation.centroids)
    ends = bounds.standardised(scale)
    proofs = list(aggregation.certificates)
    leaving = _find_beyond_bounds(z, ends)
    for j in leaving.tolist():
        none = np.zeros(len(Z))
        lower = float(ends.lower[j])
        upper = float(ends.upper[j])
        with naming(f"Column {j}"):
            x = np.ascontiguousarray(Z[:, j])
            data = p3m.Data(
                x, labels, none, none, 0.0, lower=lower, upper=upper, weights=weights
            )
            z[:, j], proofs[j] = _solve_nearest(p3m.MODEL, data, x[:, None])
    centroids = np.clip(
        aggregation.centroids, *bounds
    )  # of the others: what rounding left
    centroids[:, leaving] = bounds.undone(z, scale)[:, leaving]
    return Aggregation(centroids, labels, tuple(proofs))


def keep_covariance_within(
    records: Records, ends: Bounds, free: Certificate
) -> tuple[Floats, Certificate]:
    """Return centroids within bounds `ends` that keep the records' covariance.

    The covariance with a response is kept as well, if given.  `free` is the certificate
    of centroids without bounds, which have no larger loss.

    Raises
    ------
    SolverError
        No solver that keeps bounds is installed.
    InfeasibleInputError
        No centroids were found.
    """
    none = np.zeros(records.Z.shape)
    common: dict[str, Any] = {"y": records.y, "weights": records.weights}
    lower = ends.lower.copy()
    upper = ends.upper.copy()
    data = p3m_joint.Data(
        records.Z, records.labels, none, none, 0.0, lower=lower, upper=upper, **common
    )
    c, proof = _solve_nearest(p3m_joint.MODEL, data, records.Z)
    bounds = [bound for bound in (proof.bound, free.bound) if bound is not None]
    return c, replace(proof, bound=min(max(bounds), proof.objective))


def is_beyond_bounds(c: Floats, ends: Bounds) -> bool:
    """Whether any of the standardised centroids (m, d) is beyond its bounds."""
    return max(measure_excess(c, *ends).values()) > ROUNDING


def _find_beyond_bounds(z: Floats, ends: Bounds) -> I64:
    """Return the attributes (columns) with a centroid beyond a bound."""
    beyond = (z < ends.lower - ROUNDING) | (z > ends.upper + ROUNDING)
    return np.flatnonzero(beyond.any(axis=0))


def _solve_nearest(model: Model, data: Any, Z: Floats) -> tuple[Floats, Certificate]:
    """Return centroids nearest to the group means, with squared error from Z (n, d)."""
    solver = choose_solver(None, *model.kinds, within=True)
    start = None if solver.is_global else "renormalised"
    c, proof = solve_shift(model, data, ShiftOptions(solver, start))
    if not proof.status.usable:
        raise InfeasibleInputError(
            "No values within the bounds of what is published were found that keep as "
            "much of the originals.",
            fix="choose a smaller k, keep less, or leave a bound out.",
        )
    means = np.reshape(data.means, (len(data.sizes), -1))
    weights = getattr(data, "weights", None)
    within = float(np.sum(multiply_by_weights((Z - means[data.labels]) ** 2, weights)))
    bound = None if proof.bound is None else proof.bound + within
    return c, replace(proof, objective=proof.objective + within, bound=bound)


Solve = Callable[[Floats, Labels, I64], tuple[Floats, Certificate]]
COINCIDE = 1e-9  # standard deviations: group means that are no farther apart
VARIANCE = 1.0  # of a standardised attribute; errors below it may be rounding alone
CONSTANT = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "constant attribute", 0.0)


def aggregate_together(
    X: Floats,
    labels: Labels,
    solve: Solve,
    bounds: Bounds | None = None,
    weights: Floats | None = None,
) -> Aggregation:
    """Return the centroids of X (n, d), all varying attributes solved by `solve`.

    `solve` receives standardised attributes, by weights (n,) if records have some, the
    groups, and the columns of the attributes.  It returns standardised centroids (m,
    varying) and one certificate.  It keeps the `bounds`, if given.

    Raises
    ------
    JobError
        Attributes have groups of their own.
    """
    label = require_common_groups(labels)
    scale = Scale.of(X, weights)
    varying = np.flatnonzero(~scale.constant)
    z = np.zeros((int(label.max()) + 1, X.shape[1]))
    solved: dict[tuple[int, ...], Certificate]
    solved = {(int(j),): CONSTANT for j in np.flatnonzero(scale.constant)}
    if varying.size:
        Z = scale.standardise(X)
        few = Z if varying.size == X.shape[1] else Z[:, varying]
        z[:, varying], proof = solve(few, label, varying)
        solved = {tuple(varying.tolist()): proof, **solved}
    centroids = bounds.undone(z, scale) if bounds else scale.undo(z)
    return Aggregation(centroids, labels, tuple(solved.values()), tuple(solved))


def require_common_groups(labels: Labels) -> Labels:
    """Return the one labelling (n,) of all attributes; refuse different ones."""
    if labels.ndim == 1:
        return labels
    if (labels != labels[:, :1]).any():
        raise JobError(
            "The covariance is to be kept of attributes that have groups of their own.",
            fix='group them together, or keep = "variance".',
        )
    return np.ascontiguousarray(labels[:, 0])


def keep_covariance(
    X: Floats,
    labels: Labels,
    bounds: Bounds,
    y: Floats | None = None,
    weights: Floats | None = None,
) -> Aggregation:
    """Return the centroids nearest to the means of X (n, d) that keep its covariance.

    With a standardised response y (n,), they keep its covariance with X. If they would
    leave the bounds, the result is a local optimum within them.  Weights (n,), if
    records have some, are of mean 1.

    Raises
    ------
    JobError
        Attributes have groups of their own.
    SolverError
        The bounds would be left, and no solver that keeps them is installed.
    InfeasibleInputError
        The groups are too few, or have lost too much of the response, or no values
        within the bounds were found.
    """

    def solve(
        Z: Floats, group_labels: Labels, columns: I64
    ) -> tuple[Floats, Certificate]:
        data = model.Data(Z, group_labels, y=y, weights=weights)
        c, proof = _solve_nearest_to_means(data)
        if not bounds.are_set:
            return c, proof
        ends = bounds.standardised(Scale.of(X, weights)).of_columns(columns)
        if not is_beyond_bounds(c, ends):
            return c, proof
        return keep_covariance_within(data, ends, proof)

    return aggregate_together(X, labels, solve, bounds, weights)


def _solve_nearest_to_means(data: model.Data) -> tuple[Floats, Certificate]:
    """Return the centroids that keep the covariance, nearest to the means."""
    started = compile_time.now()
    solver = choose_solver(None, *model.MODEL.kinds)
    answer = run_solver(model.MODEL, data, solver, None)
    at = model.point(data, answer.reading)
    sse = _compute_sse(at.c, data)
    within = sse - model.objective(data, at)
    return at.c, certify_covariance(
        sse,
        within + (answer.bound or 0.0),
        violation=model.MODEL.violation(data, at),
        solver=answer.solver,
        seconds=compile_time.now() - started,
    )


def certify_covariance(
    sse: float, bound: float, *, violation: float, solver: str, seconds: float
) -> Certificate:
    """Return the certificate of centroids that keep the covariance.

    `sse` is their squared error, and `bound` proven for all such centroids.
    """
    bound = min(bound, sse)
    size = choose_gap_size(sse, VARIANCE)
    status = Status.OPTIMAL if is_gap_closed(sse, bound, size) else Status.UNPROVEN
    return Certificate(status, sse, bound, violation, solver, seconds, size=size)


def _compute_sse(c: Floats, data: model.Data) -> float:
    """Return the squared error of centroids c (m, d), computed in blocks of records."""
    Z = data.Z
    labels = data.labels
    weights = data.weights
    total = 0.0
    for first in range(0, len(Z), ROWS):
        rows = slice(first, first + ROWS)
        part_weights = None if weights is None else weights[rows]
        total += float(
            np.sum(multiply_by_weights((c[labels[rows]] - Z[rows]) ** 2, part_weights))
        )
    return total
