"""From groups to published values: numbers by one method, categories by another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import numpy as np

from aggopt.aggregate import (
    CATEGORY_AGGREGATORS,
    Aggregation,
    PublishedCategories,
)
from aggopt.aggregate.aggregation import get_column
from aggopt.aggregate.categories.registry import CategorySection
from aggopt.core.plural import plural
from aggopt.core.randomness import derive_seed
from aggopt.core.validation import Floats
from aggopt.encoding import Encoded
from aggopt.errors import naming
from aggopt.pipeline.aggregate import margins
from aggopt.pipeline.aggregate.missing_values import (
    PresentRows,
    aggregate_observed,
    published_nodes,
)
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.category_settings import (
    categories_by_block,
    find_avoided_nodes_of_table,
    publishable_nodes,
)
from aggopt.pipeline.prepare.cross_table_columns import read_cross_table_columns
from aggopt.pipeline.prepare.inputs import Progress
from aggopt.pipeline.prepare.record_requests import category_requests
from aggopt.pipeline.validate.categories import require_chosen
from aggopt.solvers import Certificate


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


def aggregate_table(given: PartitionedTable, on_progress: Progress) -> AggregatedTable:
    """Return the values that the job publishes of each group."""
    on_progress("aggregate", 0.0)
    numbers = _aggregate_numbers(given, on_progress) if given.names else None
    return assemble_columns(given, numbers, aggregate_categories(given, on_progress))


def assemble_columns(
    given: PartitionedTable,
    numbers: Aggregation | None,
    chosen: Mapping[str, PublishedCategories],
) -> AggregatedTable:
    """Return the published numbers and categories in the order of their columns."""
    values = np.empty(given.whole.shape)
    found: dict[tuple[str, ...], Certificate] = {}
    if numbers is not None:
        values[:, given.table.places] = numbers.values
        found |= numbers.named(given.names)
    names = given.job.roles.quasi_identifier
    for name, made in chosen.items():
        values[:, names.index(name)] = published_nodes(given, name, made)
        found[name,] = made.certificate
    ordered = sorted(found, key=lambda own: names.index(own[0]))
    certificates = {", ".join(own): found[own] for own in ordered}
    weighted = given.weights is not None
    said = (*_notes(chosen, weighted=weighted), *_roots(given, chosen))
    return AggregatedTable(values, certificates, said)


def _aggregate_numbers(given: PartitionedTable, on_progress: Progress) -> Aggregation:
    how = given.job.aggregation
    settings = {**how.settings, **margins.margin_arguments(given)}
    return aggregate_observed(
        given, {**settings, "progress": partial(on_progress, "aggregate")}
    )


def aggregate_categories(
    given: PartitionedTable, on_progress: Progress
) -> dict[str, PublishedCategories]:
    """Return the published values of each categorical attribute, by name."""
    how = given.job.aggregation.categories
    if how is None:
        return {}
    columns = tuple(block.columns for block in given.blocks)
    found: dict[str, PublishedCategories] = {}
    asked = how.together(categories_by_block(given.job, given.table, columns))
    for done, names in enumerate(asked):
        on_progress("categories", done / len(asked))
        with naming(", ".join(map(repr, names))):
            found |= zip(names, _choose_levels(given, how, names), strict=True)
    return {name: found[name] for name in given.table.domains}


def _choose_levels(
    given: PartitionedTable, how: CategorySection, names: Sequence[str]
) -> Sequence[PublishedCategories]:
    """Return the published values of one category, or of several chosen together."""
    method, attribute_names = CATEGORY_AGGREGATORS[how.method], ", ".join(names)
    places = [given.job.roles.quasi_identifier.index(name) for name in names]
    encoded = cast(Encoded, given.records)  # as of any table with a category
    own = PresentRows.of(
        None if given.kept is None else given.kept[:, places[0]],
        get_column(given.labels, places[0]),
    )
    attributes = [encoded.attributes[place].rows(own.rows) for place in places]
    label = own.labels
    settings = {
        **how.settings,
        "seed": derive_seed(given.secret, f"categories of {attribute_names}"),
    }
    if given.weights is not None:
        settings["weights"] = given.weights[own.rows]
    asked = category_requests(given.job, given.table).get(names[0], {})
    settings |= {key: values[own.rows] for key, values in asked.items()}
    if settings.pop("with_", ()):
        beside = read_cross_table_columns(given.table, given.job)
        settings["with_"] = beside[own.rows].to_native()
    if len(names) > 1 and method.together:
        made = method.together(attributes, label, **settings).attributes
    else:
        if method.nodes:
            settings["publish"] = publishable_nodes(given.job, *names)
            if rare := find_avoided_nodes_of_table(given.job, given.table, names[0]):
                settings["avoid"] = rare
        made = (method.function(attributes[0], label, **settings),)
    require_chosen(made[0], settings.get("weights"))
    return tuple(made)


def _notes(
    chosen: Mapping[str, PublishedCategories], *, weighted: bool = False
) -> tuple[str, ...]:
    """List the attributes that were chosen together, and how ties were broken."""
    counts = "weighted counts" if weighted else "counts"
    by_proof: dict[int, list[str]] = {}
    for name, made in chosen.items():
        by_proof.setdefault(id(made.certificate), []).append(name)
    together = (
        f"{', '.join(map(repr, names))}: chosen together; the certificate of each is "
        "that of all of them."
        for names in by_proof.values()
        if len(names) > 1
    )
    ties = (
        f"{name!r}: in {made.tied} of {plural(len(made.choice), 'group')} several "
        f"categories are equally near; of these such were published that the {counts} "
        f"of categories differ by {made.ties.objective:g} records in all."
        for name, made in chosen.items()
        if made.ties is not None
    )
    return (*together, *ties)


def _roots(
    given: PartitionedTable, chosen: Mapping[str, PublishedCategories]
) -> list[str]:
    """Return notes on trees whose root is published for at least half of the values."""
    said: list[str] = []
    for name, made in chosen.items():
        if publishable_nodes(given.job, name) == "leaf":
            continue
        root = len(made.nodes) - 1
        count = int((made.choice[made.labels] == root).sum())
        said += note_on_root(name, count, len(made.labels))
    return said


def note_on_root(name: str, count: int, n: int) -> list[str]:
    """Return a note if at least half of the n values are published as the root."""
    if 2 * count < n:
        return []
    return [
        f"{name!r}: {count} of {plural(n, 'value')} ({count / n:.0%}) are published as "
        'the root of the tree, which says nothing: choose publish = "node" or "leaf", '
        "a smaller k, or fewer quasi-identifiers."
    ]
