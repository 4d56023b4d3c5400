"""Aggregation of all attributes at once, which keeps their covariance."""

from collections.abc import Callable

import numpy as np

from aggopt.aggregate._mean_within import covariance_within, leaves
from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.bounds import Bounds
from aggopt.core.compile_time import compile_time
from aggopt.core.record_weights import multiply_by_weights
from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels
from aggopt.errors import JobError
from aggopt.models import covariance_mean as model
from aggopt.models.shared.orthogonal import ROWS
from aggopt.solvers import Certificate, Status, choose
from aggopt.solvers.certificate import closed, size_of
from aggopt.solvers.run_solver import answer

Solve = Callable[[Floats, Labels, I64], tuple[Floats, Certificate]]
VARIANCE = 1.0  # of a standardised attribute; errors below it may be rounding alone
CONSTANT = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "constant attribute", 0.0)


def together(
    X: Floats,
    labels: Labels,
    solve: Solve,
    bounds: Bounds | None = None,
    weights: Floats | None = None,
) -> Aggregation:
    """Return the centroids by `solve` of all attributes of X (n, d) that vary.

    `solve` receives standardised attributes, by weights (n,) if records have some, the
    groups, and the columns of the attributes.  It returns standardised centroids (m,
    varying) and one certificate.  It keeps the `bounds`, if given.

    Raises
    ------
    JobError
        Attributes have groups of their own.
    """
    label = in_common(labels)
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


def in_common(labels: Labels) -> Labels:
    """Return the groups (n,) that all attributes have in common."""
    if labels.ndim == 1:
        return labels
    if (labels != labels[:, :1]).any():
        raise JobError(
            "The covariance is to be kept of attributes that have groups of their own.",
            fix='group them together, or keep = "variance".',
        )
    return np.ascontiguousarray(labels[:, 0])


def covariance_kept(
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

    def solve(Z: Floats, own: Labels, columns: I64) -> tuple[Floats, Certificate]:
        data = model.Data(Z, own, y=y, weights=weights)
        c, proof = _nearest_to_means(data)
        if not bounds.there:
            return c, proof
        ends = bounds.standardised(Scale.of(X, weights)).of_columns(columns)
        if not leaves(c, ends):
            return c, proof
        return covariance_within(data, ends, proof)

    return together(X, labels, solve, bounds, weights)


def _nearest_to_means(data: model.Data) -> tuple[Floats, Certificate]:
    started = compile_time.now()
    solver = choose(None, *model.MODEL.kinds)
    found = answer(model.MODEL, data, solver, None)
    at = model.point(data, found.reading)
    sse = _sse(at.c, data)
    within = sse - model.objective(data, at)
    bound = min(within + (found.bound or 0.0), sse)
    size = size_of(sse, VARIANCE)
    proof = Certificate(
        status=Status.OPTIMAL if closed(sse, bound, size) else Status.UNPROVEN,
        objective=sse,
        bound=bound,
        violation=model.MODEL.violation(data, at),
        solver=found.solver,
        seconds=compile_time.now() - started,
        size=size,
    )
    return at.c, proof


def _sse(c: Floats, data: model.Data) -> float:
    """Return the squared error of centroids c (m, d), some records at a time."""
    Z, labels, known = data.Z, data.labels, data.weights
    found = 0.0
    for first in range(0, len(Z), ROWS):
        rows = slice(first, first + ROWS)
        own = None if known is None else known[rows]
        found += float(
            np.sum(multiply_by_weights((c[labels[rows]] - Z[rows]) ** 2, own))
        )
    return found
