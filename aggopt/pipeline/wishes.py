"""What records wish of published numbers: how far away, and how much it matters."""

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.input.table import Table
from aggopt.input.weights import known_in
from aggopt.input.wishes import require_reach, require_read, resolved
from aggopt.job import Job, Shifting
from aggopt.pipeline.category_job import wishes_of_categories, wishes_stated


def wishes_of(table: Table, whole: Floats, job: Job) -> dict[str, Floats]:
    """Return what records (n, d) ask for of each number, (n, p) each.

    Nothing if nothing shifts; 0 of what is missing.
    """
    wishes_of_categories(job, table)
    require_all_read(job)
    return wishes_of_numbers(table, whole, job)


def require_all_read(job: Job) -> None:
    """Refuse columns with the role wish that nothing in [aggregation] reads."""
    how = job.aggregation
    own = (how.delta, how.importance) if isinstance(how, Shifting) else ()
    require_read(job.roles.wish, *own, *wishes_stated(job))


def wishes_of_numbers(table: Table, whole: Floats, job: Job) -> dict[str, Floats]:
    """Return the arguments of the aggregation of numbers that wishes are, by name."""
    how = job.aggregation
    if not isinstance(how, Shifting):
        return {}
    X = whole[:, table.places]
    there = ~np.isnan(X)
    weights = known_in(table)
    Z = np.where(there, Scale.of(X, weights).standardise(X), 0.0)
    delta = np.where(there, resolved(how.delta, table, Z, "delta"), 0.0)
    require_reach(delta, Z, job.privacy.k, table.numeric, weights)
    importance = resolved(how.importance, table, Z, "importance")
    return {"delta": delta, "importance": np.where(there, importance, 0.0)}
