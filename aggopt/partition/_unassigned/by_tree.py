"""Take groups from a tree as long as that is faster than plain scans.

A tree is rebuilt whenever a third of its records are gone.  Plain scans do the work
instead

- if so few turns remain until then that building one costs more than it saves:
  with k = 3 some 7000 records, with k = 10 some 24 000;
- from then on, if a tree has read more than PAYS of the entries of plain scans: this
  happens with many attributes that do not depend on each other.
"""

import numpy as np

from aggopt.core.deadline import Progress
from aggopt.partition._box_tree.build import build_tree
from aggopt.partition._unassigned.state import CHUNK, Pool

STAYS = 2 / 3  # share of its records after which a tree is rebuilt
TURNS = 400  # to take until then, at least
PAYS = 0.4  # an entry that a tree reads takes about twice as long as one scanned
TRIAL = 20  # times all entries: read before a tree is judged


def take_groups(
    pool: Pool, k: int, *, paired: bool, enough: int, report: Progress
) -> None:
    """Take groups of k while `enough` records have none and a tree may pay.

    The groups are those of plain scans; see `pool.take_groups`.
    """
    taken = 2 * k if paired else k
    while (
        pool.remaining - (goal := _find_rebuild_size(pool, enough))
    ) >= TURNS * taken:
        if not _take_from_tree(pool, k, paired, goal, report):
            return


def _find_rebuild_size(pool: Pool, enough: int) -> int:
    return max(enough, int(STAYS * pool.remaining))


def _take_from_tree(
    pool: Pool, k: int, paired: bool, enough: int, report: Progress
) -> bool:
    """Take groups from one tree; return whether it paid until its end."""
    from aggopt.partition._box_tree.tree import create_pivots, create_workspace
    from aggopt.partition._unassigned import by_tree_kernels

    tree = build_tree(pool)
    space = create_workspace(k)
    turns = (pool.remaining - enough) // (2 * k if paired else k)
    chosen = create_pivots(tree, turns if paired else 0)
    max_entries = max(1, min(CHUNK, TRIAL * pool.records.size))
    entries_read = scanned = 0
    while pool.remaining >= enough and entries_read <= PAYS * scanned:
        report(pool.done)
        scanned += by_tree_kernels.take_groups(
            pool, tree, chosen, space, k, paired, enough, max_entries
        )
        entries_read += int(space.read[0])
    _move_unassigned_first(pool)
    return pool.remaining < enough


def _move_unassigned_first(pool: Pool) -> None:
    """Move the columns without a group to the front."""
    order = np.argsort(pool.labels[pool.ids] >= 0, kind="stable")
    pool.ids[:] = pool.ids[order]
    for row in pool.records:
        row[:] = row[order]
