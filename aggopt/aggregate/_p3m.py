"""P3M: centroids shifted away from the originals, mean and variance kept."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from aggopt.aggregate._aggregation import Aggregation
from aggopt.aggregate._shifted import How, shifted
from aggopt.aggregate._wishes import Wish, spread
from aggopt.arrays import Floats, groups, matrix
from aggopt.models import p3m as model
from aggopt.scale import Scale
from aggopt.solvers import choose


def p3m(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: Wish = 0.1,
    importance: npt.ArrayLike = 0.001,
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

    The model is stated in `aggopt.models.p3m`.  It is not convex: a local solver finds
    a local optimum, and its certificate carries no bound.

    Parameters
    ----------
    X : (n, d)
        Records, original units.
    labels : (n,)
        Group of each record, 0..m-1; at least two groups.
    delta
        Distance that a record asks for between its value and the published one, in
        standard deviations: a number, one per attribute (d,), or (n, d); or
        {"relative": r} for r |z|, z the record's z-score.
    importance
        How much it insists, from 0 to 1 (a demand: the distance is then exact): a
        number, (d,) or (n, d).
    alpha
        Weight of the distances against the shifts, in [0, 1].  At 0 the result is
        the renormalised mean.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes P3M, such as "ipopt" or "uno";
        the first installed one when omitted.
    start, starts, seed
        Of a local solver: where it sets out, "means" (group means), "renormalised",
        "dual" or centroids (m, d) in the original units; how many random starts it
        tries besides; and their seed.
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
        One group only, or demands within a group that contradict each other.
    SolverError
        The solver is not installed.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> masked = p3m(X, [0, 0, 0, 1, 1, 1], delta=0.1)
    >>> round(float(masked.values.mean()), 6)
    5.0
    >>> masked.certificates[0].violation < 1e-6
    True
    """
    records = matrix(X)
    label = groups(labels, len(records))
    Z = Scale.of(records).standardise(records)
    asked = spread(delta, Z, "delta")
    insisted = spread(importance, Z, "importance")

    def stated(x: Floats, j: int) -> model.Data:
        return model.Data(x, label, asked[:, j], insisted[:, j], alpha)

    chosen = choose(solver, model.NAME, model.CLASS)
    how = How(chosen, start, starts, seed, time_limit, options or {})
    return shifted(model, stated, records, label, how, progress)
