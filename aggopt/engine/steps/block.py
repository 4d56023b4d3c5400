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
from aggopt.engine.state.moments import compute_block_moments
from aggopt.engine.state.run_state import BlockState
from aggopt.engine.state.shuffle import Shuffle, read_block
from aggopt.engine.steps.block_groups import (
    compute_observed_means,
    count_observed,
    partition_table_of_block,
)
from aggopt.engine.steps.categories import (
    choose_nodes_of_block,
    convert_categories,
    make_global_data,
    read_codes,
)
from aggopt.engine.steps.describe import compute_coordinates, read_checked_table
from aggopt.engine.steps.merge_small_strata import set_published_strata
from aggopt.engine.steps.weights import (
    append_weights,
    read_weights,
    scale_weights,
)
from aggopt.engine.storage.scratch_files import (
    append_column,
    load_arrays,
    load_state,
    save_arrays,
    save_state,
)
from aggopt.pipeline.finish.evaluate import compute_rounding_distance
from aggopt.pipeline.finish.rounding import (
    publish_values,
    publish_weights,
    round_numbers,
)
from aggopt.pipeline.partition.missing_values import compute_observed_sse
from aggopt.pipeline.prepare.published_grid import read_bounds
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.missing import MissingChanges
from aggopt.release.audit.unchanged import Unchanged, count_unchanged_values

HELD = ("labels", "centroids", "kept", "sizes")
GROUP_BITS = 32  # of a group's number: the rest is its block's


def partition_block(number: int, config: BlockState) -> int:
    """Partition a block; write its groups and their sums; return how many there are."""
    rows, _ = read_block(number, config)
    job, scale = config.job, config.scale
    table = read_checked_table(rows, config)
    X = table.matrix()
    records = compute_coordinates(X, config, scale)
    labels, is_kept = partition_table_of_block(table, records, config)
    weights = scale_weights(read_weights(table), config)
    sizes = count_observed(is_kept, labels, weights)
    Z = standardise_numbers(np.where(is_kept, X, np.nan), config)
    means, centroids = compute_observed_means(
        Z, labels, job.aggregation.method, weights
    )
    number_sizes, c = sizes[:, config.places], np.nan_to_num(centroids)
    if job.missing.policy != REFUSE:
        save_arrays(config.at("kept", number), **compute_block_moments(Z, weights))
    lost, away = (np.nan_to_num(Z - x[labels]) for x in (means, centroids))
    save_arrays(
        config.at("grouped", number),
        labels=labels.astype(np.int32),
        centroids=centroids,
        kept=is_kept,
        sizes=sizes,
        there=sizes.sum(axis=0),
        within=_compute_loss(records, labels, is_kept, weights),
        sse=multiply_by_weights(lost**2, weights).sum(axis=0),
        sae=multiply_by_weights(np.abs(away), weights).sum(axis=0),
        sums=np.einsum("ij,ij->j", number_sizes, c),
        products=np.einsum("ij,ij,ik->jk", number_sizes, c, c),
        **make_global_data(X, is_kept, weights, config),
    )
    return len(sizes)


def standardise_numbers(X: Floats, config: BlockState) -> Floats:
    """Return the z-scores of numbers (n, p) of records X (n, d); nan where missing."""
    numbers = X[:, config.places]
    return np.where(np.isnan(numbers), np.nan, config.scale.standardise(numbers))


def publish_block(number: int, config: BlockState) -> list[int]:
    """Write the published records of a block, by the file that they belong to."""
    rows, numbers = read_block(number, config)
    arrays = load_arrays(config.at("grouped", number), *HELD)
    labels, c = arrays["labels"], _shift_centroids(number, arrays["centroids"], config)
    table = read_checked_table(rows, config)
    X, each = table.matrix(), read_weights(table)
    weights = scale_weights(each, config)
    values = _assemble_values(number, table, c, arrays, weights, config)
    entries = {name: level.column(name) for name, level in config.levels.items()}
    spreads = config.scale.spread
    masked = publish_values(table, values[labels], config.job, spreads, entries)
    released = masked.matrix()
    compare_block(number, X, released, labels, config)
    Z = standardise_numbers(np.where(arrays["kept"], X, np.nan), config)
    both = c[labels], standardise_numbers(released, config)
    save_arrays(config.at("figures", number), **_sum_figures(Z, *both, weights))
    place = draw_words(config.secret, f"order of block {number}", len(labels))
    group = (np.int64(number) << GROUP_BITS) + labels
    if each is not None:
        masked = publish_weights(masked, labels, each, config.job)
    out = convert_categories(masked.to_arrow(), config)
    out = set_published_strata(out, rows, config)
    out = append_weights(out, each, arrays["kept"], config)
    for column in (numbers, group, place.view(np.int64)):
        out = append_column(out, column)
    part = (place >> np.uint64(32)) * np.uint64(config.parts) >> np.uint64(32)
    to = config.at("published", number)
    return make_part_shuffle(config).write(to, out, part.astype(np.int64))


