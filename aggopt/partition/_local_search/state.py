"""State of a local search: records, groups, and a trail of changes."""

from typing import NamedTuple

from aggopt.core.types import I64, U64, Bool, Floats, Labels
from aggopt.partition.constraints import Promise

LANES = 4  # attributes that are summed in parallel
TRAIL = 4096  # changes since a perturbation that can be undone, at least
GROWTH = 8  # records that a group may gain beyond doubling, under constraints


class Weights(NamedTuple):
    """Sampling weights of records (n,), of mean 1 in the table.

    No record has more than `share` of its group's weight; 1 is no restriction. During a
    search, mass (m,) are the groups' weights. An instance belongs to one search at a
    time.
    """

    values: Floats
    mass: Floats
    share: float


class Space(NamedTuple):
    """Constant input of a search.

    Z (n, d) within [-1, 1], d filled up with zeros to a multiple of LANES; near (n, c),
    the records whose groups a record may join; k, the smallest size; `promise`, the
    constraints on groups; `weights`, those of records; None compiles to nothing.
    """

    Z: Floats
    near: Labels
    k: int
    promise: Promise | None
    weights: Weights | None = None


class Groups(NamedTuple):
    """Groups, some of them empty.

    Group g has the records ids[start[g] : start[g] + size[g]], ordered by their places
    if t is required, and one place less than up to start[g + 1]: the last is for a
    record that joins before another leaves. Record i is in group label[i], at
    ids[where[i]], and spread[i] from its centre[g], squared; loss[g] is the sum of
    these, weighted if records are.
    """

    label: Labels
    ids: I64
    where: I64
    start: I64
    size: I64
    centre: Floats
    spread: Floats
    loss: Floats


# Positions in `Trail.counts`: members of a named tuple cannot change, entries can
MOVED, TOUCHED, STAMP, HEAD, QUEUED, SPARE, LOOKED, UNDOES = range(8)


class Trail(NamedTuple):
    """Undo log of the changes since the last perturbation, and the queue of records.

    Record moved[c] came from group origin[c], for c below counts[MOVED]; the groups
    touched[: counts[TOUCHED]] had an SSE of before[g] each, and mark[g] is
    counts[STAMP] for them.  The queue contains counts[QUEUED] records, the first of
    them queue[counts[HEAD]]; spare[: counts[SPARE]] are the empty groups;
    examined[g] is counts[LOOKED] for a group already examined; counts[UNDOES] is 1 if
    changes may be undone.
    """

    moved: I64
    origin: I64
    touched: I64
    before: Floats
    mark: I64
    queue: I64
    queued: Bool
    spare: I64
    examined: I64
    random_state: U64
    counts: I64


FOUND = 0  # position in `Collected.counts`


class Collected(NamedTuple):
    """Arrays that the kernels fill.

    key (n,), a random number per record; slots (2^b,), the exclusive or of the keys of
    each group, 0 if empty; group c has the records ids[start[c] : start[c + 1]];
    counts[FOUND] is the number of groups.
    """

    key: U64
    slots: U64
    start: I64
    ids: I64
    counts: I64
