"""Bounds and whole numbers that a job requires of published values."""

from inspect import signature
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.aggregate import AGGREGATORS
from aggopt.aggregate.kept_statistics import Keeping, KeptApart
from aggopt.aggregate.user_model import ByModel
from aggopt.core.plural import plural
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError, naming
from aggopt.job import Job, Shifting
from aggopt.models import MODELS
from aggopt.models.shared.value_bounds import require_variance
from aggopt.pipeline.aggregate.by_stratum import is_aggregated_by_stratum
from aggopt.pipeline.finish.rounding import decimals_of_attribute
from aggopt.pipeline.partition.partitioned_table import PartitionedTable, present_values
from aggopt.pipeline.validate.published_grid import published_ends, read_bounds
from aggopt.solvers import choose

SPREAD = ("variance", "covariance", "regression")  # statistics that keep the variance


def require_bounds(table: Table, whole: Floats, job: Job) -> None:
    """Refuse bounds of categories or dates, and bounds that cannot be kept.

    `whole` (n, d) are the quasi-identifiers.

    Raises
    ------
    JobError
        An attribute is a category or dates; fewer than two values with the digits of
        the job are within; or the named solver does not support bounds.
    TableError
        Originals are beyond a bound.
    InfeasibleInputError
        No groups of k keep the variance within them.
    """
    for name, section in job.attributes.items():
        if section.limited:
            with naming(repr(name)):
                require_number(table, name)
                x = present_values(whole[:, job.roles.quasi_identifier.index(name)])
                require_inside(x, table, job, name)
                require_some(Scale.of(x[:, None]), len(x), table, job, name)
    how = job.aggregation
    if isinstance(how, Shifting) and are_bounded_jointly(job):
        choose(how.solver, *MODELS[how.function].kinds, within=True)


def are_bounded_jointly(job: Job) -> bool:
    """Whether attributes with bounds are solved together, their covariance kept."""
    return any(
        section.bounded
        for name, section in job.attributes.items()
        if _kept_of(job, name) == "covariance"
    )


def bound_arguments(given: PartitionedTable) -> dict[str, Any]:
    """Return the bounds as arguments of the job's aggregation, if it takes them.

    Those of a model of the user's are standardised, as its records are; where these are
    standardised in each stratum, it gets none.
    """
    job, names = given.job, given.names
    bounds = read_bounds(given.table, job, names)
    own = isinstance(job.aggregation, ByModel)
    if not bounds.there or (
        own and given.strata is not None and is_aggregated_by_stratum(job)
    ):
        return {}
    if isinstance(job.aggregation, ByModel):
        bounds = bounds.standardised(Scale.of(given.X))
        takes = set(job.aggregation.program.takes.settings)
    else:
        takes = set(signature(AGGREGATORS.of(job.aggregation).function).parameters)
    return {side: end for side, end in bounds._asdict().items() if side in takes}


def _kept_of(job: Job, name: str) -> str | None:
    """Return the statistic that is kept of an attribute."""
    how = job.aggregation
    if not isinstance(how, Keeping):
        return None
    if not isinstance(how.keep, KeptApart):
        return how.keep
    return next((what for what, names in how.keep.parts if name in names), None)


def require_number(table: Table, name: str) -> None:
    """Refuse bounds of an attribute that is not a number.

    Raises
    ------
    JobError
        An attribute is a category, dates or truth values.
    """
    truth = table.frame[name].dtype == nw.Boolean
    if truth or name in table.domains or name in table.clocks:
        raise JobError(
            "[attributes] says lower, upper or integer of what is no number.",
            fix='leave them out; or write kind = "numeric" if the values are numbers.',
        )


def require_inside(x: Floats, table: Table, job: Job, name: str) -> None:
    """Refuse originals x (n,) beyond the bounds of an attribute.

    Raises
    ------
    TableError
        The message has how many they are.
    """
    section = job.attributes[name]
    lower, upper = (float(end[0]) for end in read_bounds(table, job, [name]))
    below, above = int((x < lower).sum()), int((x > upper).sum())
    wrong = []
    if below:
        wrong.append(f"{plural(below, 'original')} below lower = {section.lower:g}")
    if above:
        wrong.append(f"{plural(above, 'original')} above upper = {section.upper:g}")
    if wrong:
        raise TableError(
            f"The bounds are not of these values: {' and '.join(wrong)}.",
            fix="correct these values, or say what the attribute can really be.",
        )


def require_some(scale: Scale, n: int, table: Table, job: Job, name: str) -> None:
    """Refuse bounds that contain no values, or none far enough apart.

    `scale` is the scale of the attribute, which has n present values.

    Raises
    ------
    JobError, InfeasibleInputError
        As `require_bounds`.
    """
    if scale.constant[0]:
        return
    place = decimals_of_attribute(table, job, name, float(scale.spread[0]))
    low, high = published_ends(table, job, name, place)
    if not low < high:
        raise JobError(
            "Between lower and upper there are no two values of the digits that are "
            "published.",
            fix="publish more digits, see [output], or leave a bound out.",
        )
    k = job.privacy.k
    if _kept_of(job, name) in SPREAD and n >= 2 * k and not table.roles.weight:
        ends = read_bounds(table, job, [name]).standardised(scale)
        sizes = np.array([k, n - k])  # no group can be farther out
        require_variance(sizes, float(ends.lower[0]), float(ends.upper[0]))
