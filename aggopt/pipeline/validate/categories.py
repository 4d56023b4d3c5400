"""Refusals of settings of categories that do not fit a table."""

from collections.abc import Callable, Iterable
from functools import partial
from math import ceil
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.aggregate import CATEGORY_AGGREGATORS, PublishedCategories
from aggopt.aggregate.categories.frequencies import Frequencies
from aggopt.aggregate.categories.kept_combinations import (
    read_cross_table_values,
    read_slack_or_price,
    require_near,
)
from aggopt.aggregate.categories.plurality import require_nodes
from aggopt.aggregate.categories.registry import CategorySection
from aggopt.core.plural import agree, plural
from aggopt.core.record_weights import scale_to_mean_one
from aggopt.core.types import I64, Floats
from aggopt.data.context.rare_categories import count_originals_by_node
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.parsing.categories import find_missing_entries, find_nodes
from aggopt.data.table import Table
from aggopt.encoding import Domain
from aggopt.encoding.generalisation import compute_node_losses
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    TableError,
    UnknownNameError,
    naming,
    toml_key,
)
from aggopt.job import Job, Mean
from aggopt.pipeline.prepare import job_settings
from aggopt.solvers import Status


def require_category_settings(job: Job, table: Table) -> None:
    """Refuse settings of categories that do not fit the quasi-identifiers.

    Raises
    ------
    JobError
        As `require_category_method` and `require_publishable_nodes`.
    InfeasibleInputError
        A level of fewer than k records is to be published as often as in the originals.
    """
    require_category_method(job, table)
    if table.domains:
        for require in CATEGORY_CHECKS:
            require(job, table)


def require_category_method(job: Job, table: Table) -> None:
    """Refuse aggregation methods for a kind of attribute that the table lacks.

    Raises
    ------
    JobError
        The job has a method for categories, and every quasi-identifier is a number; or
        a method for numbers, and every quasi-identifier is a category.
    """
    aggregation = job.aggregation
    names = job.roles.quasi_identifier
    categories = aggregation.categories
    if not table.domains:
        if categories is not None:
            raise JobError(
                "[aggregation.categories] is for categories, and every "
                "quasi-identifier is a number.",
                fix="leave the section out, or declare the categories: "
                f'kind = "nominal" under [attributes.{names[0]}].',
            )
        return
    if not table.numeric and aggregation != Mean(categories=categories):
        raise JobError(
            f"[aggregation] method = {aggregation.method!r} publishes numbers, and "
            "every quasi-identifier is a category.",
            fix="leave the method and its settings out; the method for categories is "
            "set under [aggregation.categories].",
        )


def require_publishable_nodes(job: Job, table: Table) -> None:
    """Refuse to publish tree nodes if the method cannot, or names are duplicate.

    Raises
    ------
    JobError
        The message names the attribute, and the methods that publish nodes.
    """
    method = cast(CategorySection, job.aggregation.categories)
    occurring = getattr(method, "occurring", False)
    nodes = CATEGORY_AGGREGATORS[method.method].nodes and not occurring
    setting = "occurring = true" if occurring else f"method = {method.method!r}"
    other = f'choose method = "plurality"{" without occurring" if occurring else ""}'
    for name, domain in table.domains.items():
        publish = job_settings.get_publishable_nodes(job, name)
        if publish != "leaf" and not nodes:
            raise JobError(
                f"[aggregation.categories] {setting} publishes levels, and "
                f"[attributes.{name}] asks for publish = "
                f"{job.attributes[name].publish!r}.",
                fix=f'set publish = "leaf" there; or {other}, which publishes nodes, '
                "under [aggregation.categories].",
            )
        with naming(f"[attributes.{name}]"):
            require_nodes(domain, publish)
            if name in job.attributes:
                compute_node_losses(domain, job.attributes[name].type.rule)


