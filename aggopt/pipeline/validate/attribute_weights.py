"""Weights that would weigh nothing: of attributes that are grouped by themselves."""

from aggopt.core.plural import plural
from aggopt.data.table import Table
from aggopt.errors import JobError
from aggopt.job import Job
from aggopt.pipeline.prepare.attribute_blocks import Columns

TOGETHER = "several attributes together, or leave it out"


def require_weights(job: Job, table: Table, columns: Columns) -> None:
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
