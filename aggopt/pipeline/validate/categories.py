"""Check a job's settings of categories against the attributes of its table."""

from typing import Any, cast

import numpy as np

from aggopt.aggregate import CATEGORY_AGGREGATORS
from aggopt.aggregate.categories.frequencies import Frequencies
from aggopt.aggregate.categories.kept_combinations import (
    read_slack_or_price,
    require_near,
)
from aggopt.aggregate.categories.plurality import Plurality, require_nodes
from aggopt.aggregate.categories.registry import CategorySection
from aggopt.aggregate.categories.wish import (
    OWN,
    CategoryWish,
    require_choice,
    require_reach,
)
from aggopt.core.plural import plural
from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.data.context.distance_requests import resolve_category_request
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.parsing.categories import find_missing_entries, find_nodes
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.errors import InfeasibleInputError, JobError, naming
from aggopt.job import Job, Mean
from aggopt.partition._in_blocks import select_block
from aggopt.partition.neighbours import RecordPlaces
from aggopt.pipeline.prepare.attribute_blocks import Columns
from aggopt.pipeline.validate.cross_table_columns import require_cross_table_columns


def count_widest_block(records: Floats | Encoded, columns: Columns) -> int:
    """Return how many coordinates the widest block of attributes has.

    A category has two at least: no method for one number takes it.
    """
    if not isinstance(records, Encoded):
        return max(map(len, columns))
    return max(_coordinates(records.only(block)) for block in columns)


def count_most_distinct(records: Floats | Encoded, columns: Columns) -> int:
    """Return the largest number of distinct records in a block of attributes."""
    parts = (select_block(records, block) for block in columns)
    return max(len(RecordPlaces.of(np.asarray(part)).rows) for part in parts)


def _coordinates(block: Encoded) -> int:
    names = any(each.categories is not None for each in block.attributes)
    return max(block.shape[1], 2 if names else 1)


def set_category_method(job: Job, table: Table) -> Job:
    """Return the job with a method for the categories of a table, if it has some.

    Raises
    ------
    JobError
        As `set_unchecked_category_method`; or as `require_published`.
    InfeasibleInputError
        A level of fewer than k records is to be published as often as in the originals.
    """
    made = set_unchecked_category_method(job, table)
    if table.domains:
        for require in CATEGORY_CHECKS:
            require(made, table)
    return made


