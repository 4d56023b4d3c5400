"""Tasks of one block of records that are near each other: its groups, its release."""

from typing import Any

import numpy as np

from aggopt.core.columns import REFUSE
from aggopt.core.randomness import draw_words
from aggopt.core.record_weights import group_sse, multiply_by_weights
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.engine.reduce.group_sums import date_steps
from aggopt.engine.state.moments import block_moments
from aggopt.engine.state.run_state import BlockState
from aggopt.engine.state.shuffle import Shuffle, read_block
from aggopt.engine.steps.block_groups import partition_in_strata
from aggopt.engine.steps.categories import (
    data_for_global_program,
    in_their_types,
    published_nodes_of_block,
    read_codes,
)
from aggopt.engine.steps.coordinates import coordinates
from aggopt.engine.steps.describe import check_table
from aggopt.engine.steps.merge_small_strata import set_published_strata
from aggopt.engine.steps.missing_groups import (
    observed_means,
    observed_sizes,
    partition_by_policy,
)
from aggopt.engine.steps.originals import compare_block
from aggopt.engine.steps.value_bounds import bounds_of_numbers, round_centroids
from aggopt.engine.steps.weights import (
    append_weights,
    publish_weights,
    read_weights,
    scale_weights,
)
from aggopt.engine.storage.scratch_files import append_column, load_arrays, save_arrays
from aggopt.pipeline.partition.missing_patterns import observed_sse
from aggopt.pipeline.prepare.published_grid import is_asked_whole
from aggopt.pipeline.prepare.value_patterns import find_missing

HELD = ("labels", "centroids", "kept", "sizes")
GROUP_BITS = 32  # of a group's number: the rest is its block's


def partition_block(number: int, config: BlockState) -> int:
    """Partition a block; write its groups and their sums; return how many there are."""
    rows, _ = read_block(number, config)
    job, scale = config.job, config.scale
    table = check_table(rows, config)
    X = table.matrix()
    records = coordinates(X, config, scale)
    labels, kept = _groups(table, records, config)
    weights = scale_weights(read_weights(table), config)
    sizes = observed_sizes(kept, labels, weights)
    Z = standardised_numbers(np.where(kept, X, np.nan), config)
    means, centroids = observed_means(Z, labels, job.aggregation.method, weights)
    own, c = sizes[:, config.places], np.nan_to_num(centroids)
    if job.missing.policy != REFUSE:
        save_arrays(config.at("kept", number), **block_moments(Z, weights))
    lost, away = (np.nan_to_num(Z - x[labels]) for x in (means, centroids))
    save_arrays(
        config.at("grouped", number),
        labels=labels.astype(np.int32),
        centroids=centroids,
        kept=kept,
        sizes=sizes,
        there=sizes.sum(axis=0),
        within=_lost(records, labels, kept, weights),
        sse=multiply_by_weights(lost**2, weights).sum(axis=0),
        sae=multiply_by_weights(np.abs(away), weights).sum(axis=0),
        sums=np.einsum("ij,ij->j", own, c),
        products=np.einsum("ij,ij,ik->jk", own, c, c),
        **data_for_global_program(X, kept, weights, config),
    )
    return len(sizes)


def _groups(table: Table, records: Encoded, config: BlockState) -> tuple[Labels, Bool]:
    """Return the groups of records (n,), and which values (n, d) decide on them."""
    if find_missing(records).any():
        return partition_by_policy(table, records, config)
    kept = np.ones((len(records), len(records.attributes)), bool)
    return partition_in_strata(table, records, config), kept


def standardised_numbers(X: Floats, config: BlockState) -> Floats:
    """Return the z-scores of numbers (n, p) of records X (n, d); nan where missing."""
    found = X[:, config.places]
    return np.where(np.isnan(found), np.nan, config.scale.standardise(found))


