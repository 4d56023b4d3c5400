"""Linkage: share of records that the best one-to-one assignment links to their own."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.memory import require_memory
from aggopt.core.types import Floats, Labels
from aggopt.errors import JobError
from aggopt.measure._pair import TOLERANCE, Attacker, LinkedGroups, Pair
from aggopt.measure.registry import BLOCK, Comparison, Heading, Measure, split_rows
from aggopt.measure.registry import WHOLE as WHOLE


@dataclass(frozen=True)
class Linkage:
    """Result of the best one-to-one assignment.

    Attributes
    ----------
    share
        Expected share of records that are linked to their own, a fraction.
    limit
        Limit of any linkage: groups / records.  A group has records that are released
        with equal values and share the known columns.
    blocks
        Number of blocks of the assignment; 1 means all records at once, or all that
        share the known columns.
    """

    share: float
    limit: float
    blocks: int


def linkage(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    whole: int = WHOLE,
    known: Any = None,
    units: Any = None,
) -> Linkage:
    """Return the linkage by optimal one-to-one assignment, a fraction in (0, 1].

    The intruder knows the original records, and that each of them is released once.
    The intruder assigns a different released record to each, with the least sum of
    squared Euclidean distances over values standardised by the original.  Equal
    released records (a group) cannot be distinguished, nor can equal original records.
    The linkage is thus the expected share of right links: the sum over all records of
    [assigned within its own group] / (size of the group), over n.  Lower is better.

    With the original itself and distinct records it is 1.  It never exceeds groups /
    records, the `limit`.  Several assignments are best if their sums differ by less
    than a part in 1e9 of the longest distance among them: the one with the most right
    links counts.  Unlike in `dld`, shifting all values of a region does not help.
    Attributes constant in the original are left out.

    More than `whole` records are assigned in blocks, each of at most 1000 records (or
    of `whole`, if that is less), or of one group.  The released records are halved in
    the attribute of their largest spread until the blocks are small enough; groups stay
    whole.  Each block is assigned the originals of its own records.  The intruder is
    granted the block of every record, so the share is mostly a little higher than that
    of all at once; it may be lower.  Time grows with the cube of the records in a
    block: 5000 at once take 5 to 10 s and 400 MB, 100 000 in blocks 4 to 20 s.

    Parameters
    ----------
    whole
        Most records that are assigned at once, 1 or more.
    known : (n,) or (n, q), optional
        Columns that are published unchanged and that the intruder knows, such as
        strata.  Records that share them are assigned separately.
    units : (n,) or (n, q), optional
        Unit of each record.  A link is right if it reaches a record of the unit.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies; known
        or units have another number of records.
    JobError
        whole is not a whole number of at least 1.
    InfeasibleInputError
        The memory does not suffice for the distances of a block.

    Source: Herranz, Nin, Rodriguez and Tassa (2015), global distance-based record
    linkage; here with ties in expectation.

    Examples
    --------
    >>> linkage([[0.0], [2.0], [4.0], [6.0]], [[5.0], [5.0], [9.0], [9.0]])
    Linkage(share=0.5, limit=0.5, blocks=1)
    """
    largest = check_whole(whole)
    pair = Pair.of(original, released)
    return compute_linkage(
        pair.add_attacker(Attacker.of(pair.n, known, units)), largest
    )


def compute_linkage(pair: Pair, max_records: int = WHOLE) -> Linkage:
    """Return `linkage` of tables already paired."""
    groups = LinkedGroups.of(pair.released, pair.attacker)
    block_limit = pair.n if pair.n <= max_records else min(max_records, BLOCK)
    block_of_row = np.empty(len(groups.rows), dtype=np.intp)
    classes = blocks = 0
    for first, last in groups.spans:
        for part in split_rows(
            groups.rows[first:last], groups.sizes[first:last], block_limit
        ):
            block_of_row[first + part] = blocks
            blocks += 1
        classes += 1
    block = block_of_row[groups.group]
    alone = (np.bincount(block_of_row) == 1)[block]  # one group: nothing to assign
    links = groups.certain[alone].sum() + sum(
        _count_right_links(pair, groups, records)
        for records in _group_by_block(block, np.flatnonzero(~alone))
    )
    split = blocks if blocks > classes else 1
    return Linkage(float(links / pair.n), groups.limit, split)


def _group_by_block(block: Labels, records: Labels) -> list[Labels]:
    """Return these records (p,) by the block of each record (n,)."""
    order = records[np.argsort(block[records])]
    parts = np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
    return [part for part in parts if len(part)]


def check_whole(max_records: object) -> int:
    """Return the limit as a whole number, or refuse it."""
    fix = f"pass a number of records of at least 1, such as whole={WHOLE}."
    if isinstance(max_records, bool) or not isinstance(max_records, Integral):
        raise JobError(
            f"whole must be a whole number, not {type(max_records).__name__}.", fix=fix
        )
    if max_records < 1:
        raise JobError(f"whole = {max_records} is not at least 1.", fix=fix)
    return int(max_records)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Distinct rows (m, v) in order, which of them each record has, and how often."""

    rows: Floats = field(repr=False)
    group: Labels = field(repr=False)
    sizes: Labels = field(repr=False)

    @classmethod
    def of(cls, records: Floats) -> "_Groups":
        """Return the distinct records, with the group of each record and the sizes."""
        distinct = np.unique(records, axis=0, return_inverse=True, return_counts=True)
        rows, group, sizes = distinct
        return cls(rows, group.ravel(), sizes)


