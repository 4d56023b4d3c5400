"""Distances and importances that records request of published values."""

from typing import Any

import numpy as np

from aggopt.aggregate.categories.wish import (
    OWN,
    CategoryWish,
    require_decisive,
    require_level_distances,
)
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats
from aggopt.data.context.distance_requests import (
    require_reach,
    resolve_category_request,
    resolve_request,
)
from aggopt.data.context.weights import read_scaled_weights
from aggopt.data.parsing.categories import find_missing_entries
from aggopt.data.table import Table
from aggopt.errors import naming
from aggopt.job import Job, Shifting


def read_category_requests(job: Job, table: Table) -> dict[str, dict[str, Floats]]:
    """Return requested distances and importances of each category, by name.

    Raises
    ------
    JobError
        As `resolve_category_request`; a distance that no two levels have; or equal
        requests for unordered names, without a budget.
    """
    method = job.aggregation.categories
    if not isinstance(method, CategoryWish) or not table.domains:
        return {}
    requests: dict[str, dict[str, Floats]] = {name: {} for name in table.domains}
    for key in ("delta", "importance"):
        stated = getattr(method, key)
        if stated is None:
            continue
        for name, values in resolve_category_request(stated, table, key).items():
            requests[name][key] = values
    for name, domain in table.domains.items():
        much = requests[name]["importance"]
        far = requests[name].get("delta", np.full(len(much), OWN))
        is_present = ~find_missing_entries(table.frame[name])
        with naming(repr(name)):
            require_level_distances(far, domain)
            require_decisive(domain, far[is_present], much[is_present], method.budget)
    return requests


def list_category_requests(job: Job) -> tuple[Any, ...]:
    """Return the requested distance and importance in the job's categories."""
    method = job.aggregation.categories
    return (method.delta, method.importance) if isinstance(method, CategoryWish) else ()


def read_requests(table: Table, matrix: Floats, job: Job) -> dict[str, Floats]:
    """Return requested distances and importances of each number, (n, p).

    Empty if the aggregation does not shift; 0 for missing values.
    """
    read_category_requests(job, table)
    return read_number_requests(table, matrix, job)


def read_number_requests(table: Table, matrix: Floats, job: Job) -> dict[str, Floats]:
    """Return requested distances and importances (n, p) for the aggregation."""
    aggregation = job.aggregation
    if not isinstance(aggregation, Shifting):
        return {}
    X = matrix[:, table.places]
    weights = read_scaled_weights(table)
    is_missing = np.isnan(X)
    Z = Scale.of(X, weights).standardise(X)
    Z[is_missing] = np.nan  # of a constant attribute, too
    requests = resolve_number_requests(aggregation, table, Z)
    Z[is_missing] = 0.0
    require_reach(requests["delta"], Z, job.privacy.k, table.numeric, weights)
    return requests


def resolve_number_requests(
    aggregation: Shifting, table: Table, Z: Floats
) -> dict[str, Floats]:
    """Return requested distances and importances (n, p) from settings or columns.

    `Z` (n, p) are z-scores, nan where missing; 0 is returned for these.
    """
    is_present = ~np.isnan(Z)
    z = np.where(is_present, Z, 0.0)
    requests = {
        key: resolve_request(getattr(aggregation, key), table, z, key)
        for key in ("delta", "importance")
    }
    return {key: np.where(is_present, x, 0.0) for key, x in requests.items()}
