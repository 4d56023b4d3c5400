"""Small strata of a table in parts, each merged with the nearest one."""

from dataclasses import replace
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.types import Floats
from aggopt.data.context.strata import find_stratum_domains, merge_small_strata
from aggopt.data.parsing.categories import find_nodes, publish_nodes
from aggopt.engine.state.run_state import LeafState, RunState
from aggopt.engine.state.shuffle import Each
from aggopt.engine.steps.attribute_values import parse_dates
from aggopt.engine.steps.describe import (
    compute_block_coordinates,
    count_rows_at_once,
    read_checked_table,
    read_summary,
)
from aggopt.engine.steps.strata import TableStrata
from aggopt.engine.storage import scratch_files
from aggopt.engine.validate.values import require_few_centres
from aggopt.job import Job


def add_merged_strata(run_step: Each, config: LeafState) -> LeafState:
    """Return the run state with strata of fewer than k records merged.

    Raises
    ------
    InfeasibleInputError
        Tasks cannot hold that many means of strata.
    JobError
        A node of a tree would be published in a column that is not text.
    """
    if config.strata is None:
        return config
    table_strata: TableStrata = scratch_files.load_state(config.strata)
    if (table_strata.sizes >= config.job.privacy.k).all():
        return config
    require_few_centres(len(table_strata.sizes), _count_coordinates(config))
    run_step("centre", len(config.pieces), _drop_weights(config))
    sums: Floats = scratch_files.sum_arrays(
        config.all("centred", len(config.pieces)), "sums"
    )["sums"]
    to = config.work / "of-strata-merged"
    scratch_files.save_state(
        to, _merge_strata(table_strata, sums / table_strata.sizes[:, None], config.job)
    )
    return replace(config, strata=to)


def _drop_weights(config: LeafState) -> LeafState:
    """Return the run state as if all records had equal weights."""
    if config.mean_weight is None:
        return config
    config = replace(config, mean_weight=None)
    levels = {
        name: level.weighed(level.counts.astype(np.float64))
        for name, level in config.levels.items()
    }
    return replace(config, scale=read_summary(config)[0].scale, levels=levels)


def sum_stratum_centres(number: int, config: LeafState) -> int:
    """Write a piece's sums of coordinates per stratum; return the stratum count.

    A missing value counts as the mean of all.
    """
    rows = parse_dates(config.pieces[number].read(config.columns), config)
    strata = _read_strata(config.strata)
    count = len(strata.sizes)
    stratum_of_row = strata.of(rows)
    X = read_checked_table(rows, config).matrix()
    sums = np.zeros((count, _count_coordinates(config)))
    rows_at_once = count_rows_at_once(config)
    for start in range(0, len(X), rows_at_once):
        part = slice(start, start + rows_at_once)
        Z = compute_block_coordinates(X[part], config, config.scale)
        for j, z in enumerate(Z.T):
            sums[:, j] += np.bincount(stratum_of_row[part], z, count)
    scratch_files.save_arrays(config.at("centred", number), sums=sums)
    return count


def set_published_strata(out: pa.Table, rows: pa.Table, config: RunState) -> pa.Table:
    """Return released rows with the strata into which originals were merged."""
    if config.strata is None:
        return out
    strata = _read_strata(config.strata)
    if strata.published is None:
        return out
    stratum_of_row = pa.array(strata.of(rows))
    for name in strata.published.column_names:
        place = out.schema.get_field_index(name)
        out = out.set_column(
            place, name, strata.published.column(name).take(stratum_of_row)
        )
    return out


def _read_strata(path: Path | None) -> TableStrata:
    """Return the strata of the table from a file."""
    table_strata: TableStrata = scratch_files.load_state(path)
    return table_strata


def _count_coordinates(config: LeafState) -> int:
    """Return the number of coordinates of an encoded record."""
    nothing = np.zeros((0, len(config.job.roles.quasi_identifier)))
    return int(compute_block_coordinates(nothing, config, config.scale).shape[1])


def _repeat_strata(table_strata: TableStrata) -> nw.DataFrame[pa.Table]:
    """Return the strata's values, repeated as if rows were records.

    Or twice as many as strata: then no values are as different as an identifier's.
    """
    strata = len(table_strata.sizes)
    more = min(int(table_strata.sizes.sum()), 2 * strata) - strata
    rows = np.concatenate([np.arange(strata), np.zeros(more, np.int64)])
    return nw.from_native(table_strata.keys.take(pa.array(rows)), eager_only=True)


def _merge_strata(table_strata: TableStrata, centres: Floats, job: Job) -> TableStrata:
    """Return the strata with small ones merged into the nearest."""
    domains = find_stratum_domains(_repeat_strata(table_strata), job)
    frame = nw.from_native(table_strata.keys, eager_only=True)
    codes = np.stack([find_nodes(frame[n], domains[n]) for n in domains], axis=1)
    order = np.lexsort(codes.T[::-1])
    nodes = np.empty_like(codes)
    nodes[order] = merge_small_strata(
        codes[order], table_strata.sizes[order], centres[order], domains, job
    )
    groups, into = np.unique(nodes, axis=0, return_inverse=True)
    columns = {
        name: publish_nodes(
            frame[name], domain, groups[:, j].astype(np.float64)
        ).to_native()
        for j, (name, domain) in enumerate(domains.items())
    }
    few = table_strata.sizes < job.privacy.k
    moved = (nodes != codes).any(axis=1)
    return TableStrata(
        table_strata.keys,
        np.bincount(into.ravel(), table_strata.sizes).astype(np.int64),
        int(few.sum()),
        int(table_strata.sizes[few].sum()),
        into=into.ravel(),
        published=pa.table(columns),
        changed=int(table_strata.sizes[moved].sum()),
    )
