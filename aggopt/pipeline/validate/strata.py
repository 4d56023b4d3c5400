"""Refusals of strata that a job cannot keep."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import Bool, Floats
from aggopt.data.context.confidential import Confidential, list_requirements
from aggopt.data.context.strata import RecordStrata
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.job import Job
from aggopt.partition.registry import PARTITIONERS, ConfidentialUse
from aggopt.pipeline.prepare.job_settings import is_aggregated_by_stratum
from aggopt.pipeline.validate.privacy_guarantees import require_plain_repair
from aggopt.solvers.solver_log import is_logged


def require_within(job: Job) -> None:
    """Refuse a job whose methods cannot make groups within strata.

    Raises
    ------
    JobError
        Its method looks at confidential values of all records, or at whole numbers; its
        repair exchanges records wherever they are; or several processes are to keep one
        log of solvers.
    """
    if not job.within:
        return
    method = PARTITIONERS.of(job.partition)
    if method.confides is not ConfidentialUse.NONE:
        raise JobError(
            f"{method.name} looks at confidential values of all records together, and "
            "groups are made within strata.",
            fix='choose method = "mdav" or another, with repair = "merge" under '
            "[privacy].",
        )
    require_plain_repair(job, "is not made within strata.")
    if job.strata.jobs > 1 and is_logged():
        raise JobError(
            f"[strata] jobs = {job.strata.jobs}, and a log of solvers is kept, which "
            "is of one process.",
            fix="set jobs = 1, or keep no log.",
        )
    if getattr(job.partition, "centroids", None) == "integer":
        raise JobError(
            'centroids = "integer" is of values in their own units, and within strata '
            "distances are measured in standard deviations of all records.",
            fix="leave centroids out under [partition].",
        )


def require_values_in_strata(
    table: Table, matrix: Floats, job: Job, strata: RecordStrata | None
) -> None:
    """Refuse strata with too few present values of an attribute.

    Raises
    ------
    InfeasibleInputError
        Missing values are to be filled, and fewer than k values are present; or the
        variance is to be kept in each stratum, and at least one but fewer than 2k are
        present.
    """
    if strata is None or not np.isnan(matrix).any():
        return
    k = job.privacy.k
    fill = job.missing.policy == "fill"
    twice = "variance" in job.aggregation.keeps and is_aggregated_by_stratum(job)
    for name, x in zip(job.roles.quasi_identifier, matrix.T, strict=True):
        count = np.bincount(strata.labels, ~np.isnan(x))
        needed = 2 * k if twice and name not in table.domains else k * fill
        few = count < needed
        few &= fill | (count > 0)  # an attribute without any value is not filled
        require_none_of(few, name, needed, k)


def require_none_of(few: Bool, name: str, needed: int, k: int) -> None:
    """Refuse an attribute with too few present values in some strata (s,).

    Raises
    ------
    InfeasibleInputError
        The message has the number of these strata and the number of values needed.
    """
    if few.any():
        raise InfeasibleInputError(
            f"{name!r} has fewer than {needed} values that are not missing in "
            f"{few.sum()} of {plural(len(few), 'stratum', 'strata')}, with k = {k}"
            f"{' and its variance to be kept in each' if needed > k else ''}.",
            fix="drop it, as identifier, choose a smaller k, or fewer columns as "
            "stratum.",
        )


def require_satisfiable_strata(
    confidential: Sequence[Confidential], strata: RecordStrata | None, repair: bool
) -> None:
    """Refuse strata that violate a requirement even as one group each.

    Raises
    ------
    InfeasibleInputError
        A stratum, taken as one group, breaks what groups within it would, too.
    """
    if strata is None or not repair:
        return
    for requirement in (
        requirement
        for requirement in list_requirements(confidential)
        if requirement.additive
    ):
        check = requirement.check(strata.labels)
        if not check.holds:
            raise InfeasibleInputError(
                "Within strata no groups keep what is promised: "
                f"{check.promise} {check.sign} {check.asked:g} of {check.attribute!r} "
                f"is not kept by {check.broken} of "
                f"{plural(check.groups, 'stratum', 'strata')}, each taken as one "
                "group.",
                fix=LESS,
            )


LESS = (
    "promise less of confidential values, choose fewer columns as stratum, or "
    'small = "merge" under [strata] with a larger k.'
)


def require_two_groups_per_stratum(job: Job, strata: RecordStrata | None) -> None:
    """Refuse strata of one group if each stratum's variance is to be kept.

    Raises
    ------
    InfeasibleInputError
        The message has their number.
    """
    if strata is None or not is_aggregated_by_stratum(job):
        return
    sizes = strata.sizes
    k = job.privacy.k
    few = sizes[sizes < 2 * k]
    if "variance" in job.aggregation.keeps and few.size:
        raise InfeasibleInputError(
            f"{len(few)} of {plural(len(sizes), 'stratum', 'strata')} "
            f"{'has' if len(few) == 1 else 'have'} fewer than 2k = {2 * k} records, "
            f"{plural(int(few.sum()), 'record')} in all: they make one group each, and "
            "one value cannot keep a variance.",
            fix='set keep = "overall" under [strata], which keeps the variance of all '
            "records together; or choose a smaller k, fewer columns as stratum, or "
            "aggregate by the mean as it is.",
        )