def publish_block(number: int, config: BlockState) -> list[int]:
    """Write the published records of a block, by the file that they belong to."""
    rows, numbers = read_block(number, config)
    held = load_arrays(config.at("grouped", number), *HELD)
    labels, c = held["labels"], _shift_centroids(number, held["centroids"], config)
    table = check_table(rows, config)
    X, each = table.matrix(), read_weights(table)
    weights = scale_weights(each, config)
    values = _values(number, table, c, held, weights, config)
    masked = _masked(table, values[labels], config)
    released = masked.matrix()
    compare_block(number, X, released, labels, config)
    Z = standardised_numbers(np.where(held["kept"], X, np.nan), config)
    both = c[labels], standardised_numbers(released, config)
    save_arrays(config.at("figures", number), **_figures(Z, *both, weights))
    place = draw_words(config.secret, f"order of block {number}", len(labels))
    group = (np.int64(number) << GROUP_BITS) + labels
    out = in_their_types(
        publish_weights(masked, labels, each, config.job).to_arrow(), config
    )
    out = set_published_strata(out, rows, config)
    out = append_weights(out, each, held["kept"], config)
    for column in (numbers, group, place.view(np.int64)):
        out = append_column(out, column)
    part = (place >> np.uint64(32)) * np.uint64(config.parts) >> np.uint64(32)
    to = config.at("published", number)
    return part_shuffle(config).write(to, out, part.astype(np.int64))


def _values(
    number: int,
    table: Table,
    c: Floats,
    held: dict[str, Any],
    weights: Floats | None,
    config: BlockState,
) -> Floats:
    """Return what groups publish (m, d), of numbers with centroids c (m, p)."""
    X, labels, scale = table.matrix(), held["labels"], config.scale
    values = np.empty((len(c), X.shape[1]))
    own = bounds_of_numbers(table, config).undone(c, scale)
    sizes = held["sizes"][:, config.places]
    values[:, config.places] = round_centroids(own, sizes, table, config, scale)
    if config.categories:
        codes = read_codes(X, held["kept"], config)
        nodes = published_nodes_of_block(number, codes, labels, weights, config)
        values[:, config.places_of_categories] = nodes
    return values


def _shift_centroids(number: int, c: Floats, config: BlockState) -> Floats:
    """Return the published values for centroids c (m, p), nan if none is published."""
    if config.shift is None and not config.solved:
        return c
    moved = c if config.shift is None else config.shift.of(c)
    moved = apply_global_programs(moved, number, config)
    if config.kept_values is not None:
        moved = config.kept_values.scale.undo(moved)
    return np.where(np.isnan(c), np.nan, moved)


def part_shuffle(config: BlockState) -> Shuffle:
    """Return the shuffle of records of blocks over the files of the release."""
    return Shuffle("published", len(config.blocks), config.parts)


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
    """Return sums over z-scores (n, p) of the values that decide on the release."""
    there = ~np.isnan(Z)
    z, b, a = (np.where(there, x, 0.0) for x in (Z, before, after))
    return {
        "kept": multiply_by_weights(b, weights).sum(axis=0),
        "products": np.einsum("ij,ik->jk", multiply_by_weights(b, weights), b),
        "released": multiply_by_weights(a, weights).sum(axis=0),
        "squares": multiply_by_weights(a**2, weights).sum(axis=0),
        "sse": multiply_by_weights((z - a) ** 2, weights).sum(axis=0),
        "exact": multiply_by_weights((z - b) ** 2, weights).sum(axis=0),
    }


def _masked(table: Table, values: Floats, config: BlockState) -> Table:
    """Return the release of the records of a block, values (n, d) in their place."""
    held = {name: each.column(name) for name, each in config.levels.items()}
    job = config.job
    asked = [name for name in config.numbers if is_asked_whole(job, name)]
    whole = job.output.round_integers
    steps = date_steps(config, config.scale)
    return table.with_values(
        values, round_integers=whole, integers=asked, levels=held, steps=steps
    )


def apply_global_programs(c: Floats, number: int, config: BlockState) -> Floats:
    """Return the centroids of a block (m, d), some as programs of all blocks have them.

    These are of the numbers whose programs had an answer.
    """
    first, found = sum(config.counts[:number]), c.copy()
    own = slice(first, first + config.counts[number])
    for j in config.solved:
        found[:, j] = load_arrays(config.at("solved", j), "centroids")["centroids"][own]
    return found
