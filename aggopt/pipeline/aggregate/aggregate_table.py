"""From groups to published values: numbers by one method, categories by another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import fsum
from typing import Any, cast

import numpy as np

from aggopt.aggregate import CATEGORY_AGGREGATORS, Aggregation, PublishedCategories
from aggopt.aggregate.aggregation import get_column
from aggopt.aggregate.categories.registry import CategorySection
from aggopt.core.plural import is_or_are, plural
from aggopt.core.randomness import derive_seed
from aggopt.core.types import I64, Floats, Labels
from aggopt.encoding import Categories, Encoded, EncodedAttribute
from aggopt.encoding.generalisation import compute_node_losses
from aggopt.encoding.generalisation_rule import RANGE, SUPPRESS
from aggopt.errors import naming
from aggopt.job import Job
from aggopt.pipeline.aggregate import margins, table_parts
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress
from aggopt.pipeline.prepare.job_settings import (
    count_level_originals,
    find_avoided_nodes,
    get_publishable_nodes,
    list_categories_by_block,
    read_cross_table_columns,
)
from aggopt.pipeline.prepare.record_requests import read_category_requests
from aggopt.pipeline.validate.categories import require_chosen
from aggopt.solvers import Certificate, Status


@dataclass(frozen=True, eq=False)
class AggregatedTable:
    """The published values of each record before rounding, with their certificates.

    Attributes
    ----------
    values : (n, d)
        Numbers in original units, nodes of the domain of a category.
    certificates
        One for each quasi-identifier, by name and in order.  Attributes solved together
        share one, under their names.
    notes
        Notes on the categories.
    """

    values: Floats = field(repr=False)
    certificates: dict[str, Certificate]
    notes: tuple[str, ...] = ()


def aggregate_table(
    partitioned: PartitionedTable, on_progress: Progress
) -> AggregatedTable:
    """Return the values that each group publishes, by the job's methods."""
    on_progress("aggregate", 0.0)
    numbers = (
        _aggregate_numbers(partitioned, on_progress) if partitioned.names else None
    )
    return join_columns(
        partitioned, numbers, aggregate_categories(partitioned, on_progress)
    )


def join_columns(
    partitioned: PartitionedTable,
    numbers: Aggregation | None,
    chosen: Mapping[str, PublishedCategories],
) -> AggregatedTable:
    """Return the published numbers and categories in the order of their columns."""
    values = np.empty(partitioned.whole.shape)
    proofs: dict[tuple[str, ...], Certificate] = {}
    names = partitioned.job.roles.quasi_identifier
    if numbers is not None:
        values[:, partitioned.table.places] = numbers.values
        proofs |= numbers.name_certificates(partitioned.names)
    for name in partitioned.table.spans:
        j = names.index(name)
        values[:, j], proofs[name,] = _publish_spans(partitioned, name, values[:, j])
    for name, categories in chosen.items():
        values[:, names.index(name)] = table_parts.read_published_nodes(
            partitioned, name, categories
        )
        proofs[name,] = categories.certificate
        if _publishes_statements(partitioned, name):
            proofs[name,] = _certify_nodes(partitioned, name, values)
    ordered = sorted(proofs, key=lambda solved_names: names.index(solved_names[0]))
    certificates = {
        ", ".join(solved_names): proofs[solved_names] for solved_names in ordered
    }
    weighted = partitioned.weights is not None
    notes = (
        *_describe_choices(chosen, weighted=weighted),
        *_list_root_notes(partitioned, chosen),
    )
    return AggregatedTable(values, certificates, notes)


def _publish_spans(
    partitioned: PartitionedTable, name: str, values: Floats
) -> tuple[Floats, Certificate]:
    """Return the middles (n,) of a number's published ranges, and their certificate.

    They are missing where `values` (n,) are.  The objective is the generalised loss of
    the records, by weight; no statement that is true of the groups loses less.
    """
    table = partitioned.table
    j = table.roles.quasi_identifier.index(name)
    spans = table.spans[name]
    ends = table.widen(name, get_column(partitioned.labels, j))
    blank = np.isnan(values)
    weights = partitioned.weights
    losses = np.where(blank, 0.0, spans.compute_losses(*ends))
    loss = fsum(losses if weights is None else losses * weights)
    middles = np.where(blank, np.nan, spans.compute_middles(*ends))
    return middles, certify_statements(loss)


