"""How many records the best one-to-one assignment links to their own."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.memory import require_memory
from aggopt.core.validation import Floats, Labels
from aggopt.errors import JobError
from aggopt.measure._pair import TOLERANCE, Pair
from aggopt.measure._parts import BLOCK, parted
from aggopt.measure._parts import WHOLE as WHOLE
from aggopt.measure._registry import Comparison, Heading, Measure


@dataclass(frozen=True)
class Linkage:
    """What the best one-to-one assignment links.

    Attributes
    ----------
    share
        Expected share of records that are linked to their own, a fraction.
    limit
        What no linkage exceeds: groups / records, groups of records that are released
        with equal values.
    blocks
        In how many blocks the records were assigned; 1 is all at once.
    """

    share: float
    limit: float
    blocks: int


def linkage(
    original: npt.ArrayLike, released: npt.ArrayLike, *, whole: int = WHOLE
) -> Linkage:
    """Return the linkage by optimal one-to-one assignment, a fraction in (0, 1].

    An intruder who knows the original records, and that each of them is released
    once, assigns to each a released record of its own so that the sum of the squared
    Euclidean distances is least, over values standardised by the original.  Released
    records that are equal (a group) cannot be distinguished, nor can original records
    that are equal, so what counts is the expected share of right links: the sum over
    all records of [assigned within its own group] / (size of the group), over n.
    Lower is better.

    With the original itself and distinct records it is 1; it never exceeds groups /
    records, the `limit`.  Of several best assignments, sums that differ by less than
    a part in 1e9 of the longest distance among them, the one with the most right
    links counts.  Unlike in `dld`, shifting all values of a region does not help.
    Attributes constant in the original are left out.

    More than `whole` records are assigned in blocks, each of at most 1000 records (or
    of `whole`, if that is less), or of one group: the released records are halved
    where they spread most until the blocks are small enough, groups stay whole, and
    each block is assigned the originals of its own records.  The intruder is
    granted the block of everybody, so the share is mostly a little higher than that
    of all at once; it may be lower.  Time grows with the cube of the records in a
    block: 5000 at once take 5 to 10 s and 400 MB, 100 000 in blocks 4 to 20 s.

    Parameters
    ----------
    whole
        Up to how many records are assigned at once, 1 or more.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.
    JobError
        whole is not a whole number of at least 1.
    InfeasibleInputError
        There is not enough memory for the distances of a block.

    Source: Herranz, Nin, Rodriguez and Tassa (2015), global distance-based record
    linkage; here with ties in expectation.

    Examples
    --------
    >>> linkage([[0.0], [2.0], [4.0], [6.0]], [[5.0], [5.0], [9.0], [9.0]])
    Linkage(share=0.5, limit=0.5, blocks=1)
    """
    return linkage_of(Pair.of(original, released), checked_whole(whole))


def linkage_of(pair: Pair, whole: int = WHOLE) -> Linkage:
    """Return `linkage` of tables already paired."""
    groups = _Groups.of(pair.released)
    most = pair.n if pair.n <= whole else min(whole, BLOCK)
    blocks = parted(groups.rows, groups.sizes, most)
    block_of_row = np.empty(len(groups.rows), dtype=np.intp)
    for number, rows in enumerate(blocks):
        block_of_row[rows] = number
    block = block_of_row[groups.group]
    records = np.split(np.argsort(block), np.cumsum(np.bincount(block))[:-1])
    links = sum(
        _links(pair.original[own], _Groups.of(pair.released[own])) for own in records
    )
    return Linkage(float(links / pair.n), len(groups.rows) / pair.n, len(blocks))


def checked_whole(whole: object) -> int:
    """Return the limit as a whole number, or refuse it."""
    fix = f"pass a number of records of at least 1, such as whole={WHOLE}."
    if isinstance(whole, bool) or not isinstance(whole, Integral):
        raise JobError(
            f"whole must be a whole number, not {type(whole).__name__}.", fix=fix
        )
    if whole < 1:
        raise JobError(f"whole = {whole} is not at least 1.", fix=fix)
    return int(whole)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Distinct rows (m, v) in order, which of them each record has, and how often."""

    rows: Floats = field(repr=False)
    group: Labels = field(repr=False)
    sizes: Labels = field(repr=False)

    @classmethod
    def of(cls, records: Floats) -> "_Groups":
        found = np.unique(records, axis=0, return_inverse=True, return_counts=True)
        rows, group, sizes = found
        return cls(rows, group.ravel(), sizes)


def _links(original: Floats, released: _Groups) -> float:
    """Return the expected number of right links among the records of a block."""
    n = len(original)
    if len(released.rows) == 1:
        return 1.0  # n records, each right with 1 / n
    require_memory(2 * 8 * n * n, f"The assignment of {n} records")
    people = _Groups.of(original)
    right = _right(people, released)
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    costs = cdist(people.rows, released.rows, "sqeuclidean")
    there = right.tocoo()
    costs[there.row, there.col] -= TOLERANCE * costs.max() * there.data
    person = np.repeat(np.arange(len(people.rows)), people.sizes)
    place = np.repeat(np.arange(len(released.rows)), released.sizes)
    taken = place[linear_sum_assignment(costs[np.ix_(person, place)])[1]]
    return float(right[person, taken].sum())


def _right(people: _Groups, released: _Groups) -> Any:
    """Return the chance that a link from originals p to released rows r is right.

    Of the s_p equal originals n_pr have row r, which s_r records have: n_pr / s_p of
    those linked are in the row's group, and 1 / s_r of these links are right.
    """
    p, r = people.group, released.group
    chances = 1 / (people.sizes[p] * released.sizes[r])
    from scipy.sparse import csr_matrix

    return csr_matrix((chances, (p, r)))


def linked(tables: Comparison) -> Linkage:
    """Return `linkage` of tables in comparison."""
    return linkage_of(tables.pair, tables.whole)


def _how(found: Any) -> str:
    by = "" if found.linkage_blocks == 1 else f" in {found.linkage_blocks} blocks"
    return f"one-to-one assignment{by}; at most {100 * found.linkage_limit:.2f} %"


LINKAGE = Measure(
    name="linkage",
    when="whom an intruder finds who knows the originals and links one to one",
    rank=50,
    function=linkage,
    range="0..1",
    better="lower",
    source="Herranz, Nin, Rodriguez and Tassa (2015)",
    of=lambda tables: tables.once(linked).share,
    heading=Heading.RISK,
    label="linkage",
    says=_how,
)
