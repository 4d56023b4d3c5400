"""Tasks of one block of records that lie near each other: its groups, its release."""

from typing import Any

import numpy as np

from aggopt.core.group_sums import group_sse
from aggopt.core.randomness import words
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.core.weights import weighted
from aggopt.encoding import Encoded
from aggopt.engine.block_rows import of_block
from aggopt.engine.config import InBlocks
from aggopt.engine.coordinates import coordinates
from aggopt.engine.hole_groups import (
    grouped_by_policy,
    means_of,
    sizes_of,
)
from aggopt.engine.kept_values import moments_of
from aggopt.engine.limits import ends_of, rounded
from aggopt.engine.originals import holes_between, unchanged_between
from aggopt.engine.passes_in import table_of
from aggopt.engine.passes_of_borders import groups_of, named
from aggopt.engine.passes_of_categories import (
    codes_of,
    in_their_types,
    nodes_of,
    told_together,
)
from aggopt.engine.passes_of_dates import steps_of
from aggopt.engine.strata_merged import in_their_strata
from aggopt.engine.two_levels import Spread
from aggopt.engine.weights import beside, each_of, known_of, with_weights
from aggopt.engine.workspace import load, save, with_column
from aggopt.input.table import Table
from aggopt.pipeline.grid import is_asked_whole
from aggopt.pipeline.holes import absent_of, observed_sse
from aggopt.privacy._values import REFUSE

HELD = ("labels", "centroids", "kept", "sizes")


def grouped(number: int, config: InBlocks) -> int:
    """Partition a block; write its groups and their sums; return how many there are."""
    rows, _ = of_block(number, config)
    job, scale = config.job, config.scale
    table = table_of(rows, config)
    X = table.matrix()
    records = coordinates(X, config, scale)
    labels, kept = _groups(number, table, records, config)
    weights = known_of(each_of(table), config)
    sizes = sizes_of(kept, labels, weights)
    Z = numbers_of(np.where(kept, X, np.nan), config)
    means, centroids = means_of(Z, labels, job.aggregation.method, weights)
    own, c = sizes[:, config.places], np.nan_to_num(centroids)
    if job.missing.policy != REFUSE:
        save(config.at("kept", number), **moments_of(Z, weights))
    lost, away = (np.nan_to_num(Z - x[labels]) for x in (means, centroids))
    save(
        config.at("grouped", number),
        labels=labels.astype(np.int32),
        centroids=centroids,
        kept=kept,
        sizes=sizes,
        there=sizes.sum(axis=0),
        within=_lost(records, labels, kept, weights),
        sse=weighted(lost**2, weights).sum(axis=0),
        sae=weighted(np.abs(away), weights).sum(axis=0),
        sums=np.einsum("ij,ij->j", own, c),
        products=np.einsum("ij,ij,ik->jk", own, c, c),
        **told_together(X, kept, weights, config),
    )
    return len(sizes)


def _groups(
    number: int, table: Table, records: Encoded, config: InBlocks
) -> tuple[Labels, Bool]:
    """Return the groups of records (n,), and which values (n, d) decide on them."""
    if absent_of(records).any():
        return grouped_by_policy(table, records, config)
    kept = np.ones((len(records), len(records.attributes)), bool)
    return groups_of(number, table, records, config), kept


def numbers_of(X: Floats, config: InBlocks) -> Floats:
    """Return the z-scores of numbers (n, p) of records X (n, d); nan where missing."""
    found = X[:, config.places]
    return np.where(np.isnan(found), np.nan, config.scale.standardise(found))


