"""State of the kernels that list boxes, and of those that raise prices."""

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
    """Prices of combinations, and room for the k largest of a box.

    Attributes
    ----------
    prices : (c,)
        Price of each record with a combination.
    counts, weights : (c,)
        Number of records, and the sampling weight of each of them.
    k
        Least number of records of a group.
    largest, excess : (k,)
        Combinations of the k largest prices less weighted losses, and these excesses.
    """

    prices: F64
    counts: I64
    weights: F64
    k: int
    largest: I64
    excess: F64
