"""Arrays of a search: records, groups, and a trial that changes few groups."""

from typing import NamedTuple

from aggopt.algorithms.boxes.state import LossTables
from aggopt.core.types import F64, I32, I64, U64, Bool
from aggopt.partition.constraints import Diverse, Promise


class FurtherRequirements(NamedTuple):
    """Requirements on groups in addition to their size.

    `promise` has t and l; `units` requires k distinct units, if its levels are not
    empty.  A state belongs to one search at a time.
    """

    promise: Promise
    units: Diverse


class RecordSpace(NamedTuple):
    """Records, their losses and requirements: the constant input of a search.

    Attributes
    ----------
    positions : (n, d)
        Position of each record in each attribute.
    losses
        Losses between positions.
    k
        Least number of records of a group.
    combination : (n,)
        Number of each record's combination of positions.
    first, records : (c + 1,), (n,)
        Combination q has the records records[first[q] : first[q + 1]].
    near : (c, T)
        Combinations near each combination, nearest first; -1 after the last.
    prices : (c,)
        Loss that a record of each combination at least costs, roughly.
    weights : (n,)
        Sampling weights, of mean 1.
    requirements
        Requirements in addition to k; None compiles to nothing.
    """

    positions: I64
    losses: LossTables
    k: int
    combination: I64
    first: I64
    records: I64
    near: I32
    prices: F64
    weights: F64
    requirements: FurtherRequirements | None


class HullGroups(NamedTuple):
    """Groups, some of them empty.

    Record i is in group label[i].  Group g has the records head[g], following[head[g]],
    and so on, up to -1; preceding[i] is the record before.  Its positions reach from
    least[g] to greatest[g]; each of its size[g] records, which weigh mass[g] together,
    loses loss[g].  spare[: counts[SPARE]] are the empty groups.  Groups that a trial
    dissolves are not `open`.
    """

    label: I64
    head: I64
    following: I64
    preceding: I64
    lowest: I64
    highest: I64
    size: I64
    mass: F64
    loss: F64
    spare: I64
    open: Bool
    counts: I64


SPARE = 0  # position in `HullGroups.counts`


class RebuildTrial(NamedTuple):
    """Records of a few groups that a trial dissolves, and the groups that it makes.

    Attributes
    ----------
    records, source, target : (p,)
        Records; their group before; and their new group, or FREE, STAYS, or JOINS for
        a record that joins the group joined[p] outside the trial.
    joined : (p,)
        See above.
    dissolved : (g,)
        Groups that the trial takes records from.
    lowest, highest, size, mass, loss
        New groups, as in `HullGroups`.
    changed, old_lowest, old_highest, old_size, old_mass, old_loss
        Groups outside the trial that records join, as they were before.
    seen_levels, seen_units
        Stamp of the last group that had each level, and each unit.
    members
        Records of a group whose requirements are checked.
    random_state
        State of the random numbers.
    counts
        Numbers of records, free records, dissolved groups, new groups, changes, and
        the last stamp.
    """

    records: I64
    source: I64
    target: I64
    joined: I64
    dissolved: I64
    lowest: I64
    highest: I64
    size: I64
    mass: F64
    loss: F64
    changed: I64
    old_lowest: I64
    old_highest: I64
    old_size: I64
    old_mass: F64
    old_loss: F64
    seen_levels: I64
    seen_units: I64
    members: I64
    random_state: U64
    counts: I64


FREE, STAYS, JOINS = -1, -2, -3  # entries of `RebuildTrial.target`
RECORDS, LEFT, DISSOLVED, NEW, CHANGES, STAMP = range(6)  # of `RebuildTrial.counts`
LARGE = 6  # times k: larger groups are not dissolved, but lend records
MOST = 5  # groups that a trial takes records from, at most
