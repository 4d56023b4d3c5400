"""P3M where only coming too close to an original costs."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy.typing as npt

from aggopt.aggregate._by_requests import Wishing, aggregate_by_requests
from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.bounds import End
from aggopt.aggregate.distance_requests import Wanted
from aggopt.aggregate.kept_statistics import Keep
from aggopt.aggregate.registry import Aggregator
from aggopt.aggregate.shift_settings import Squared
from aggopt.aggregate.shifted_means import require_real
from aggopt.core.types import Floats, WishValues
from aggopt.models import p3m_onesided_joint
from aggopt.models.p3m_onesided import MODEL

WISHING = Wishing("p3m_onesided", MODEL, p3m_onesided_joint.MODEL)


def p3m_onesided(
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
    """Return centroids as `p3m`, with a cost only for values too close to an original.

    The model is stated in `aggopt.models.p3m_onesided`, the model of all attributes at
    once (keep = "covariance") in `aggopt.models.p3m_onesided_joint`; arguments, result
    and errors are as in `p3m`.  A demand (importance 1) is kept as a least distance;
    if it binds, the value is exactly at this distance and reveals the original, unless
    `delta` comes from `with_margins`.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> p3m_onesided(X, [0, 0, 0, 1, 1, 1], delta=0.1).certificates[0].status.value
    'optimal'
    """
    require_real(alpha, "alpha")
    options_of_solver = (solver, start, starts, seed, time_limit, options)
    wanted = Wanted(delta, importance, alpha, lower, upper, weights)
    return aggregate_by_requests(
        WISHING, X, labels, wanted, keep, response, options_of_solver, progress
    )


class P3mOnesided(Squared):
    """Settings of `aggopt.aggregate.p3m_onesided`."""

    method: Literal["p3m_onesided"]


AGGREGATOR = Aggregator(
    name="p3m_onesided",
    when="as p3m, and only a distance that is too small costs",
    rank=40,
    function=p3m_onesided,
    settings=P3mOnesided,
    certificate="what the model minimises, and what the solver proves of it",
    model=MODEL,
)
