"""Tasks of one block of records that are near each other: its groups, its release."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggopt.aggregate import median
from aggopt.aggregate.aggregation import group_means
from aggopt.core.columns import REFUSE
from aggopt.core.randomness import draw_words
from aggopt.core.record_weights import group_sse, multiply_by_weights
from aggopt.core.types import I64, Bool, Floats, Labels
from aggopt.data.context.confidential import list_requirements
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.engine.state.moments import compute_block_moments
from aggopt.engine.state.run_state import BlockState, LeafState
from aggopt.engine.state.shuffle import Shuffle, read_block
from aggopt.engine.steps import categories
from aggopt.engine.steps.describe import compute_coordinates, read_checked_table
from aggopt.engine.steps.global_confidential import read_confidential_of_part
from aggopt.engine.steps.merge_small_strata import set_published_strata
from aggopt.engine.steps.strata import apply_within_strata
from aggopt.engine.steps.weights import append_weights, read_weights, scale_weights
from aggopt.engine.storage import scratch_files
from aggopt.job import Mean
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.aggregate.table_parts import PresentRows
from aggopt.pipeline.finish.evaluate import compute_rounding_distance
from aggopt.pipeline.finish.published_values import publish_values, publish_weights
from aggopt.pipeline.finish.rounding import round_numbers
from aggopt.pipeline.partition.methods import (
    list_dominance_requirements,
    make_weight_arguments,
)
from aggopt.pipeline.partition.missing_values import (
    compute_observed_sse,
    partition_incomplete,
)
from aggopt.pipeline.partition.subsets import SubsetPartitioner
from aggopt.pipeline.prepare.prepared_table import find_missing
from aggopt.pipeline.prepare.published_grid import read_bounds
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.missing import MissingChanges
from aggopt.release.audit.originals import Unchanged, count_unchanged_values
from aggopt.repair.merge_until_satisfied import merge_until_satisfied

HELD = ("labels", "centroids", "kept", "sizes")
GROUP_BITS = 32  # of a group's number: the rest is its block's


def partition_block(number: int, config: BlockState) -> int:
    """Partition a block; write its groups and their sums; return the group count."""
    rows, _ = read_block(number, config)
    job = config.job
    table = read_checked_table(rows, config)
    X = table.matrix()
    records = compute_coordinates(X, config, config.scale)
    labels, is_kept = partition_table_of_block(table, records, config)
    weights = scale_weights(read_weights(table), config)
    sizes = count_observed(is_kept, labels, weights)
    Z = standardise_numbers(np.where(is_kept, X, np.nan), config)
    means, centroids = compute_observed_means(
        Z, labels, job.aggregation.method, weights
    )
    number_sizes = sizes[:, config.places]
    c = np.nan_to_num(centroids)
    if job.missing.policy != REFUSE:
        scratch_files.save_arrays(
            config.at("kept", number), **compute_block_moments(Z, weights)
        )
    lost, away = (np.nan_to_num(Z - x[labels]) for x in (means, centroids))
    scratch_files.save_arrays(
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
        **categories.make_global_data(X, is_kept, weights, config),
    )
    return len(sizes)


def standardise_numbers(X: Floats, config: BlockState) -> Floats:
    """Return the z-scores (n, p) of the numeric columns of X (n, d)."""
    numbers = X[:, config.places]
    return np.where(np.isnan(numbers), np.nan, config.scale.standardise(numbers))


def publish_block(number: int, config: BlockState) -> list[int]:
    """Write a block's published records, by released file; return counts per file."""
    rows, numbers = read_block(number, config)
    arrays = scratch_files.load_arrays(config.at("grouped", number), *HELD)
    labels = arrays["labels"]
    c = _shift_centroids(number, arrays["centroids"], config)
    table = read_checked_table(rows, config)
    X = table.matrix()
    table_weights = read_weights(table)
    weights = scale_weights(table_weights, config)
    values = _assemble_values(number, table, c, arrays, weights, config)
    entries = {name: level.column(name) for name, level in config.levels.items()}
    spreads = config.scale.spread
    masked = publish_values(table, values[labels], labels, config.job, spreads, entries)
    released = masked.matrix()
    compare_block(number, X, released, labels, config, masked.find_wide())
    Z = standardise_numbers(np.where(arrays["kept"], X, np.nan), config)
    scratch_files.save_arrays(
        config.at("figures", number),
        **_sum_figures(Z, c[labels], standardise_numbers(released, config), weights),
        stated=_sum_statement_losses(table, values[labels], labels, weights, config),
    )
    place = draw_words(config.secret, f"order of block {number}", len(labels))
    group = (np.int64(number) << GROUP_BITS) + labels
    if table_weights is not None:
        masked = publish_weights(masked, labels, table_weights, config.job)
    out = categories.convert_categories(masked.to_arrow(), config)
    out = set_published_strata(out, rows, config)
    out = append_weights(out, table_weights, arrays["kept"], config)
    for column in (numbers, group, place.view(np.int64)):
        out = scratch_files.append_column(out, column)
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
    """Return the published value of each group and attribute, (m, d)."""
    X = table.matrix()
    labels = arrays["labels"]
    scale = config.scale
    values = np.empty((len(c), X.shape[1]))
    bounds = read_bounds(table, config.job, config.numbers).undone(c, scale)
    sizes = arrays["sizes"][:, config.places]
    values[:, config.places] = round_numbers(
        bounds, np.arange(len(c)), sizes, scale.spread, table, config.job
    )
    if config.categories:
        codes = categories.read_codes(X, arrays["kept"], config)
        nodes = categories.choose_nodes_of_block(number, codes, labels, weights, config)
        values[:, config.places_of_categories] = nodes
    return values


