"""Centroids shifted away from the originals, mean and variance kept."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from aggopt.aggregate._aggregation import Aggregation, column, scale_for
from aggopt.aggregate._shifted import How, require_number, shifted
from aggopt.aggregate._wishes import Wish, spread
from aggopt.core.validation import Floats, labellings, matrix
from aggopt.models import p3m as model
from aggopt.models import p3m_onesided as onesided
from aggopt.models import satisfaction as pleasing
from aggopt.solvers import choose


def p3m(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: Wish = 0.1,
    importance: Wish = 0.001,
    alpha: float = 0.5,
    solver: str | None = None,
    start: str | Floats | None = None,
    starts: int = 0,
    seed: int | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return centroids shifted away from the originals, mean and variance kept.

    The model is stated in `aggopt.models.p3m`.  It is not convex, but its own method,
    the default solver, proves how good its answer is: every certificate carries a
    bound.  Local solvers find a local optimum and prove nothing.

    Parameters
    ----------
    X : (n, d)
        Records, original units.
    labels : (n,) or (n, d)
        Group of each record, 0..m-1, for all attributes or for each of them; at
        least two groups.
    delta
        Distance that a record asks for between its value and the published one, in
        standard deviations: a number, one per attribute (d,), or (n, d); or
        {"relative": r} for r |z|, z the record's z-score.
    importance
        How much it insists, from 0 to 1 (a demand: the distance is then exact): a
        number, (d,) or (n, d).  A value at an exact distance gives the original away
        to who knows delta or tries some, because the standard deviation is published:
        ask for `with_margins(X, labels, delta)`, as `aggopt.mask` does.
    alpha
        Weight of the distances against the shifts, in [0, 1].  At 0 the result is
        the renormalised mean.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes the model: "dual" (global, the
        default), or "ipopt", "cvxpy:uno", "pyomo:ripopt" and others.
    start, starts, seed
        Of a local solver: where it sets out, "means" (group means), "renormalised",
        "dual" or centroids (m, d) in the original units (as an `Aggregation` has
        them); how many random starts it tries besides; and their seed.
    time_limit
        Seconds per attribute; when omitted, 600 for a solver such as SCIP that branches
        and might never end, none for others, which end by themselves.
    options
        Handed to the solver under its own names; the dual method's are gap_tol
        (1e-6) and nodes, how many parts of the program it looks at.
    progress
        Called with the share of attributes done.

    Returns
    -------
    Aggregation
        One certificate per attribute, in standardised units.  Where a solve fails,
        or stops at a limit with nothing better, the attribute gets its renormalised
        means, which keep mean and variance; the certificate's status says so and
        its figures are those of the values returned.  A constant attribute is
        returned as it is.

    Raises
    ------
    TableError, JobError
        An argument cannot be used.
    InfeasibleInputError
        One group only, or demands within a group that contradict each other.
    SolverError
        The solver is not installed.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> masked = p3m(X, [0, 0, 0, 1, 1, 1], delta=0.1)
    >>> round(float(masked.values.mean()), 6)
    5.0
    >>> masked.certificates[0].status.value
    'optimal'
    """
    how = (solver, start, starts, seed, time_limit, options)
    wishes = delta, importance, alpha
    return _aggregated(model, X, labels, wishes, how, progress)


def p3m_onesided(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: Wish = 0.1,
    importance: Wish = 0.001,
    alpha: float = 0.5,
    solver: str | None = None,
    start: str | Floats | None = None,
    starts: int = 0,
    seed: int | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return what `p3m` returns, where only coming too close to an original costs.

    The model is stated in `aggopt.models.p3m_onesided`; arguments, result and errors
    are those of `p3m`.  A demand (importance 1) is kept as a least distance; where it
    binds, the value lies exactly there and gives the original away, unless `delta`
    comes from `with_margins`.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> p3m_onesided(X, [0, 0, 0, 1, 1, 1], delta=0.1).certificates[0].status.value
    'optimal'
    """
    how = (solver, start, starts, seed, time_limit, options)
    wishes = delta, importance, alpha
    return _aggregated(onesided, X, labels, wishes, how, progress)


def satisfaction(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: Wish = 0.1,
    importance: Wish = 1.0,
    price: float = 1.0,
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return centroids that keep the distance asked from as many originals as pay.

    The model is stated in `aggopt.models.satisfaction`: it counts, by importance, the
    values that lie at least `delta` away, against `price` for each squared standard
    deviation of shift of a record.  Arguments, result and errors are those of `p3m`;
    importance weighs, and demands nothing.

    The optimum lies exactly at the distance asked from a record of nearly each group,
    and so gives that original away: publish nothing that was not made with a `delta`
    from `with_margins`, as `aggopt.mask` does.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> masked = satisfaction(X, [0, 0, 0, 1, 1, 1], delta=0.1)
    >>> masked.certificates[0].violation < 1e-9
    True
    """
    how = (solver, None, 0, None, time_limit, options)
    wishes = delta, importance, price
    return _aggregated(pleasing, X, labels, wishes, how, progress)


def _aggregated(
    model: Any,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wishes: tuple[Wish, Wish, float],
    how: tuple[Any, ...],
    progress: Callable[[float], None] | None,
) -> Aggregation:
    records = matrix(X)
    label = labellings(labels, *records.shape)
    scale = scale_for(records, label)
    Z = scale.standardise(records)
    delta, importance, weight = wishes
    require_number(weight, "price" if model is pleasing else "alpha")
    asked = spread(delta, Z, "delta")
    insisted = spread(importance, Z, "importance")

    def stated(j: int) -> Any:
        x, own, d, w = (column(v, j) for v in (Z, label, asked, insisted))
        return model.Data(x, own, d, w, weight)

    solver, start, starts, seed, time_limit, options = how
    chosen = choose(solver, model.NAME, model.CLASS)
    settings = How(chosen, start, starts, seed, time_limit, options or {})
    return shifted(model, stated, scale, label, settings, progress)
