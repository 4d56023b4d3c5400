"""What exact pricing is told, and what it finds."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I32, I64, Bool
from aggopt.core.validation import Floats


class Distances(NamedTuple):
    """What groups cost, by their pairs; records weigh 1 where none have weights.

    Attributes
    ----------
    pair : (n, n)
        Squared distances of records, times the weights of both.
    pull : (n, n)
        Those from record i to j, times the weight of j: from a medoid.
    near : (n, 2k)
        Sums of the q least entries of a row of `pair`, its own left out.
    weight : (n,)
        What each weighs.
    """

    pair: Floats
    pull: Floats
    near: Floats
    weight: Floats


class Prices(NamedTuple):
    """Duals: of records, u (n,), and of cuts.

    Attributes
    ----------
    penalty : (cuts,)
        What each pair of a cut's records costs a group, -s_l >= 0.
    inside : (cuts, n)
        Which records a cut counts.
    first, cuts : (n + 1,), (c,)
        The cuts that count record i and cost something: cuts[first[i] : first[i + 1]].
    mate_first, mates
        Likewise the records that must be in one group with record i.
    before : (n,)
        A record without which record i is not taken, its copy; -1 without one.
    """

    u: Floats
    penalty: Floats
    inside: Bool
    first: I64
    cuts: I64
    mate_first: I64
    mates: I64
    before: I64


class Limits(NamedTuple):
    """What is looked for, and how much work may be spent.

    Attributes
    ----------
    most
        Groups of a larger reduced cost are not wanted.
    keep, room
        Groups that are returned, for each medoid and in all.
    candidates, nodes, all_nodes
        Candidates and nodes for each medoid, nodes in all; 0 for all of them.
    """

    most: float
    keep: int
    room: int
    candidates: int
    nodes: int
    all_nodes: int


RETURNED, WANTED, NODES, MEDOIDS = range(4)  # what `PricingResult.counts` holds


class PricingResult(NamedTuple):
    """Groups (room, 2k - 1), their reduced costs, and how far the search came.

    Attributes
    ----------
    least : (n,)
        The least reduced cost found from each medoid; `most` if none.
    done : (n,)
        Which medoids have no other groups that are wanted.
    counts : (4,)
        Groups returned, groups seen, nodes and candidates, medoids seen to.
    """

    members: I32
    reduced: Floats
    least: Floats
    done: Bool
    counts: I64

    @classmethod
    def nothing(cls, n: int, k: int, limits: Limits) -> "PricingResult":
        """Return room for what is found among n records."""
        return cls(
            np.full((limits.room, 2 * k - 1), -1, np.int32),
            np.empty(limits.room),
            np.full(n, limits.most),
            np.zeros(n, np.bool_),
            np.zeros(4, np.int64),
        )