def _shift_centroids(number: int, c: Floats, config: BlockState) -> Floats:
    """Return the published centroids (m, p) for group means c, nan if none."""
    if config.shift is None and not config.solved:
        return c
    moved = c if config.shift is None else config.shift.of(c)
    moved = apply_global_programs(moved, number, config)
    if config.kept_values is not None:
        moved = config.kept_values.scale.undo(moved)
    return np.where(np.isnan(c), np.nan, moved)


def make_part_shuffle(config: BlockState) -> Shuffle:
    """Return the shuffle of records from blocks to the files of the release."""
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
    """Return sums and products of original and published z-scores (n, p), by name."""
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


def _sum_statement_losses(
    table: Table,
    values: Floats,
    labels: Labels,
    weights: Floats | None,
    config: BlockState,
) -> Floats:
    """Return the generalised loss of each number (p,), 0 without statements.

    Values (n, d) that are missing lose nothing.
    """
    lost = np.zeros(len(config.numbers))
    for j, name in enumerate(config.numbers):
        if name in table.spans:
            ends = table.widen(name, labels)
            blank = np.isnan(values[:, config.places[j]])
            losses = np.where(blank, 0.0, table.spans[name].compute_losses(*ends))
            lost[j] = multiply_by_weights(losses, weights).sum()
    return lost


def apply_global_programs(c: Floats, number: int, config: BlockState) -> Floats:
    """Return centroids c (m, d) of a block, with solved attributes replaced.

    These are of the numbers whose programs had an answer.
    """
    first = sum(config.counts[:number])
    centroids = c.copy()
    places = slice(first, first + config.counts[number])
    for j in config.solved:
        centroids[:, j] = scratch_files.load_arrays(
            config.at("solved", j), "centroids"
        )["centroids"][places]
    return centroids


def compare_block(
    number: int,
    X: Floats,
    released: Floats,
    labels: Labels,
    config: BlockState,
    wide: Bool,
) -> None:
    """Write counts of values that a block publishes unchanged or as missing.

    `released` (n, d) are the published values, and `labels` (n,) the groups.  Of those
    in `wide` (n, d) a statement of several values is published.
    """
    names = config.job.roles.quasi_identifier
    steps = np.zeros(X.shape[1])
    spreads = config.scale.spread.tolist()
    for j, name, spread in zip(config.places, config.numbers, spreads, strict=True):
        clock = config.clocks.get(name)
        steps[j] = compute_rounding_distance(spread, config.job.output, clock)
    groups = [(range(X.shape[1]), labels)]
    same = count_unchanged_values(names, X, released, steps, groups, wide)
    same = same.of_members(())
    changes = MissingChanges.of(X, released, groups)
    scratch_files.save_state(config.at("compared", number), (changes, same))


def add_originals(audit: Audit, config: BlockState) -> Audit:
    """Return the audit with the comparison with originals, summed over blocks."""
    paths = config.all("compared", len(config.blocks))
    changes, same = zip(*map(scratch_files.load_state, paths), strict=True)
    names = config.job.roles.quasi_identifier
    return audit.with_originals(
        names, MissingChanges.merge(changes), Unchanged.merge(same)
    )


