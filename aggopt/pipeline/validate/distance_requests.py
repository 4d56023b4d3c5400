"""Distances that records request of published numbers, and their importance."""

from collections.abc import Sequence

import numpy as np

from aggopt.aggregate.aggregation import get_column
from aggopt.core.types import Floats, Labels
from aggopt.data.context.distance_requests import require_read
from aggopt.errors import InfeasibleInputError, naming
from aggopt.job import Job, Shifting
from aggopt.models import p3m
from aggopt.pipeline.prepare.record_requests import list_category_requests


def require_all_read(job: Job) -> None:
    """Refuse columns with the role wish that nothing in [aggregation] reads."""
    aggregation = job.aggregation
    requests = (
        (aggregation.delta, aggregation.importance)
        if isinstance(aggregation, Shifting)
        else ()
    )
    require_read(job.roles.wish, *requests, *list_category_requests(job))


def require_agreement(
    names: Sequence[str],
    Z: Floats,
    labels: Labels,
    importance: Floats,
    distances: Floats,
    with_margins: Floats,
    weights: Floats | None,
) -> None:
    """Refuse exact distances in a group that contradict each other with margins.

    `Z` (n, p) are z-scores, and `labels` (n,) or (n, p) the groups.  `importance`,
    `distances` and `with_margins` (n, p) are the requests of the records.

    Raises
    ------
    InfeasibleInputError
        Demands of a group contradict each other, with their margins or without them.
    """
    for j, name in enumerate(names):
        z = Z[:, j]
        is_demand = importance[:, j] == 1
        if np.nanmin(z) == np.nanmax(z) or not is_demand.any():
            continue
        rows = np.flatnonzero(~np.isnan(z))
        groups = np.unique(get_column(labels, j)[rows], return_inverse=True)[1]
        asks = importance[rows, j]
        with naming(repr(name)):
            try:
                p3m.Data(
                    z[rows], groups, with_margins[rows, j], asks, 0.5, weights=weights
                )
                continue
            except InfeasibleInputError:
                p3m.Data(
                    z[rows], groups, distances[rows, j], asks, 0.5, weights=weights
                )
            raise InfeasibleInputError(
                "Demands (importance 1) within a group agree on one published value, "
                "below some of them and above others: with a margin beyond each "
                "distance they do not, and without one that value gives the originals "
                "away.",
                fix="lower the importance of some of their records below 1, group "
                "those with the same demands together, or, if that is acceptable, "
                "set margin = 0 under [aggregation].",
            )
