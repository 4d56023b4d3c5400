"""P3M: centroids shifted away from the originals, mean and variance kept."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.aggregate._aggregation import Aggregation
from aggopt.arrays import Floats, Labels, groups, matrix
from aggopt.errors import JobError
from aggopt.models import p3m as model
from aggopt.scale import Scale
from aggopt.solvers import Certificate, Status, choose, solve

FEASIBLE = 1e-6  # largest violation, per record, that may be published


def p3m(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: npt.ArrayLike = 0.1,
    importance: npt.ArrayLike = 0.001,
    alpha: float = 0.5,
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return centroids shifted away from the originals, mean and variance kept.

    The model is stated in `aggopt.models.p3m`.  It is not convex and the solvers
    are local: a certificate carries no bound.

    Parameters
    ----------
    X : (n, d)
        Records, original units.
    labels : (n,)
        Group of each record, 0..m-1; at least two groups.
    delta
        Distance that a record asks for between its value and the published one, in
        standard deviations: a number, one per attribute (d,), or (n, d).
    importance
        How much it insists, in [0, 1): a number, (d,) or (n, d).
    alpha
        Weight of the distances against the shifts, in [0, 1].  At 0 the result is
        the renormalised mean.
    solver
        A name of `aggopt.solvers.SOLVERS`, such as "ipopt" or "uno"; IPOPT where it
        is installed, else UNO, when omitted.
    time_limit
        Seconds per attribute; none by default.
    options
        Handed to the solver under its own names.
    progress
        Called with the share of attributes done.

    Returns
    -------
    Aggregation
        One certificate per attribute.  Where a solve fails, or stops at a limit
        with nothing better, the attribute gets its renormalised means, which keep
        mean and variance; the certificate's status says so and its figures are
        those of the values returned.  A constant attribute is returned as it is.

    Raises
    ------
    TableError, JobError
        An argument cannot be used.
    InfeasibleInputError
        One group only: a single value cannot keep the variance.
    SolverError
        The solver is not installed.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [7.0], [8.0], [9.5]])
    >>> masked = p3m(X, [0, 0, 0, 1, 1, 1], delta=0.1)
    >>> round(float(masked.values.mean() - X.mean()), 6)
    0.0
    >>> masked.certificates[0].status.value
    'locally optimal'
    """
    records = matrix(X)
    label = groups(labels, len(records))
    asked = _per_value(delta, records, "delta")
    insisted = _per_value(importance, records, "importance")
    chosen = choose(solver, model.CLASS).name
    scale = Scale.of(records)
    Z = scale.standardise(records)
    stated = [
        None
        if scale.constant[j]
        else model.Data(Z[:, j], label, asked[:, j], insisted[:, j], alpha)
        for j in range(Z.shape[1])
    ]
    solved = []
    for j, data in enumerate(stated):
        solved.append(
            _kept(label) if data is None else _solved(data, chosen, time_limit, options)
        )
        if progress:
            progress((j + 1) / len(stated))
    centroids = np.stack([c for c, _ in solved], axis=1)
    return Aggregation(scale.undo(centroids), label, tuple(c for _, c in solved))


def _per_value(wish: npt.ArrayLike, X: Floats, name: str) -> Floats:
    """Spread a number, (d,) or (n, d) over all values (n, d)."""
    array = np.asarray(wish)
    if array.dtype.kind not in "iuf" or array.shape not in ((), X.shape[1:], X.shape):
        raise JobError(
            f"{name} has shape {array.shape} and type {array.dtype}.",
            fix=f"pass a number, one per attribute ({X.shape[1]},), or one per "
            f"record and attribute {X.shape}.",
        )
    return np.broadcast_to(array.astype(np.float64), X.shape)


def _kept(labels: Labels) -> tuple[Floats, Certificate]:
    """Leave a constant attribute as it is."""
    nothing = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "constant attribute", 0.0)
    return np.zeros(labels.max() + 1), nothing


def _solved(
    data: model.Data,
    solver: str,
    time_limit: float | None,
    options: Mapping[str, Any] | None,
) -> tuple[Floats, Certificate]:
    started = time.perf_counter()
    start = data.means if np.ptp(data.means) > 0 else model.renormalised(data)
    problem = model.build(data, choose(solver, model.CLASS).language, start=start)
    outcome = solve(problem, solver, time_limit=time_limit, options=options)
    found = model.centroids(problem, data) if outcome.status.usable else None
    status = outcome.status
    if found is None or not _better(data, found, status):
        found = model.renormalised(data)
        status = Status.LIMIT if status is Status.LIMIT else Status.FAILED
    at = model.point(data, found)
    seconds = time.perf_counter() - started
    certificate = Certificate(
        status,
        model.objective(data, at),
        None,
        model.violation(data, at),
        outcome.solver,
        seconds,
    )
    return found, certificate


def _better(data: model.Data, found: Floats, status: Status) -> bool:
    """Whether to publish `found`: feasible and, if cut short, worth it."""
    at = model.point(data, found)
    if model.violation(data, at) > FEASIBLE:
        return False
    fallback = model.point(data, model.renormalised(data))
    cut_short = status is Status.LIMIT
    return not cut_short or (
        model.objective(data, at) <= model.objective(data, fallback)
    )
