"""Centroids shifted away from the originals, mean and variance kept."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy.typing as npt

from aggopt.aggregate._by_requests import Wishing, aggregate_by_requests
from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.bounds import End
from aggopt.aggregate.distance_requests import Wanted
from aggopt.aggregate.kept_statistics import Keep
from aggopt.aggregate.registry import Aggregator
from aggopt.aggregate.shift_settings import TEMPLATE, Squared
from aggopt.aggregate.shifted_means import require_real
from aggopt.core.types import Floats, WishValues
from aggopt.models import p3m_joint
from aggopt.models.p3m import MODEL

WISHING = Wishing("p3m", MODEL, p3m_joint.MODEL)


def p3m(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: WishValues = 0.1,
    importance: WishValues = 0.001,
    alpha: float = 0.5,
    lower: End = None,
    upper: End = None,
    weights: npt.ArrayLike | None = None,
    keep: Keep = "variance",
    response: npt.ArrayLike | None = None,
    solver: str | None = None,
    start: str | Floats | Aggregation | None = None,
    starts: int = 0,
    seed: int | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return centroids shifted away from the originals, mean and variance kept.

    The model is stated in `aggopt.models.p3m`.  It is not convex, but its own method,
    the default solver, proves the quality of its solution: every certificate has a
    bound.  Local solvers find a local optimum and prove nothing.

    Parameters
    ----------
    X : (n, d)
        Records, original units.
    labels : (n,) or (n, d)
        Group of each record, 0..m-1, for all attributes or for each of them; at
        least two groups.
    delta
        Requested distance between a record's value and the published one, in standard
        deviations: a number, one per attribute (d,), or (n, d); or {"relative": r} for
        r |z|, z the record's z-score.
    importance
        Weight of the request, from 0 to 1 (a demand: the distance is then exact): a
        number, (d,) or (n, d).  A value at an exact distance reveals the original to an
        attacker who knows or guesses delta, because the standard deviation is
        published: pass `with_margins(X, labels, delta)`, as `aggopt.mask` does.
    alpha
        Weight of the distances against the shifts, in [0, 1].  At 0 the result is
        the renormalised mean.
    lower, upper
        Least and largest published value, in the attribute's unit: a number, or one per
        attribute (d,), -inf or inf for no bound.  They are constraints of the model,
        and proofs refer to the program with them.  Originals must be between them.
    weights : (n,)
        Sampling weights, above 0, of any scale: means, variances, covariances, standard
        deviations and the cost of a shift are weighted.  The request of a record is
        unweighted and counts once.
    keep
        "variance": the mean and variance of each attribute, which is solved separately.
        "covariance": also every covariance and correlation; all attributes are one
        program, `aggopt.models.p3m_joint`.  Its own solver, "stiefel", is local, with a
        bound; the certificate is of all attributes that vary.  A table sets it by
        column, each column once: {"covariance": [0, 2], "variance": [1]}, where
        "covariance" may be several lists of columns, each a program of its own.
        {"regression": [0, 2]} keeps the covariance of these columns, and their
        covariances with `response`.  This keeps the coefficients of its regression on
        them.
    response : (n,)
        The response of a regression, which is published unchanged with the attributes.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes the model: "lagrangian"
        (global, the default), or "ipopt", "cvxpy:uno", "pyomo:ripopt" and others.
    start, starts, seed
        Of a local solver: its start, "means" (group means), "renormalised" (the result
        of `mean` with this `keep`), "lagrangian", centroids (m, d) in the original
        units, or an earlier `Aggregation` of these groups; the number of additional
        random starts; and their seed.  The result never costs more than given feasible
        centroids: if no better ones are found, they are kept.
    time_limit
        Seconds per attribute; when omitted, 600 for a solver such as SCIP that branches
        and might never end, none for others, which end by themselves.
    options
        Passed to the solver under its own names; the Lagrangian method's are gap_tol
        (1e-6) and nodes, the number of parts of the program to search; those of
        `stiefel` (keep = "covariance") rounds, the largest number of further local
        minima to search (1 to 8, by the size), and gap_tol (1e-3), the gap at which one
        is enough.
    progress
        Called with the share of attributes done.

    Returns
    -------
    Aggregation
        One certificate per attribute, in standardised units.  If a solve fails, or
        stops at a limit with nothing better, the attribute has its renormalised means,
        which keep mean and variance.  The certificate's status reports this, and its
        figures refer to the returned values.  A constant attribute is returned
        unchanged.

    Raises
    ------
    TableError, JobError
        An argument cannot be used; originals are beyond lower or upper; with keep =
        "covariance" the solver keeps no bounds, as "stiefel".
    InfeasibleInputError
        One group only, no values within the bounds that keep the variance, or demands
        within a group that contradict each other or the bounds; for the covariance no
        more groups than linearly independent attributes, or demands within a group that
        contradict it; for a regression fewer than two more groups, or groups that have
        lost too much of the response.
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
    require_real(alpha, "alpha")
    options_of_solver = (solver, start, starts, seed, time_limit, options)
    wanted = Wanted(delta, importance, alpha, lower, upper, weights)
    return aggregate_by_requests(
        WISHING, X, labels, wanted, keep, response, options_of_solver, progress
    )


class P3m(Squared):
    """Settings of `aggopt.aggregate.p3m`."""

    two_sided: ClassVar[bool] = True
    method: Literal["p3m"]


AGGREGATOR = Aggregator(
    name="p3m",
    when="values moved away from the originals by the distance asked",
    rank=30,
    function=p3m,
    settings=P3m,
    certificate="what the model minimises, and what the solver proves of it",
    model=MODEL,
    template=TEMPLATE,
)
