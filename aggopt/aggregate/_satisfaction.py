"""Keep as many values at the requested distance as is worth their shifts."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy.typing as npt
from pydantic import Field

from aggopt.aggregate._by_requests import Wishing, aggregate_by_requests
from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.bounds import End
from aggopt.aggregate.distance_requests import Wanted
from aggopt.aggregate.distance_requests import Wish as WishSection
from aggopt.aggregate.kept_statistics import Keep
from aggopt.aggregate.registry import Aggregator
from aggopt.aggregate.shift_settings import Shifting
from aggopt.aggregate.shifted_means import require_real
from aggopt.core.types import WishValues
from aggopt.models import satisfaction_joint
from aggopt.models.satisfaction import MODEL

WISHING = Wishing("satisfaction", MODEL, satisfaction_joint.MODEL)


def satisfaction(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    delta: WishValues = 0.1,
    importance: WishValues = 1.0,
    price: float = 1.0,
    lower: End = None,
    upper: End = None,
    weights: npt.ArrayLike | None = None,
    keep: Keep = "variance",
    response: npt.ArrayLike | None = None,
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return centroids at the requested distance from as many records as possible.

    The model is stated in `aggopt.models.satisfaction`: it counts, by importance, the
    values that are at least `delta` away, against `price` for each squared standard
    deviation of shift of a record.  Arguments, result and errors are as in `p3m`;
    importance weighs, and demands nothing.  With keep = "covariance" all attributes are
    one program, `aggopt.models.satisfaction_joint`, solved by a local search,
    "stiefel", with a bound.

    The optimum is exactly at the requested distance from a record of nearly each group,
    and so reveals that original.  Publish only values made with a `delta` from
    `with_margins`, as `aggopt.mask` does.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> masked = satisfaction(X, [0, 0, 0, 1, 1, 1], delta=0.1)
    >>> masked.certificates[0].violation < 1e-9
    True
    """
    require_real(price, "price")
    options_of_solver = (solver, None, 0, None, time_limit, options)
    wanted = Wanted(delta, importance, price, lower, upper, weights)
    return aggregate_by_requests(
        WISHING, X, labels, wanted, keep, response, options_of_solver, progress
    )


class Satisfaction(Shifting):
    """Settings of `aggopt.aggregate.satisfaction`."""

    method: Literal["satisfaction"]
    importance: WishSection = 1.0
    price: float = Field(default=1.0, gt=0, allow_inf_nan=False, strict=True)


AGGREGATOR = Aggregator(
    name="satisfaction",
    when="as many values at the distance asked as possible",
    rank=50,
    function=satisfaction,
    settings=Satisfaction,
    certificate="what the model minimises, and what the solver proves of it",
    model=MODEL,
    template="# price = 1.0            # satisfaction: of one squared deviation",
)