def _publishes_statements(partitioned: PartitionedTable, name: str) -> bool:
    """Whether a category publishes what is true of its whole group."""
    section = partitioned.job.attributes.get(name)
    return section is not None and section.is_truthful


def _certify_nodes(
    partitioned: PartitionedTable, name: str, values: Floats
) -> Certificate:
    """Return the certificate of a category's loss by its published nodes (n, d)."""
    j = partitioned.job.roles.quasi_identifier.index(name)
    attribute = cast(Encoded, partitioned.records).attributes[j]
    losses = compute_node_losses(attribute.domain, attribute.rule)
    present = ~np.isnan(values[:, j])
    lost = losses[values[present, j].astype(np.int64)]
    weights = partitioned.weights
    return certify_statements(
        fsum(lost if weights is None else lost * weights[present])
    )


def certify_statements(loss: float) -> Certificate:
    """Return the certificate of true statements about given groups."""
    return Certificate(Status.OPTIMAL, loss, loss, 0.0, "closed form", 0.0)


def _aggregate_numbers(
    partitioned: PartitionedTable, on_progress: Progress
) -> Aggregation:
    """Return the aggregation of the numeric attributes, by the job's method."""
    aggregation = partitioned.job.aggregation
    settings = {**aggregation.settings, **margins.make_margin_arguments(partitioned)}
    return table_parts.aggregate_observed(
        partitioned, {**settings, "progress": partial(on_progress, "aggregate")}
    )


def aggregate_categories(
    partitioned: PartitionedTable, on_progress: Progress
) -> dict[str, PublishedCategories]:
    """Return the published values of each categorical attribute, by name."""
    category_method = partitioned.job.aggregation.categories
    if category_method is None:
        return {}
    columns = tuple(block.columns for block in partitioned.blocks)
    by_name: dict[str, PublishedCategories] = {}
    name_groups = category_method.together(
        list_categories_by_block(partitioned.job, partitioned.table, columns)
    )
    for done, names in enumerate(name_groups):
        on_progress("categories", done / len(name_groups))
        with naming(", ".join(map(repr, names))):
            by_name |= zip(
                names, _choose_levels(partitioned, category_method, names), strict=True
            )
    return {name: by_name[name] for name in partitioned.table.domains}


def _choose_levels(
    partitioned: PartitionedTable, section: CategorySection, names: Sequence[str]
) -> Sequence[PublishedCategories]:
    """Return the published values of one category, or of several chosen together."""
    method = CATEGORY_AGGREGATORS[section.method]
    attribute_names = ", ".join(names)
    places = [partitioned.job.roles.quasi_identifier.index(name) for name in names]
    encoded = cast(Encoded, partitioned.records)  # as of any table with a category
    present_rows = table_parts.PresentRows.of(
        None if partitioned.kept is None else partitioned.kept[:, places[0]],
        get_column(partitioned.labels, places[0]),
    )
    attributes = [encoded.attributes[place].rows(present_rows.rows) for place in places]
    label = present_rows.labels
    weights = partitioned.weights
    settings = make_choice_arguments(
        section,
        partitioned.secret,
        f"categories of {attribute_names}",
        None if weights is None else weights[present_rows.rows],
    )
    requests = read_category_requests(partitioned.job, partitioned.table).get(
        names[0], {}
    )
    settings |= {key: values[present_rows.rows] for key, values in requests.items()}
    if settings.pop("with_", ()):
        beside = read_cross_table_columns(partitioned.table, partitioned.job)
        settings["with_"] = beside[present_rows.rows].to_native()
    if len(names) > 1 and method.together:
        choices = method.together(attributes, label, **settings).attributes
    else:
        count = partial(count_level_originals, partitioned.table, names[0])
        choices = (
            choose_nodes(attributes[0], label, settings, partitioned.job, count),
        )
    require_chosen(choices[0], settings.get("weights"))
    return tuple(choices)