def require_counts(job: Job, table: Table) -> None:
    """Refuse a slack of counts that groups of k records cannot satisfy.

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
    sampling = read_sampling_weights(table)
    weighted = sampling is not None and sampling.scaled is not None
    count = partial(_count_present_levels, table)
    require_level_counts(job, table.domains, count, weighted=weighted)


def require_level_counts(
    job: Job, names: Iterable[str], count: Callable[[str], I64], *, weighted: bool
) -> None:
    """Refuse a slack of level counts that groups of k records cannot satisfy.

    `count` returns the counts of levels (m,) of one of the categories `names`; raises
    as `require_counts`.
    """
    method = job.aggregation.categories
    if not isinstance(method, Frequencies):
        return
    beside = bool(method.with_)
    slack, _ = read_slack_or_price(method.slack, method.price, many_cells=beside)
    if slack is None:
        return
    require_near(slack, weighted=weighted)
    if weighted:
        return
    crossed = {name for pair in method.cross for name in pair}
    for name in names:
        if slack and (beside or name in crossed):
            continue
        counts = count(name)
        with naming(repr(name)):
            require_possible(counts[counts > 0], job.privacy.k, slack)


def _count_present_levels(table: Table, name: str) -> I64:
    """Return the number of records of each level, without missing values."""
    codes = find_nodes(table.frame[name], table.domains[name])
    if name in table.kept_missing:
        codes = codes[~find_missing_entries(table.frame[name])]
    return np.bincount(codes)


def require_possible(count: I64, k: int, slack: float) -> None:
    """Refuse level counts (m,) that groups of k or more cannot approximate.

    Raises
    ------
    InfeasibleInputError
        The message has a sufficient slack.
    """
    price = "or leave slack out and name a price, where the method takes one"
    nearness = f"within slack = {slack:g} of as often" if slack else "just as often"
    lacking = np.minimum(count, k - count)  # to none, or to k
    few = int((lacking > slack).sum())
    enough = plural(_find_sufficient_slack(count, k), "record")
    if few:
        raise InfeasibleInputError(
            f"{few} of {plural(len(count), 'level')} {agree(few, 'has', 'have')} fewer "
            f"than k = {k} records, and cannot be published {nearness}.",
            fix=f"allow a slack of {enough} or more, {price}, under "
            "[aggregation.categories].",
        )
    fewest, largest = _compute_total_range(count, k, slack)
    if not fewest <= count.sum() <= largest:
        raise InfeasibleInputError(
            f"{len(count)} levels cannot all be published {nearness} by groups of k = "
            f"{k} records: of {count.sum()} records, those have {fewest:g} to "
            f"{largest:g}.",
            fix=f"allow a slack of {enough} or more, {price}, under "
            "[aggregation.categories].",
        )


def _compute_total_range(count: I64, k: int, slack: float) -> tuple[float, float]:
    """Return the least and largest total of level counts (m,) within a slack."""
    fewest = np.where(count <= slack, 0, np.maximum(count - slack, k)).sum()
    largest = np.where(count + slack >= k, count + slack, 0).sum()
    return float(fewest), float(largest)


def _find_sufficient_slack(count: I64, k: int) -> int:
    """Return the least whole slack with which groups of k can approximate counts."""
    slack = int(np.minimum(count, k - count).max(initial=0))
    while True:
        fewest, largest = _compute_total_range(count, k, slack)
        if fewest <= count.sum() <= largest:
            return slack
        slack += 1


def require_together(job: Job, table: Table, columns: job_settings.Columns) -> None:
    """Refuse categories that cannot be chosen together as the job requires.

    Raises
    ------
    JobError
        As `CategorySection.together`.
    """
    if job.aggregation.categories is not None:
        job.aggregation.categories.together(
            job_settings.list_categories_by_block(job, table, columns)
        )


def require_cross_table_columns(job: Job, table: Table) -> None:
    """Refuse columns in `with` whose cross tables cannot be kept.

    Raises
    ------
    JobError
        One is named twice, masked or not published, or text that hardly two records
        share.
    TableError
        All of it is missing, or its values are of several types.
    """
    roles = table.roles
    plain = (*roles.confidential, *roles.other)
    names = job_settings.list_cross_table_names(job)
    for name in names:
        if names.count(name) > 1:
            raise JobError(
                f"[aggregation.categories] with names {name!r} more than once.",
                fix="name it once.",
            )
        if name in roles.quasi_identifier:
            raise JobError(
                f"[aggregation.categories] with names {name!r}, which is masked.",
                fix='keep its table with another category by cross = [["A", "B"]]; '
                "with is for columns that are published as they are.",
            )
        if name not in plain:
            raise UnknownNameError("column that is published unchanged", name, plain)
    beside = job_settings.read_cross_table_columns(table, job)
    for name in beside.columns:
        with naming(repr(name)):
            _require_shared(beside[name], table)


def _require_shared(column: nw.Series[Any], table: Table) -> None:
    """Refuse a column with too many values for a cross table."""
    read_cross_table_values(column.to_native(), len(column))
    for name in table.kept_missing & table.domains.keys():
        rows = np.flatnonzero(~find_missing_entries(table.frame[name]))
        read_cross_table_values(column[rows].to_native(), len(rows))


def require_chosen(
    categories: PublishedCategories, weights: Floats | None = None
) -> None:
    """Refuse a release if no choice of categories satisfies the job.

    A slack is in records, or with `weights` (n,) in records of mean weight.

    Raises
    ------
    InfeasibleInputError
        The message has the slack that always leaves a choice.
    """
    if categories.certificate.status is not Status.INFEASIBLE:
        return
    largest = ceil(np.bincount(categories.labels, scale_to_mean_one(weights)).max())
    raise InfeasibleInputError(
        f"No choice of categories for {len(categories.choice)} groups keeps the number "
        "of "
        f"records of each as near to the original as [aggregation.categories] asks.",
        fix=f"allow a slack of the largest group, slack = {largest}, which always "
        "leaves a choice, or name a price in its place.",
    )


CATEGORY_CHECKS = (
    require_publishable_nodes,
    require_cross_table_columns,
    require_counts,
)


MOST = 0.5  # of the originals: more than half are then in categories of fewer than k
AVOID = 'rare = "avoid", which publishes frequent values alone'
BY_TREE = (
    'a tree, publish = "node" and rare = "avoid", which publish nodes that k originals '
    "have"
)


def require_keys_of_categories(job: Job, table: Table) -> None:
    """Refuse keys that are numbers or dates, of which most are rare.

    Raises
    ------
    JobError
        The message names one of them.
    """
    for name in job.key_columns:
        if name not in table.domains:
            raise JobError(
                f"[privacy] keys names {name!r}, which is a number or a date.",
                fix=f"make cells of it, cuts = [18, 65] under [attributes.{name}]; or "
                'write kind = "nominal" if the numbers are codes.',
            )


def require_rare(job: Job, table: Table) -> None:
    """Refuse rare categories that a job cannot avoid, or does not treat.

    Raises
    ------
    JobError, TableError, InfeasibleInputError
        As `require_categories` and `require_frequent`.
    """
    require_categories(job, frozenset(table.domains))
    for name, domain in table.domains.items():
        if name in job.key_columns:  # whose rare values are suppressed
            continue
        require_frequent(
            job, name, domain, job_settings.count_level_originals(table, name)
        )


def require_categories(job: Job, names: frozenset[str]) -> None:
    """Refuse a treatment of rare categories that no method supports.

    `names` are the quasi-identifiers that are categories.

    Raises
    ------
    JobError
        The attribute is a number or a date; or the method publishes each level as often
        as before, or combinations.
    """
    method = job.aggregation.categories
    for name, section in job.attributes.items():
        if section.rare is None or name not in job.roles.quasi_identifier:
            continue
        if name not in names:
            raise JobError(
                f'[attributes.{name}] rare = "{section.rare}" is of categories, and '
                f"{name!r} is a number or a date.",
                fix='leave it out; or write kind = "nominal", where numbers are codes.',
            )
        plain = method is None or (
            method.method == "plurality" and not getattr(method, "occurring", False)
        )
        if section.rare == "avoid" and not plain:
            raise JobError(
                f'[attributes.{name}] rare = "avoid" is done by plurality, each '
                "category by itself, and [aggregation.categories] asks for another "
                "method.",
                fix="leave [aggregation.categories] out, or leave rare out.",
            )


def require_frequent(job: Job, name: str, domain: Domain, counts: I64) -> None:
    """Refuse a categorical attribute if most originals have a rare value.

    `counts` (m,) are the originals of each level.

    Raises
    ------
    TableError
        More than half of the originals have a value that fewer than k have, and the job
        does not specify their treatment.
    InfeasibleInputError
        They are to be avoided, and no value may be published.
    """
    k = job.privacy.k
    section = job.attributes.get(name)
    publish = section.publish if section else "leaf"
    treatment = section.rare if section else None
    is_true_of_group = section is not None and section.is_truthful
    if treatment == "publish" or is_true_of_group:
        return
    nodes = count_originals_by_node(counts, domain)
    none_frequent = (nodes[: domain.m] if publish == "leaf" else nodes).max() < k
    if treatment == "avoid":
        if none_frequent:
            raise InfeasibleInputError(
                f"{name!r}: no value is had by k = {k} originals, and rare values are "
                "to be avoided.",
                fix='list the column as drop; give it a tree and publish = "node"; or '
                "choose a smaller k.",
            )
        return
    rare = int(counts[counts < k].sum())
    total = int(counts.sum())
    if k <= total and rare > MOST * total:
        raise TableError(
            f"{name!r}: {rare} of {plural(total, 'entry', 'entries')} are values that "
            f"fewer than k = {k} originals have, which masking would publish.",
            fix=f"list the column as drop; or, under [attributes.{toml_key(name)}], "
            f'write {BY_TREE if none_frequent else AVOID}, or rare = "publish", which '
            "takes the risk.",
        )
