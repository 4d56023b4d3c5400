"""Small strata of a table in parts, each merged with the nearest one."""

from dataclasses import replace
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.core.validation import Floats
from aggopt.data.context.merged_strata import merge_small_strata
from aggopt.data.context.strata import find_stratum_domains
from aggopt.data.parsing.categories import find_nodes, publish_nodes
from aggopt.engine.state.run_state import LeafState, RunState
from aggopt.engine.state.shuffle import Each
from aggopt.engine.steps.coordinates import block_coordinates
from aggopt.engine.steps.dates import parse_dates
from aggopt.engine.steps.describe import check_table, count_rows_at_once, read_summary
from aggopt.engine.steps.strata import TableStrata
from aggopt.engine.storage.scratch_files import (
    load_state,
    save_arrays,
    save_state,
    sum_arrays,
)
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job

MOST = 20_000_000  # coordinates of means of strata: each task adds up as many


def add_merged_strata(each: Each, config: LeafState) -> LeafState:
    """Return the run state with strata of k records or more each.

    Raises
    ------
    InfeasibleInputError
        Tasks cannot hold that many means of strata.
    JobError
        A node of a tree would be published in a column that is not text.
    """
    if config.strata is None:
        return config
    held: TableStrata = load_state(config.strata)
    if (held.sizes >= config.job.privacy.k).all():
        return config
    _require_few(held, config)
    each("centre", len(config.pieces), _unweighed(config))
    sums: Floats = sum_arrays(config.all("centred", len(config.pieces)), "sums")["sums"]
    to = config.work / "of-strata-merged"
    save_state(to, _merged(held, sums / held.sizes[:, None], config.job))
    return replace(config, strata=to)


def _unweighed(config: LeafState) -> LeafState:
    """Return the run state as if all records had equal weights, as in memory."""
    if config.mean_weight is None:
        return config
    config = replace(config, mean_weight=None)
    levels = {
        name: each.weighed(each.counts.astype(np.float64))
        for name, each in config.levels.items()
    }
    return replace(config, scale=read_summary(config)[0].scale, levels=levels)


def sum_stratum_centres(number: int, config: LeafState) -> int:
    """Write the sums of coordinates of a piece's records over strata; return them.

    A missing value counts as the mean of all.
    """
    rows = parse_dates(config.pieces[number].read(config.columns), config)
    strata = _strata(config.strata)
    count, of = len(strata.sizes), strata.of(rows)
    X = check_table(rows, config).matrix()
    sums = np.zeros((count, _width(config)))
    rows_at_once = count_rows_at_once(config)
    for start in range(0, len(X), rows_at_once):
        part = slice(start, start + rows_at_once)
        Z = block_coordinates(X[part], config, config.scale)
        for j, z in enumerate(Z.T):
            sums[:, j] += np.bincount(of[part], z, count)
    save_arrays(config.at("centred", number), sums=sums)
    return count


def set_published_strata(out: pa.Table, rows: pa.Table, config: RunState) -> pa.Table:
    """Return records of a release with the strata that the originals `rows` are in."""
    if config.strata is None:
        return out
    strata = _strata(config.strata)
    if strata.published is None:
        return out
    of = pa.array(strata.of(rows))
    for name in strata.published.column_names:
        place = out.schema.get_field_index(name)
        out = out.set_column(place, name, strata.published.column(name).take(of))
    return out


def _strata(path: Path | None) -> TableStrata:
    found: TableStrata = load_state(path)
    return found


def _width(config: LeafState) -> int:
    """Return the number of coordinates of a record."""
    names = config.job.roles.quasi_identifier
    nothing = np.zeros((0, len(names)))
    return int(block_coordinates(nothing, config, config.scale).shape[1])


def _require_few(held: TableStrata, config: LeafState) -> None:
    strata, width = len(held.sizes), _width(config)
    if strata * width > MOST:
        raise InfeasibleInputError(
            f"There are {plural(strata, 'stratum', 'strata')} of records that have "
            f"{plural(width, 'coordinate')}, and the nearest of them are looked for by "
            f"their means: {MOST} numbers at most.",
            fix='set small = "drop" under [strata], or name fewer columns as stratum.',
        )


def _as_often(held: TableStrata) -> nw.DataFrame[pa.Table]:
    """Return the values of strata, of as many records as the table has.

    Or twice as many as strata: then no values are as different as an identifier's.
    """
    strata = len(held.sizes)
    more = min(int(held.sizes.sum()), 2 * strata) - strata
    rows = np.concatenate([np.arange(strata), np.zeros(more, np.int64)])
    return nw.from_native(held.keys.take(pa.array(rows)), eager_only=True)


def _merged(held: TableStrata, centres: Floats, job: Job) -> TableStrata:
    """Return strata with small ones merged, as for one table in memory."""
    domains = find_stratum_domains(_as_often(held), job)
    frame = nw.from_native(held.keys, eager_only=True)
    codes = np.stack([find_nodes(frame[n], domains[n]) for n in domains], axis=1)
    order, nodes = np.lexsort(codes.T[::-1]), np.empty_like(codes)
    of = codes[order], held.sizes[order], centres[order]
    nodes[order] = merge_small_strata(*of, domains, job)
    own, into = np.unique(nodes, axis=0, return_inverse=True)
    columns = {
        name: publish_nodes(
            frame[name], domain, own[:, j].astype(np.float64)
        ).to_native()
        for j, (name, domain) in enumerate(domains.items())
    }
    few, moved = held.sizes < job.privacy.k, (nodes != codes).any(axis=1)
    return TableStrata(
        held.keys,
        np.bincount(into.ravel(), held.sizes).astype(np.int64),
        int(few.sum()),
        int(held.sizes[few].sum()),
        into=into.ravel(),
        published=pa.table(columns),
        changed=int(held.sizes[moved].sum()),
    )