def _assemble_values(
    number: int,
    table: Table,
    c: Floats,
    arrays: dict[str, Any],
    weights: Floats | None,
    config: BlockState,
) -> Floats:
    """Return what groups publish (m, d), of numbers with centroids c (m, p)."""
    X, labels, scale = table.matrix(), arrays["labels"], config.scale
    values = np.empty((len(c), X.shape[1]))
    bounds = read_bounds(table, config.job, config.numbers).undone(c, scale)
    sizes = arrays["sizes"][:, config.places]
    values[:, config.places] = round_numbers(
        bounds, np.arange(len(c)), sizes, scale.spread, table, config.job
    )
    if config.categories:
        codes = read_codes(X, arrays["kept"], config)
        nodes = choose_nodes_of_block(number, codes, labels, weights, config)
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


def make_part_shuffle(config: BlockState) -> Shuffle:
    """Return the shuffle of records of blocks over the files of the release."""
    return Shuffle("published", len(config.blocks), config.parts)


def _compute_loss(
    records: Encoded, labels: Labels, is_kept: Bool, weights: Floats | None
) -> float:
    """Return the squared error of groups, in the coordinates they were made in."""
    if weights is not None and is_kept.all():
        return group_sse(records.coordinates, labels, weights)
    return compute_observed_sse(records, labels, is_kept, weights)


def _sum_figures(
    Z: Floats, before: Floats, after: Floats, weights: Floats | None
) -> dict[str, Floats]:
    """Return sums over z-scores (n, p) of the values that decide on the release."""
    is_present = ~np.isnan(Z)
    z, b, a = (np.where(is_present, x, 0.0) for x in (Z, before, after))
    return {
        "kept": multiply_by_weights(b, weights).sum(axis=0),
        "products": np.einsum("ij,ik->jk", multiply_by_weights(b, weights), b),
        "released": multiply_by_weights(a, weights).sum(axis=0),
        "squares": multiply_by_weights(a**2, weights).sum(axis=0),
        "sse": multiply_by_weights((z - a) ** 2, weights).sum(axis=0),
        "exact": multiply_by_weights((z - b) ** 2, weights).sum(axis=0),
    }


def apply_global_programs(c: Floats, number: int, config: BlockState) -> Floats:
    """Return the centroids of a block (m, d), some as programs of all blocks have them.

    These are of the numbers whose programs had an answer.
    """
    first, centroids = sum(config.counts[:number]), c.copy()
    places = slice(first, first + config.counts[number])
    for j in config.solved:
        centroids[:, j] = load_arrays(config.at("solved", j), "centroids")["centroids"][
            places
        ]
    return centroids


def compare_block(
    number: int, X: Floats, released: Floats, labels: Labels, config: BlockState
) -> None:
    """Write the counts of a comparison of a block with its originals X (n, d).

    `released` (n, d) are the published values, and `labels` (n,) the groups.
    """
    names, steps = config.job.roles.quasi_identifier, np.zeros(X.shape[1])
    spreads = config.scale.spread.tolist()
    for j, name, spread in zip(config.places, config.numbers, spreads, strict=True):
        clock = config.clocks.get(name)
        steps[j] = compute_rounding_distance(spread, config.job.output, clock)
    groups = [(range(X.shape[1]), labels)]
    same = count_unchanged_values(names, X, released, steps, groups).of_members(())
    changes = MissingChanges.of(X, released, groups)
    save_state(config.at("compared", number), (changes, same))


def add_originals(audit: Audit, config: BlockState) -> Audit:
    """Return an audit with the comparison with the originals of all blocks."""
    paths = config.all("compared", len(config.blocks))
    changes, same = zip(*map(load_state, paths), strict=True)
    names = config.job.roles.quasi_identifier
    return audit.with_originals(
        names, MissingChanges.merge(changes), Unchanged.merge(same)
    )