def make_choice_arguments(
    section: CategorySection, secret: str, purpose: str, weights: Floats | None
) -> dict[str, Any]:
    """Return the arguments of an aggregation of categories, with a random seed.

    Records may have `weights` (n,).
    """
    settings = {**section.settings, "seed": derive_seed(secret, purpose)}
    return settings if weights is None else {**settings, "weights": weights}


def choose_nodes(
    attribute: EncodedAttribute,
    labels: Labels,
    settings: Mapping[str, Any],
    job: Job,
    count: Callable[[], I64],
) -> PublishedCategories:
    """Return the published values of one category, by the job's method.

    `count` returns the originals of each level of the whole table.
    """
    section = cast(CategorySection, job.aggregation.categories)
    method = CATEGORY_AGGREGATORS[section.method]
    nodes: dict[str, Any] = {}
    if method.nodes:
        nodes["publish"] = get_publishable_nodes(job, attribute.name)
        domain = cast(Categories, attribute.categories).domain
        if rare := find_avoided_nodes(job, attribute.name, domain, count):
            nodes["avoid"] = rare
    return method.function(attribute, labels, **settings, **nodes)


def _describe_choices(
    chosen: Mapping[str, PublishedCategories], *, weighted: bool = False
) -> tuple[str, ...]:
    """Return the texts of notes on attributes chosen together, and on ties."""
    by_proof: dict[int, list[str]] = {}
    for name, categories in chosen.items():
        by_proof.setdefault(id(categories.certificate), []).append(name)
    together = (
        f"{', '.join(map(repr, names))}: chosen together; the certificate of each is "
        "that of all of them."
        for names in by_proof.values()
        if len(names) > 1
    )
    ties = (
        describe_ties(
            name,
            categories.tied,
            len(categories.choice),
            categories.ties.objective,
            weighted=weighted,
        )
        for name, categories in chosen.items()
        if categories.ties is not None
    )
    return (*together, *ties)


def describe_ties(
    name: str,
    tied: int,
    groups: int,
    difference: float,
    *,
    weighted: bool,
    by_block: bool = False,
) -> str:
    """Return the text of a note on groups with several equally near categories.

    Counts of categories differ by this `difference`.
    """
    counts = "weighted counts" if weighted else "counts"
    blocks = ", block by block" if by_block else ""
    return (
        f"{name!r}: in {tied} of {plural(groups, 'group')} several categories are "
        f"equally near. aggopt published those that change the {counts} of categories "
        f"least{blocks}: by {difference:g} records in all."
    )


def _list_root_notes(
    partitioned: PartitionedTable, chosen: Mapping[str, PublishedCategories]
) -> list[str]:
    """Return the texts of notes on trees whose root is most often published."""
    notes: list[str] = []
    for name, categories in chosen.items():
        if get_publishable_nodes(partitioned.job, name) == "leaf":
            continue
        root = len(categories.nodes) - 1
        count = int((categories.choice[categories.labels] == root).sum())
        publish = partitioned.job.attributes[name].publish
        notes += describe_root(name, count, len(categories.labels), publish)
    return notes


def describe_root(name: str, count: int, n: int, publish: str) -> list[str]:
    """Return the text of a note if at least half of n values are the tree's root."""
    if 2 * count < n:
        return []
    if publish in (SUPPRESS, RANGE):
        return [
            f"{name!r}: {count} of {plural(n, 'value')} ({count / n:.0%}) are "
            'published as what says nothing: choose method = "generalising", a '
            "smaller k, or fewer quasi-identifiers."
        ]
    return [
        f"{name!r}: {count} of {plural(n, 'value')} ({count / n:.0%}) "
        f"{is_or_are(count)} published as "
        'the root of the tree, which says nothing: choose publish = "node" or "leaf", '
        "a smaller k, or fewer quasi-identifiers."
    ]
