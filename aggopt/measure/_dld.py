"""Distance linkage disclosure: records that are linked to their own released record."""

from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.types import F64, Bool, Labels
from aggopt.core.validation import is_whole_number
from aggopt.errors import JobError
from aggopt.measure._pair import Attacker, LinkedGroups, Pair
from aggopt.measure.registry import Heading, Measure

_ROUNDING = 1e-13  # of the lengths that enter a distance


def dld(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    nearest: int = 1,
    known: Any = None,
    units: Any = None,
) -> float:
    """Return the distance linkage disclosure, a fraction in [0, 1].

    An intruder with the original records links each of them to the nearest
    released record, in Euclidean distance over values standardised by the original.
    DLD is the expected share of records that are linked to their own.  A record counts
    1 / (number of released records at the least distance) if its own released record is
    among them, otherwise 0; DLD is the mean over all records.  Lower is better.

    With the original itself and distinct records it is 1; groups of k give at most
    1/k.  Distances that differ by less than rounding can make up count as equal.
    Attributes constant in the original are left out.  Memory grows with n d.

    The literature links to one record and does not treat ties.  Its programs take the
    first, so that only one of several equal released records can be linked.  Both agree
    on groups of k whose members are all nearest to their own group, and without ties.
    The expected share does not depend on the order of the records.

    Parameters
    ----------
    nearest
        Number of released records that the intruder may name, in order of distance: 1,
        or 2 to also count the second nearest.  A record then counts the chance that its
        own released record is one of them.
    known : (n,) or (n, q), optional
        Columns that are published unchanged and that the intruder knows, such as
        strata.  A record is linked to a released record that shares them.
    units : (n,) or (n, q), optional
        Unit of each record.  A link is right if it reaches a record of the unit.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies; known
        or units have another number of records.
    JobError
        nearest is not a whole number of at least 1.

    Source: Domingo-Ferrer and Torra (2001); with the second nearest, Han, Cen and Yu,
    Definition 4.

    Examples
    --------
    >>> dld([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]])
    0.5
    >>> dld([[0.0], [1.0], [9.0]], [[1.0], [0.0], [9.0]], nearest=2)
    1.0
    """
    if not is_whole_number(nearest) or nearest < 1:
        raise JobError(
            f"nearest = {nearest!r} is not a whole number of at least 1.",
            fix="pass 1, or 2 to also count the second nearest record.",
        )
    pair = Pair.of(original, released)
    paired = pair.add_attacker(Attacker.of(pair.n, known, units))
    if nearest == 1:
        return compute_dld(paired)
    return _compute_among_nearest(paired, nearest)


def _compute_among_nearest(pair: Pair, nearest: int) -> float:
    """Return the mean chance that a right record is among the `nearest` ones."""
    groups = LinkedGroups.of(pair.released, pair.attacker)
    return float(
        np.mean(
            [
                _compute_chance_among(pair.original[i], i, groups, span, nearest)
                for span in groups.spans
                for i in _list_records(groups, span)
            ]
        )
    )


def _list_records(groups: LinkedGroups, span: tuple[int, int]) -> list[int]:
    """Return the records of the groups from the first to the last of a class."""
    first, last = span
    of_class: Bool = (groups.group >= first) & (groups.group < last)
    return [int(i) for i in np.flatnonzero(of_class)]


def _compute_chance_among(
    z: F64, record: int, groups: LinkedGroups, span: tuple[int, int], nearest: int
) -> float:
    """Return the chance that one of the `nearest` records of a class is right.

    The groups are walked by distance.  If all records of a distance may be named, one
    right record among them suffices; of the last distance, records are drawn at random.
    """
    first, last = span
    distances = np.linalg.norm(groups.rows[first:last] - z, axis=1)
    order = np.argsort(distances, kind="stable")
    reach = distances[order] + _ROUNDING * (np.linalg.norm(z) + distances[order])
    remaining = nearest
    for start, end in pairwise(_split_by_distance(distances[order], reach)):
        tied = first + order[start:end]
        right = int(groups.count(np.full(len(tied), record), tied).sum())
        size = int(groups.sizes[tied].sum())
        if size > remaining:
            return 1 - comb(size - right, remaining) / comb(size, remaining)
        if right:
            return 1.0
        remaining -= size
        if not remaining:
            break
    return 0.0


def _split_by_distance(distances: F64, reach: F64) -> list[int]:
    """Return the places at which ascending distances rise by more than rounding."""
    ends: list[int] = [0]
    for j in range(1, len(distances)):
        if distances[j] > reach[ends[-1]]:
            ends.append(j)
    return [*ends, len(distances)]


def compute_dld(pair: Pair) -> float:
    """Return `dld` of tables already paired."""
    groups = LinkedGroups.of(pair.released, pair.attacker)
    right = groups.certain.copy()  # final if a class has one group
    order = np.argsort(groups.group, kind="stable")
    ends = np.append(0, np.cumsum(groups.sizes))
    for first, last in groups.spans:
        if last - first > 1:
            records = order[ends[first] : ends[last]]
            right[records] = _compute_right_chance(
                pair.original, groups, records, first, last
            )
    return float(right.sum() / pair.n)


def _compute_right_chance(
    z: F64, groups: LinkedGroups, records: Labels, first: int, last: int
) -> F64:
    """Return the chance that the nearest of groups first to last is right, (p,).

    `records` (p,) are the records of these groups.
    """
    from scipy.spatial import cKDTree

    z = z[records]
    rows = groups.rows
    sizes = groups.sizes
    tree = cKDTree(rows[first:last])
    distances, places = tree.query(z, k=2)
    nearest = first + places[:, 0]
    reach = distances[:, 0] + _ROUNDING * (np.linalg.norm(z, axis=1) + distances[:, 0])
    right: F64 = groups.count(records, nearest) / sizes[nearest]
    tied = distances[:, 1] <= reach
    if groups.units is None:  # if the own group is farther, no link is right
        tied &= np.linalg.norm(z - rows[groups.group[records]], axis=1) <= reach
    for i in np.flatnonzero(tied):
        near = first + np.array(tree.query_ball_point(z[i], reach[i]))
        group_counts = groups.count(np.full(len(near), records[i]), near)
        right[i] = group_counts.sum() / sizes[near].sum()
    return right


DLD = Measure(
    name="dld",
    when="whom an intruder finds who links each original to the nearest",
    rank=60,
    function=dld,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2001)",
    of=lambda tables: compute_dld(tables.pair),
    heading=Heading.RISK,
    label="DLD",
    says=lambda result: "records linked to the nearest",
)
