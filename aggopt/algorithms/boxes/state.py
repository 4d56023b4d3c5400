"""Arrays that compiled code reads and writes: losses, boxes, and prices of records."""

from typing import NamedTuple

from aggopt.core.types import F64, I32, I64

RANGE, NAMES, TREE = range(3)  # any two positions; equal or all; listed statements


class LossTables(NamedTuple):
    """Losses between positions of each attribute, with their weights.

    Attributes
    ----------
    kind, m, first : (d,)
        RANGE, NAMES or TREE; number of positions; where the attribute's entries begin.
    entries
        Of a RANGE or NAMES the points of the m positions; of a TREE the losses (m, m),
        times the weight.
    weight : (d,)
        Factor of the losses.
    low, high
        Of a TREE, at the places of its losses: least and greatest position of the
        statement about a group that reaches from one position to the other.
    """

    kind: I64
    m: I64
    first: I64
    entries: F64
    weight: F64
    low: I32
    high: I32


class BoxArrays(NamedTuple):
    """Boxes that a kernel fills in; empty arrays if it only counts.

    Box b has the combinations members[starts[b] : starts[b + 1]], and each of its
    records loses losses[b].  counts: boxes, members, and members that were looked at.
    """

    starts: I64
    members: I32
    losses: F64
    counts: I64


BOXES, MEMBERS, WORK = range(3)


class BoxKinds(NamedTuple):
    """Kind of each distinct record (c,), and least number of kinds of a box.

    seen (s,) is room for the kinds of a box.
    """

    kinds: I64
    l: int  # noqa: E741
    seen: I64


class BoxLevels(NamedTuple):
    """State of the search, with a row for each attribute in turn.

    Level a has the members order[a, : size[a]], sorted by attribute a.  Run r of equal
    positions begins at run_start[a, r] and ends at run_start[a, r + 1]; `mass` counts
    records up to each run.  The box in turn reaches from run `left` to run `right`.
    """

    order: I32
    run_start: I64
    run_position: I64
    mass: I64
    size: I64
    runs: I64
    left: I64
    right: I64
    loss: F64
    least: I64
    greatest: I64


class PriceState(NamedTuple):
    """Prices of combinations, and room for the dearest group that a box could have.

    Attributes
    ----------
    prices : (c,)
        Price of each record with a combination.
    counts, weights : (c,)
        Number of records, and the sampling weight of each of them.
    k
        Least number of records of a group.
    kinds, l : (c,)
        Kind of the records with each combination, and least number of kinds of a group.
    chosen, copies : (c,)
        Combinations of the dearest group, in front, and the records of each in it.
    best : (s,)
        Combination of the highest price of each kind, while a group is chosen.
    largest, excess : (k,)
        Combinations of the largest prices less weighted losses, and these excesses.
    """

    prices: F64
    counts: I64
    weights: F64
    k: int
    kinds: I64
    l: int  # noqa: E741
    chosen: I64
    copies: I64
    best: I64
    largest: I64
    excess: F64