def _count_right_links(pair: Pair, groups: LinkedGroups, records: Labels) -> float:
    """Return the expected number of right links among the records of a block."""
    n = len(records)
    require_memory(2 * 8 * n * n, f"The assignment of {n} records")
    people = _Groups.of(pair.original[records])
    released_groups = np.unique(groups.group[records])
    right = _compute_right_chance(people, groups, records, released_groups)
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    costs = cdist(people.rows, groups.rows[released_groups], "sqeuclidean")
    entries = right.tocoo()
    costs[entries.row, entries.col] -= TOLERANCE * costs.max() * entries.data
    person = np.repeat(np.arange(len(people.rows)), people.sizes)
    place = np.repeat(np.arange(len(released_groups)), groups.sizes[released_groups])
    taken = place[linear_sum_assignment(costs[np.ix_(person, place)])[1]]
    return float(right[person, taken].sum())


def _compute_right_chance(
    people: _Groups, groups: LinkedGroups, records: Labels, places: Labels
) -> Any:
    """Return the chance that a link from originals p to groups `places` is right.

    Of the s_p equal originals each is linked to group r, of s_r records, as often: the
    link is right in the mean over them of (records of its unit in r) / s_r.
    """
    from scipy.sparse import csr_matrix

    if groups.units is None:
        unit = np.arange(len(records))
    else:
        unit = np.unique(groups.units[records], return_inverse=True)[1]
    p = people.group
    r = np.searchsorted(places, groups.group[records])
    n = len(records)
    links = 1 / people.sizes[p]
    linked = csr_matrix((links, (p, unit)), (len(people.rows), n))
    return linked @ csr_matrix(
        (1 / groups.sizes[places][r], (unit, r)), (n, len(places))
    )


def get_linkage(tables: Comparison) -> Linkage:
    """Return `linkage` of tables in comparison."""
    return compute_linkage(tables.pair, tables.whole)


def _describe_linkage(result: Any) -> str:
    """Return the remark on the linkage of an assessment."""
    by = "" if result.linkage_blocks == 1 else f" in {result.linkage_blocks} blocks"
    return f"one-to-one assignment{by}; at most {100 * result.linkage_limit:.2f} %"


LINKAGE = Measure(
    name="linkage",
    when="whom an intruder finds who knows the originals and links one to one",
    rank=50,
    function=linkage,
    range="0..1",
    better="lower",
    source="Herranz, Nin, Rodriguez and Tassa (2015)",
    of=lambda tables: tables.once(get_linkage).share,
    heading=Heading.RISK,
    label="linkage",
    says=_describe_linkage,
)
