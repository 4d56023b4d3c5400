"""Distances that records request of published numbers, and their importance."""

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.data.context.distance_requests import (
    require_reach,
    require_read,
    resolve_request,
)
from aggopt.data.context.weights import read_scaled_weights
from aggopt.data.table import Table
from aggopt.job import Job, Shifting
from aggopt.pipeline.validate.categories import category_requests, stated_requests


def read_requests(table: Table, whole: Floats, job: Job) -> dict[str, Floats]:
    """Return the requests of records (n, d) for each number, (n, p) each.

    Empty if the aggregation does not shift; 0 for missing values.
    """
    category_requests(job, table)
    require_all_read(job)
    return number_requests(table, whole, job)


def require_all_read(job: Job) -> None:
    """Refuse columns with the role wish that nothing in [aggregation] reads."""
    how = job.aggregation
    own = (how.delta, how.importance) if isinstance(how, Shifting) else ()
    require_read(job.roles.wish, *own, *stated_requests(job))


def number_requests(table: Table, whole: Floats, job: Job) -> dict[str, Floats]:
    """Return the arguments of the aggregation of numbers that wishes are, by name."""
    how = job.aggregation
    if not isinstance(how, Shifting):
        return {}
    X = whole[:, table.places]
    there = ~np.isnan(X)
    weights = read_scaled_weights(table)
    Z = np.where(there, Scale.of(X, weights).standardise(X), 0.0)
    delta = np.where(there, resolve_request(how.delta, table, Z, "delta"), 0.0)
    require_reach(delta, Z, job.privacy.k, table.numeric, weights)
    importance = resolve_request(how.importance, table, Z, "importance")
    return {"delta": delta, "importance": np.where(there, importance, 0.0)}
