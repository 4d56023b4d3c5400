"""Centroids shifted away from the originals, mean and variance kept."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy.typing as npt

from aggopt.aggregate._aggregation import Aggregation
from aggopt.aggregate._bounds import End
from aggopt.aggregate._kept_apart import Keep
from aggopt.aggregate._registry import Aggregator
from aggopt.aggregate._shifted import require_number
from aggopt.aggregate._shifting import TEMPLATE, Squared
from aggopt.aggregate._wished import Wishing, by_wishes
from aggopt.aggregate._wishes import Wanted, Wish
from aggopt.core.renamed import renamed
from aggopt.core.validation import Floats
from aggopt.models import p3m_joint
from aggopt.models.p3m import MODEL

WISHING = Wishing("p3m", MODEL, p3m_joint.MODEL)


@renamed(seconds="time_limit")
def p3m(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: Wish = 0.1,
    importance: Wish = 0.001,
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
    lower, upper
        Least and largest value that may be published, in the attribute's unit: a
        number, or one per attribute (d,), -inf or inf where there is none.  They are
        constraints of the model, and what is proven is of the program that has them.
        Originals must lie between them.
    weights : (n,)
        Sampling weights, above 0, of any scale: means, variances, covariances, standard
        deviations and the cost of a shift are weighted.  What a record asks for is its
        own and counts once.
    keep
        "variance": the mean and variance of each attribute, which is solved by itself.
        "covariance": those, and every covariance and correlation; all attributes are
        one program, `aggopt.models.p3m_joint`.  Its own solver, "stiefel", is local,
        with a bound; the certificate is of all attributes that vary.  A table says it
        by columns, each of them once: {"covariance": [0, 2], "variance": [1]}, where
        "covariance" may be several lists of columns, each a program of its own.
        {"regression": [0, 2]} keeps the covariance of these columns, and theirs with
        `response`: so the coefficients of its regression on them.
    response : (n,)
        Of a regression: what is published beside the attributes as it is.
    solver
        A name of `aggopt.solvers.SOLVERS` that takes the model: "lagrangian"
        (global, the default), or "ipopt", "cvxpy:uno", "pyomo:ripopt" and others.
    start, starts, seed
        Of a local solver: where it sets out, "means" (group means), "renormalised"
        (those of `mean` with the same `keep`),
        "lagrangian", centroids (m, d) in the original units, or an earlier
        `Aggregation` of the same groups; how many random starts it tries besides; and
        their seed.  What is published never costs more than centroids that were given
        and are feasible: where nothing better is found, these are kept.
    time_limit
        Seconds per attribute; when omitted, 600 for a solver such as SCIP that branches
        and might never end, none for others, which end by themselves.
    options
        Handed to the solver under its own names; the Lagrangian method's are gap_tol
        (1e-6) and nodes, how many parts of the program it looks at; those of `stiefel`
        (keep = "covariance") rounds, how many more local minima it seeks at most (1 to
        8, by the size), and gap_tol (1e-3), the gap at which one is enough.
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
        An argument cannot be used; originals lie beyond lower or upper; with
        keep = "covariance" the solver keeps no bounds, as "stiefel".
    InfeasibleInputError
        One group only, no values within the bounds that keep the variance, or demands
        within a group that contradict each other or the bounds; for the covariance no
        more groups than linearly independent attributes, or demands within a group
        that no values meet which keep it; for a regression not one group more besides,
        or groups have lost too much of the response.
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
    require_number(alpha, "alpha")
    how = (solver, start, starts, seed, time_limit, options)
    wanted = Wanted(delta, importance, alpha, lower, upper, weights)
    return by_wishes(WISHING, X, labels, wanted, keep, response, how, progress)


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
