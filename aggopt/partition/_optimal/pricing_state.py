"""Input and result of exact pricing."""

from typing import NamedTuple

import numpy as np

from aggopt.core.types import I32, I64, Bool
from aggopt.core.validation import Floats


class Distances(NamedTuple):
    """Distances for the costs of groups; all weights are 1 for unweighted records.

    Attributes
    ----------
    pair : (n, n)
        Squared distances of records, times the weights of both.
    pull : (n, n)
        Squared distances from record i to j, times the weight of j: from a medoid.
    near : (n, 2k)
        Sums of the q least entries of a row of `pair`, without the record itself.
    weight : (n,)
        Weight of each record.
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
        Cost of each pair of a cut's records in a group, -s_l >= 0.
    inside : (cuts, n)
        Whether a cut counts each record.
    first, cuts : (n + 1,), (c,)
        The cuts of positive cost that count record i: cuts[first[i] : first[i + 1]].
    mate_first, mates
        Likewise the records that must be in one group with record i.
    before : (n,)
        The copy that must be chosen before record i; -1 without one.
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
    """Limits of a search for groups, and of its work.

    Attributes
    ----------
    most
        Largest reduced cost of wanted groups.
    keep, room
        Number of returned groups, for each medoid and in total.
    candidates, nodes, all_nodes
        Candidates and nodes for each medoid, nodes in total; 0: no limit.
    """

    most: float
    keep: int
    room: int
    candidates: int
    nodes: int
    all_nodes: int


RETURNED, WANTED, NODES, MEDOIDS = range(4)  # positions in `PricingResult.counts`


class PricingResult(NamedTuple):
    """Groups (room, 2k - 1), their reduced costs, and the progress of the search.

    Attributes
    ----------
    least : (n,)
        The least reduced cost found from each medoid; `most` if none was found.
    done : (n,)
        Whether all wanted groups of each medoid were found.
    counts : (4,)
        Groups returned, groups found, nodes and candidates, medoids completed.
    """

    members: I32
    reduced: Floats
    least: Floats
    done: Bool
    counts: I64

    @classmethod
    def create_empty(cls, n: int, k: int, limits: Limits) -> "PricingResult":
        """Return an empty result for n records."""
        return cls(
            np.full((limits.room, 2 * k - 1), -1, np.int32),
            np.empty(limits.room),
            np.full(n, limits.most),
            np.zeros(n, np.bool_),
            np.zeros(4, np.int64),
        )
