"""Weights that would weigh nothing: of attributes that are grouped by themselves."""

from aggopt.core.plural import plural
from aggopt.data.table import Table
from aggopt.errors import JobError
from aggopt.job import Job
from aggopt.partition.registry import PARTITIONERS, AttributeUse
from aggopt.pipeline.prepare.job_settings import Columns

TOGETHER = "several attributes together, or leave it out"


def require_effective_weights(job: Job, table: Table, columns: Columns) -> None:
    """Refuse a weight of an attribute that is grouped with no other.

    Raises
    ------
    JobError
        `weight` of an attribute that is grouped separately, or `weights` although every
        category is.
    """
    names = job.roles.quasi_identifier
    alone = [names[block[0]] for block in columns if len(block) == 1]
    for name in alone:
        if name in job.attributes and job.attributes[name].weight != 1:
            raise JobError(
                f"[attributes.{name}] weight is of distances beside those of other "
                f"attributes, and {name!r} is grouped by itself.",
                fix=f"group {TOGETHER}.",
            )
    if job.partition.weights == "variance" or len(alone) < len(columns):
        return
    if all(name in table.domains for name in alone):
        raise JobError(
            '[partition] weights = "range" is of attributes beside each other, and '
            f"{plural(len(alone), 'category', 'categories')} of the job "
            f"{'is' if len(alone) == 1 else 'are'} grouped each by itself.",
            fix=f"group {TOGETHER}.",
        )


def require_one_at_a_time(job: Job, blocks: Columns) -> None:
    """Refuse several attributes in one block for a method that takes one.

    Raises
    ------
    JobError
        The message has the method and how many are grouped together.
    """
    method = job.partition.method
    largest = max(map(len, blocks))
    if PARTITIONERS.of(job.partition).takes is AttributeUse.ONE and largest > 1:
        raise JobError(
            f"{method} takes one attribute, and the job groups {largest} together.",
            fix="group one attribute at a time, with method = "
            '"individual_ranking" or attributes = "one by one", which takes scope = '
            '"blocks" under [privacy]; or all together, with method = "projection" or '
            '"mhm".',
        )


def require_scope(job: Job, blocks: Columns) -> None:
    """Refuse several blocks where k is of the combination of all quasi-identifiers.

    Raises
    ------
    JobError
        k would hold within each block alone.
    """
    method, d = job.partition.method, len(job.roles.quasi_identifier)
    if len(blocks) > 1 and job.privacy.scope == "combination":
        raise JobError(
            f"{method} is to group {d} quasi-identifiers in {len(blocks)} blocks, each "
            f"by itself. k = {job.privacy.k} then holds within each block, and not for "
            "the combination of all of them, which the job promises.",
            fix='promise less, with scope = "blocks" under [privacy] (a record '
            "may then be unique with its combination); or group all together, with "
            f"{_suggest_grouping(job)}.",
        )


def _suggest_grouping(job: Job) -> str:
    if PARTITIONERS.of(job.partition).takes is not AttributeUse.SEVERAL:
        return 'method = "mdav", "mhm" or another that takes several attributes'
    return 'attributes = "together" under [partition]'


def require_numeric_blocks(job: Job, table: Table, columns: Columns) -> None:
    """Refuse a partition of one number at a time if a block has a category.

    Raises
    ------
    JobError
        The message names the method and the attribute.
    """
    if job.partition.function != "univariate":
        return
    names = job.roles.quasi_identifier
    grouped = [names[j] for block in columns for j in block]
    for name in filter(table.domains.__contains__, grouped):
        raise JobError(
            f"{job.partition.method} orders numbers, and {name!r} is "
            f"{table.domains[name].kind}.",
            fix='choose method = "mdav", "local_search" or another that takes several '
            "attributes.",
        )