def set_unchecked_category_method(job: Job, table: Table) -> Job:
    """Return the job with a method for the categories of a table, none of it checked.

    Raises
    ------
    JobError
        It has none and the job publishes them, or nothing else and the job publishes
        numbers.
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
    said = how.categories or Plurality()
    how = how.model_copy(update={"categories": said})
    if not table.numeric and how != Mean(categories=said):
        raise JobError(
            f"[aggregation] method = {how.method!r} publishes numbers, and every "
            "quasi-identifier is a category.",
            fix="leave the method and its settings out; how categories are published "
            "is said under [aggregation.categories].",
        )
    return job.model_copy(update={"aggregation": how})


def require_published(job: Job, table: Table) -> None:
    """Refuse nodes if the method publishes levels, or a tree has duplicate names.

    Raises
    ------
    JobError
        The message names the attribute, and the methods that publish nodes.
    """
    said = cast(CategorySection, job.aggregation.categories)
    occurring = getattr(said, "occurring", False)
    nodes = CATEGORY_AGGREGATORS[said.method].nodes and not occurring
    how = "occurring = true" if occurring else f"method = {said.method!r}"
    other = f'choose method = "plurality"{" without occurring" if occurring else ""}'
    for name, domain in table.domains.items():
        publish = publishable_nodes(job, name)
        if publish != "leaf" and not nodes:
            raise JobError(
                f"[aggregation.categories] {how} publishes levels, and "
                f"[attributes.{name}] asks for publish = {publish!r}.",
                fix=f'set publish = "leaf" there; or {other}, which publishes nodes, '
                "under [aggregation.categories].",
            )
        with naming(f"[attributes.{name}]"):
            require_nodes(domain, publish)


def require_counts(job: Job, table: Table) -> None:
    """Refuse a slack that no choice of levels for groups of k records can keep.

    A level is published for no record, or for k or more.  A level of fewer records
    needs a slack of its number of records, or of the number lacking to k.  For
    combinations of levels, which are counted separately, only a slack of 0 implies this
    for levels.

    Sums of weights have no gap of this kind and are left to the solver.

    Raises
    ------
    InfeasibleInputError
        A level of some attribute can be published neither for no record nor for k.
    JobError
        Sums of unequal weights are to be kept to the last digit.
    """
    said, k = job.aggregation.categories, job.privacy.k
    if not isinstance(said, Frequencies):
        return
    beside = bool(said.with_)
    slack, _ = read_slack_or_price(said.slack, said.price, many_cells=beside)
    sampling = read_sampling_weights(table)
    if slack is None:
        return
    if sampling is not None and sampling.known is not None:
        require_near(slack, weighted=True)
        return
    crossed = {name for names in said.cross for name in names}
    for name, domain in table.domains.items():
        if slack and (beside or name in crossed):
            continue
        codes = find_nodes(table.frame[name], domain)
        if name in table.kept:
            codes = codes[~find_missing_entries(table.frame[name])]
        count = np.bincount(codes)
        count = count[count > 0]
        with naming(repr(name)):
            require_possible(count, k, slack)


def require_possible(count: I64, k: int, slack: float) -> None:
    """Refuse counts (m,) of levels that no groups of k or more can approximate.

    Raises
    ------
    InfeasibleInputError
        The message has a sufficient slack.
    """
    price = "or leave slack out and name a price, where the method takes one"
    how = f"within slack = {slack:g} of as often" if slack else "just as often"
    lacking = np.minimum(count, k - count)  # to none, or to k
    few = int((lacking > slack).sum())
    if few:
        raise InfeasibleInputError(
            f"{plural(few, 'level')} of {len(count)} have fewer than k = {k} records, "
            f"and cannot be published {how}.",
            fix=f"allow a slack of {plural(int(lacking.max()), 'record')} or more, "
            f"{price}, under [aggregation.categories].",
        )
    least = np.where(count <= slack, 0, np.maximum(count - slack, k)).sum()
    most = np.where(count + slack >= k, count + slack, 0).sum()
    if not least <= count.sum() <= most:
        raise InfeasibleInputError(
            f"{len(count)} levels cannot all be published {how} by groups of k = {k} "
            f"records: of {count.sum()} records, those have {least:g} to {most:g}.",
            fix=f"allow a larger slack, {price}, under [aggregation.categories].",
        )


CATEGORY_CHECKS = (require_published, require_cross_table_columns, require_counts)


def publishable_nodes(job: Job, name: str) -> str:
    """Return which nodes of a category may be published."""
    stated = job.attributes.get(name)
    return stated.publish if stated else "leaf"


def category_requests(job: Job, table: Table) -> dict[str, dict[str, Floats]]:
    """Return the arguments of `wish` for each categorical attribute, by name.

    Raises
    ------
    JobError
        As `resolve_category_request`; a distance that no two levels have; or equal
        requests for unordered names, without a budget.
    """
    how = job.aggregation.categories
    if not isinstance(how, CategoryWish) or not table.domains:
        return {}
    asked: dict[str, dict[str, Floats]] = {name: {} for name in table.domains}
    for key in ("delta", "importance"):
        stated = getattr(how, key)
        if stated is None:
            continue
        for name, values in resolve_category_request(stated, table, key).items():
            asked[name][key] = values
    for name, domain in table.domains.items():
        much = asked[name]["importance"]
        far = asked[name].get("delta", np.full(len(much), OWN))
        there = ~find_missing_entries(table.frame[name])
        with naming(repr(name)):
            require_reach(far, domain)
            require_choice(domain, far[there], much[there], how.budget)
    return asked


def stated_requests(job: Job) -> tuple[Any, ...]:
    """Return the requests in the job's section of categories."""
    how = job.aggregation.categories
    return (how.delta, how.importance) if isinstance(how, CategoryWish) else ()


def categories_by_block(job: Job, table: Table, columns: Columns) -> list[list[str]]:
    """Return the categories among the attributes of each block."""
    names = job.roles.quasi_identifier
    blocks = [[names[j] for j in block] for block in columns]
    return [[name for name in block if name in table.domains] for block in blocks]


def require_together(job: Job, table: Table, columns: Columns) -> None:
    """Refuse categories that are to be chosen together and cannot be.

    Raises
    ------
    JobError
        As `CategorySection.together`.
    """
    if job.aggregation.categories is not None:
        job.aggregation.categories.together(categories_by_block(job, table, columns))


def require_numbers(job: Job, table: Table, columns: Columns) -> None:
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