def partition_table_of_block(
    table: Table, records: Encoded, config: LeafState
) -> tuple[Labels, Bool]:
    """Return the group of each record (n,), and a mask (n, d) of kept values.

    `records` are the coordinates of a table.  Groups are made within each stratum
    independently, and by the job's policy if values of the block are missing.
    """
    incomplete = bool(find_missing(records).any())
    if config.strata is None:
        return _partition_records(table, records, config, incomplete=incomplete)
    is_kept = np.empty((len(records), len(records.attributes)), np.bool_)

    def partition_stratum(rows: I64) -> Labels:
        part = table.select_rows(rows)
        alone = compute_coordinates(part.matrix(), config, config.scale)
        labels, is_kept[rows] = _partition_records(
            part, alone, config, incomplete=incomplete
        )
        return labels

    strata = scratch_files.load_state(config.strata).of(table.frame.to_arrow())
    return apply_within_strata(strata, partition_stratum), is_kept


def _partition_records(
    table: Table, records: Encoded, config: LeafState, *, incomplete: bool
) -> tuple[Labels, Bool]:
    """Return the groups of records (n,), repaired if required, and the mask (n, d)."""
    job = config.job
    repairs = job.privacy.repair is not None
    on_progress = scratch_files.stop_on_request(config.work, 2 if repairs else 1)
    sampling = read_sampling_weights(table)
    weights = None if sampling is None else scale_weights(sampling.values, config)
    apart = incomplete and job.missing.policy == "patterns"
    settings = {
        **job.partition.settings,
        **make_weight_arguments(job, weights, apart=apart),
        "region_size": len(records),  # no border within the block
        "jobs": 1,
    }
    confidential = (
        *read_confidential_of_part(table.frame, config),
        *list_dominance_requirements(job, sampling),
    )
    divide = PARTITIONERS.of(job.partition).function
    if incomplete:
        result = partition_incomplete(
            records,
            (tuple(range(len(records.attributes))),),
            SubsetPartitioner(divide, settings, on_progress),
            # means and variances are kept over all blocks
            job.model_copy(update={"aggregation": Mean()}),
            confidential,
            on_progress if repairs else None,
            weights=weights,
            require=_allow_nothing_published,
        )
        (block,) = result.blocks
        return block.labels, result.kept
    k = min(job.privacy.k, len(records))
    labels = divide(records, k, **settings, progress=on_progress).labels
    if repairs:
        labels = merge_until_satisfied(
            records,
            labels,
            list_requirements(confidential),
            progress=on_progress,
            weights=weights,
        )
    return labels, np.ones((len(records), len(records.attributes)), np.bool_)


def _allow_nothing_published(is_kept: Bool, names: Sequence[str]) -> None:
    """Accept attributes without published values: other blocks may have some."""


def compute_observed_means(
    Z: Floats, labels: Labels, method: str, weights: Floats | None
) -> tuple[Floats, Floats]:
    """Return group means and centroids (m, p) of the present values of Z (n, p).

    nan if a group has none.  Weighted by (n,), if given.
    """
    if not np.isnan(Z).any():
        return _compute_complete_means(Z, labels, method, weights)
    shape = int(labels.max()) + 1, Z.shape[1]
    means = np.full(shape, np.nan)
    centroids = np.full(shape, np.nan)
    for j, z in enumerate(Z.T):
        is_present = PresentRows.of(~np.isnan(z), labels)
        if len(is_present.rows):
            weights_of_rows = None if weights is None else weights[is_present.rows]
            complete_means = _compute_complete_means(
                z[is_present.rows, None], is_present.labels, method, weights_of_rows
            )
            means[is_present.there, j], centroids[is_present.there, j] = (
                x[:, 0] for x in complete_means
            )
    return means, centroids


def _compute_complete_means(
    Z: Floats, labels: Labels, method: str, weights: Floats | None
) -> tuple[Floats, Floats]:
    """Return group means and centroids (m, p) of Z (n, p) without missing values."""
    if not Z.shape[1]:
        nothing = np.empty((int(labels.max()) + 1, 0))
        return nothing, nothing
    means = group_means(Z, labels, weights)
    if method != "median":
        return means, means
    return means, median(Z, labels, weights=weights).centroids


def count_observed(is_kept: Bool, labels: Labels, weights: Floats | None) -> Floats:
    """Return the number, or weight, of kept values of each group (m, d)."""
    weighted = multiply_by_weights(is_kept.astype(np.float64), weights)
    return np.stack([np.bincount(labels, x) for x in weighted.T], axis=1)
