"""Bounds and whole numbers that a job requires of published values."""

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.plural import plural
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError, naming
from aggopt.job import Job, Shifting
from aggopt.models import MODELS
from aggopt.models.shared.value_bounds import require_variance_range
from aggopt.pipeline.prepare.job_settings import (
    _find_kept_statistic,
    are_bounded_jointly,
)
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.pipeline.prepare.published_grid import (
    find_attribute_decimals,
    find_published_ends,
    read_bounds,
)
from aggopt.solvers import choose_solver

SPREAD = ("variance", "covariance", "regression")  # statistics that keep the variance


def require_bounds(table: Table, matrix: Floats, job: Job) -> None:
    """Refuse bounds of categories or dates, and bounds that cannot be kept.

    `matrix` (n, d) are the quasi-identifiers.

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
                x = select_present(matrix[:, job.roles.quasi_identifier.index(name)])
                require_inside(x, table, job, name)
                require_some(Scale.of(x[:, None]), len(x), table, job, name)
    aggregation = job.aggregation
    if isinstance(aggregation, Shifting) and are_bounded_jointly(job):
        choose_solver(
            aggregation.solver, *MODELS[aggregation.function].kinds, within=True
        )


def require_number(table: Table, name: str) -> None:
    """Refuse bounds of an attribute that is not numeric.

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
    below = int((x < lower).sum())
    above = int((x > upper).sum())
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
    """Refuse bounds with too few published values between, or too little variance.

    `scale` is the scale of the attribute, which has n present values.

    Raises
    ------
    JobError, InfeasibleInputError
        As `require_bounds`.
    """
    if scale.constant[0]:
        return
    place = find_attribute_decimals(table, job, name, float(scale.spread[0]))
    low, high = find_published_ends(table, job, name, place)
    if not low < high:
        raise JobError(
            "Between lower and upper there are no two values of the digits that are "
            "published.",
            fix="publish more digits, see [output], or leave a bound out.",
        )
    k = job.privacy.k
    if (
        _find_kept_statistic(job, name) in SPREAD
        and n >= 2 * k
        and not table.roles.weight
    ):
        ends = read_bounds(table, job, [name]).standardised(scale)
        sizes = np.array([k, n - k])  # no group can be farther out
        require_variance_range(sizes, float(ends.lower[0]), float(ends.upper[0]))
