"""What a job says of categories, beside the table that has some or none."""

from aggopt.aggregate._category_sections import CategoryAggregation
from aggopt.core.validation import Floats
from aggopt.encoding import Encoded
from aggopt.errors import JobError
from aggopt.input.table import Table
from aggopt.job import Job, Mean
from aggopt.pipeline.attribute_blocks import Columns


def widest(records: Floats | Encoded, columns: Columns) -> int:
    """Return how many coordinates the widest block of attributes has.

    A category has two at least: no method for one number takes it.
    """
    if not isinstance(records, Encoded):
        return max(map(len, columns))
    return max(_coordinates(records.only(block)) for block in columns)


def _coordinates(block: Encoded) -> int:
    names = any(each.categories is not None for each in block.attributes)
    return max(block.shape[1], 2 if names else 1)


def with_categories(job: Job, table: Table) -> Job:
    """Return the job with a method for the categories of a table, if it has some.

    Raises
    ------
    JobError
        It has none and the job publishes them, or nothing else and the job publishes
        numbers; or nodes of the tree of a number.
    """
    how, names = job.aggregation, job.roles.quasi_identifier
    if not table.domains:
        if how.categories is not None:
            raise JobError(
                "[aggregation.categories] says how categories are published, and every "
                "quasi-identifier is a number.",
                fix="leave the section out, or say which are categories: "
                f'kind = "nominal" under [attributes.{names[0]}].',
            )
        return job
    said = how.categories or CategoryAggregation()
    how = how.model_copy(update={"categories": said})
    if not table.numeric and how != Mean(categories=said):
        raise JobError(
            f"[aggregation] method = {how.method!r} publishes numbers, and every "
            "quasi-identifier is a category.",
            fix="leave the method and its settings out; how categories are published "
            "is said under [aggregation.categories].",
        )
    return job.model_copy(update={"aggregation": how})


def require_all_numbers(table: Table, what: str) -> None:
    """Refuse a table with categories for what is of numbers alone."""
    if table.domains:
        named = ", ".join(map(repr, table.domains))
        raise JobError(
            f"{what} is of numbers alone, and there are categories: {named}.",
            fix="mask them with `mask`; or give it the job of a table without them.",
        )


def require_numbers(job: Job, table: Table, columns: Columns) -> None:
    """Refuse a partition of one number at a time where a block has a category.

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
