"""From arguments of a user to an aggregation by a model that shifts centroids."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from aggopt.aggregate._aggregation import Aggregation, column, scale_for
from aggopt.aggregate._shifted import ShiftOptions, shifted
from aggopt.aggregate._wishes import Wish, spread
from aggopt.core.progress import require_progress
from aggopt.core.validation import labellings, matrix
from aggopt.models import Model
from aggopt.solvers import choose


def by_model(
    model: Model,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    wishes: tuple[Wish, Wish, float],
    how: tuple[Any, ...],
    progress: Callable[[float], None] | None,
) -> Aggregation:
    """Return the aggregation of X (n, d) by `model`.

    `wishes` are distances, importances and the number that weighs them; `how` are
    solver, start, starts, seed, time_limit and options.
    """
    require_progress(progress)
    records = matrix(X)
    label = labellings(labels, *records.shape)
    scale = scale_for(records, label)
    Z = scale.standardise(records)
    delta, importance, weight = wishes
    asked = spread(delta, Z, "delta")
    insisted = spread(importance, Z, "importance")

    def stated(j: int) -> Any:
        x, own, d, w = (column(v, j) for v in (Z, label, asked, insisted))
        return model.data(x, own, d, w, weight)

    solver, start, starts, seed, time_limit, options = how
    chosen = choose(solver, *model.kinds)
    settings = ShiftOptions(chosen, start, starts, seed, time_limit, options or {})
    return shifted(model, stated, scale, label, settings, progress)