def published(number: int, config: InBlocks) -> list[int]:
    """Write the records of a block as they are published, by the file they go to."""
    rows, numbers = of_block(number, config)
    held = load(config.at("grouped", number), *HELD)
    labels, c = held["labels"], _moved(number, held["centroids"], config)
    table = table_of(rows, config)
    X, each = table.matrix(), each_of(table)
    weights = known_of(each, config)
    values = _values(number, table, c, held, weights, config)
    masked = _masked(table, values[labels], config)
    released = masked.matrix()
    holes = holes_between(X, released, sizes_of(held["kept"], labels, None))
    save(config.at("holes", number), **holes)
    same = unchanged_between(X, released, labels, config)
    save(config.at("unchanged", number), **same)
    Z = numbers_of(np.where(held["kept"], X, np.nan), config)
    both = c[labels], numbers_of(released, config)
    save(config.at("figures", number), **_figures(Z, *both, weights))
    place = words(config.secret, f"order of block {number}", len(labels))
    group = named(labels, number)
    out = in_their_types(with_weights(masked, labels, each, config.job).arrow(), config)
    out = in_their_strata(out, rows, config)
    out = beside(out, each, held["kept"], config)
    for column in (numbers, group, place.view(np.int64)):
        out = with_column(out, column)
    part = (place >> np.uint64(32)) * np.uint64(config.parts) >> np.uint64(32)
    to = config.at("published", number)
    return to_parts(config).write(to, out, part.astype(np.int64))


def _values(
    number: int,
    table: Table,
    c: Floats,
    held: dict[str, Any],
    weights: Floats | None,
    config: InBlocks,
) -> Floats:
    """Return what groups publish (m, d), of numbers with centroids c (m, p)."""
    X, labels, scale = table.matrix(), held["labels"], config.scale
    values = np.empty((len(c), X.shape[1]))
    own = ends_of(table, config).undone(c, scale)
    sizes = held["sizes"][:, config.places]
    values[:, config.places] = rounded(own, sizes, table, config, scale)
    if config.categories:
        codes = codes_of(X, held["kept"], config)
        nodes = nodes_of(number, codes, labels, weights, config)
        values[:, config.places_of_categories] = nodes
    return values


def _moved(number: int, c: Floats, config: InBlocks) -> Floats:
    """Return what is published in place of centroids c (m, p), nan where nothing is."""
    if config.shift is None and not config.solved:
        return c
    moved = c if config.shift is None else config.shift.of(c)
    moved = with_solved(moved, number, config)
    if config.kept_values is not None:
        moved = config.kept_values.scale.undo(moved)
    return np.where(np.isnan(c), np.nan, moved)


def to_parts(config: InBlocks) -> Spread:
    """Return how records of blocks are spread over the files of the release."""
    return Spread("published", len(config.blocks), config.parts)


def _lost(
    records: Encoded, labels: Labels, kept: Bool, weights: Floats | None
) -> float:
    """Return the squared error of groups, in the coordinates they were made in."""
    if weights is not None and kept.all():
        return group_sse(records.coordinates, labels, weights)
    return observed_sse(records, labels, kept, weights)


def _figures(
    Z: Floats, before: Floats, after: Floats, weights: Floats | None
) -> dict[str, Floats]:
    """Return sums over z-scores (n, p) that decide what is published of them."""
    there = ~np.isnan(Z)
    z, b, a = (np.where(there, x, 0.0) for x in (Z, before, after))
    return {
        "kept": weighted(b, weights).sum(axis=0),
        "products": np.einsum("ij,ik->jk", weighted(b, weights), b),
        "released": weighted(a, weights).sum(axis=0),
        "squares": weighted(a**2, weights).sum(axis=0),
        "sse": weighted((z - a) ** 2, weights).sum(axis=0),
        "exact": weighted((z - b) ** 2, weights).sum(axis=0),
    }


def _masked(table: Table, values: Floats, config: InBlocks) -> Table:
    """Return the release of the records of a block, values (n, d) in their place."""
    held = {name: each.column(name) for name, each in config.levels.items()}
    job = config.job
    asked = [name for name in config.numbers if is_asked_whole(job, name)]
    whole = job.output.round_integers
    steps = steps_of(config, config.scale)
    return table.masked(
        values, round_integers=whole, integers=asked, levels=held, steps=steps
    )


def with_solved(c: Floats, number: int, config: InBlocks) -> Floats:
    """Return the centroids of a block (m, d), some as programs of all blocks have them.

    These are of the numbers whose programs had an answer.
    """
    first, found = sum(config.counts[:number]), c.copy()
    own = slice(first, first + config.counts[number])
    for j in config.solved:
        found[:, j] = load(config.at("solved", j), "centroids")["centroids"][own]
    return found
