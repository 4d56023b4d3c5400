"""Tasks that choose categories: of each block by itself, or of all by one program."""

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa

from aggopt.aggregate import PublishedCategories
from aggopt.aggregate.categories.registry import CategorySection
from aggopt.core.types import I64, Bool, Floats, Labels
from aggopt.encoding import Categories, EncodedAttribute
from aggopt.encoding.generalisation_rule import RANGE, SUPPRESS
from aggopt.engine.state.run_state import BlockState, RunState
from aggopt.engine.storage.scratch_files import load_arrays, save_arrays
from aggopt.errors import naming
from aggopt.pipeline.aggregate.aggregate_table import (
    choose_nodes,
    make_choice_arguments,
)
from aggopt.pipeline.aggregate.table_parts import PresentRows
from aggopt.pipeline.validate.categories import require_chosen
from aggopt.solvers import Certificate

TOGETHER = "frequencies"  # which looks at all groups of a table


def is_chosen_globally(config: RunState) -> bool:
    """Whether one program chooses the categories of all groups of the table."""
    return _get_section(config).method == TOGETHER if config.categories else False


def read_codes(X: Floats, is_kept: Bool, config: RunState) -> I64:
    """Return the level codes of categories (n, c) of X (n, d); -1 if not kept."""
    places = config.places_of_categories
    return np.where(is_kept[:, places], X[:, places], -1).astype(np.int64)


def make_global_data(
    X: Floats, is_kept: Bool, weights: Floats | None, config: RunState
) -> dict[str, Any]:
    """Return the arrays of records X (n, d) that a program of all groups needs.

    They may have weights (n,).
    """
    if not is_chosen_globally(config):
        return {}
    codes = {"codes": read_codes(X, is_kept, config)}
    return codes if weights is None else {**codes, "weights": weights}


@dataclass(frozen=True, repr=False)
class ChoiceEnd(Certificate):
    """Result of the choice of a category: its certificate, without multipliers."""

    multipliers: None = field(default=None, compare=False)


def choose_category(place: int, config: BlockState) -> ChoiceEnd:
    """Choose a category's levels for all groups; write them, return a certificate.

    Raises
    ------
    InfeasibleInputError
        No choice keeps its counts as the job requires.
    """
    weighed = config.mean_weight is not None
    names = ("codes", "labels", "weights") if weighed else ("codes", "labels")
    codes = []
    labels = []
    weights: list[Floats] = []
    first = np.cumsum([0, *config.counts])
    for path, start in zip(
        config.all("grouped", len(config.blocks)), first[:-1], strict=True
    ):
        arrays = load_arrays(path, *names)
        codes.append(arrays["codes"][:, place].astype(np.int64))
        labels.append(arrays["labels"] + start)
        weights += [arrays["weights"]] if weighed else []
    name = config.categories[place]
    all_codes = np.concatenate(codes)
    present_rows = PresentRows.of(all_codes >= 0, np.concatenate(labels))
    weights_of_rows = np.concatenate(weights)[present_rows.rows] if weighed else None
    categories = _choose_categories(
        name,
        all_codes[present_rows.rows],
        present_rows.labels,
        weights_of_rows,
        config,
        f"categories of {name}",
    )
    with naming(repr(name)):
        require_chosen(categories, weights_of_rows)
    choice = np.full(sum(config.counts), np.nan)
    choice[present_rows.there] = categories.choice
    save_arrays(config.at("chosen", place), choice=choice)
    return ChoiceEnd(**{**vars(categories.certificate), "multipliers": None})


def choose_nodes_of_block(
    number: int, codes: I64, labels: Labels, weights: Floats | None, config: BlockState
) -> Floats:
    """Return the nodes that a block's groups publish (m, c), nan if none.

    `codes` (n, c) are the levels of its records, with these weights (n,).  Total
    distances, counts of nodes, and ties are written to a file.
    """
    width = len(config.categories)
    nodes = np.full((int(labels.max()) + 1, width), np.nan)
    tied = np.zeros(width, np.int64)
    apart = np.zeros(width)
    totals = np.zeros(width)
    counts = {}
    for place, name in enumerate(config.categories):
        domain = config.levels[name].domain
        present_rows = PresentRows.of(codes[:, place] >= 0, labels)
        present_codes = codes[present_rows.rows, place]
        weights_of_rows = None if weights is None else weights[present_rows.rows]
        if is_chosen_globally(config):
            nodes[:, place] = _read_program_nodes(place, number, config)
        elif len(present_codes):
            purpose = f"categories of {name}, block {number}"
            categories = _choose_categories(
                name,
                present_codes,
                present_rows.labels,
                weights_of_rows,
                config,
                purpose,
            )
            nodes[present_rows.there, place], tied[place] = (
                categories.choice,
                categories.tied,
            )
        released = nodes[labels[present_rows.rows], place].astype(np.int64)
        own_weights = (
            np.ones(len(present_codes)) if weights_of_rows is None else weights_of_rows
        )
        apart[place] = (own_weights * domain.steps[present_codes, released]).sum()
        totals[place] = own_weights.sum()
        size = len(domain.nodes)
        counts[f"counts {place}"] = np.bincount(released, minlength=size)
        counts[f"weights {place}"] = np.bincount(released, own_weights, size)
    sums = {"tied": tied, "apart": apart, "whole": totals}
    present = (codes >= 0).sum(axis=0)
    save_arrays(config.at("categories", number), there=present, **sums, **counts)
    return nodes


def convert_categories(rows: pa.Table, config: RunState) -> pa.Table:
    """Return rows with each category cast to one type for all blocks."""
    for name in config.categories:
        column = rows.column(name)
        kind = config.levels[name].entries.type
        if name in config.job.attributes:
            publish = config.job.attributes[name].publish
            kind = pa.string() if publish in (SUPPRESS, RANGE) else kind
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, name, column.cast(kind))
    return rows


def _read_program_nodes(place: int, number: int, config: BlockState) -> Floats:
    """Return the nodes (m,) that the global program chose for a block's groups."""
    first = sum(config.counts[:number])
    choice = load_arrays(config.at("chosen", place), "choice")["choice"]
    return np.asarray(choice[first : first + config.counts[number]])


def _choose_categories(
    name: str,
    codes: I64,
    labels: Labels,
    weights: Floats | None,
    config: RunState,
    purpose: str,
) -> PublishedCategories:
    """Return the published values of one category, for these groups."""
    levels = config.levels[name]
    section = _get_section(config)
    settings = make_choice_arguments(section, config.secret, purpose, weights)
    settings.pop("with_", ())
    categories = Categories(levels.domain, codes)
    attribute = EncodedAttribute(name, levels.kind, levels.weight, slice(0), categories)
    with naming(repr(name)):
        return choose_nodes(
            attribute, labels, settings, config.job, lambda: levels.counts
        )


def _get_section(config: RunState) -> CategorySection:
    """Return the job's settings of the aggregation of categories."""
    return cast(CategorySection, config.job.aggregation.categories)
