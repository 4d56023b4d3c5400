"""What a search reads and changes: records, groups, and a trail of changes."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats, Labels
from aggopt.partition._search.promise import Ints as Ints
from aggopt.partition._search.promise import Promise

LANES = 4  # attributes that are summed side by side
TRAIL = 4096  # changes since a kick that can be undone, at least
GROWTH = 8  # records that a group may gain beside as many as it has, under a promise


class Space(NamedTuple):
    """What does not change.

    Z (n, d) within [-1, 1], d filled up with zeros to a multiple of LANES; near (n, c),
    the records whose groups a record may change with; k, the least size; `promise`
    says what groups keep beside; None compiles to nothing.
    """

    Z: Floats
    near: Labels
    k: int
    promise: Promise | None


class Groups(NamedTuple):
    """Groups, some of them empty.

    Group g has the records who[start[g] : start[g] + size[g]], by their places where t
    is promised, and one place less than up to start[g + 1]: the last is for who comes
    before another leaves.  Record i is in group label[i], at who[where[i]], and own[i]
    from its centre[g], squared; loss[g] is the sum of those.
    """

    label: Labels
    who: Ints
    where: Ints
    start: Ints
    size: Ints
    centre: Floats
    own: Floats
    loss: Floats


class Trail(NamedTuple):
    """What has changed since the last kick, and who is to look for changes.

    Record moved[c] came from group origin[c], for c below counts[0]; the groups
    touched[:counts[1]] lost before[g] each, mark[g] being counts[2] for them.  The
    records queue[counts[3]], ... counts[4] of them, are queued; spare[:counts[5]] are
    the empty groups; seen[g] is counts[6] for a group that was looked at;
    counts[7] is 1 where changes are to be undone.
    """

    moved: Ints
    origin: Ints
    touched: Ints
    before: Floats
    mark: Ints
    queue: Ints
    queued: npt.NDArray[np.bool_]
    spare: Ints
    seen: Ints
    luck: npt.NDArray[np.uint64]
    counts: Ints


def space(Z: Floats, near: Labels, k: int, promise: Promise | None) -> Space:
    """Return records Z (n, d) as the kernels read them."""
    n, d = Z.shape
    _, exponent = np.frexp(np.abs(Z).max())
    filled = np.zeros((n, -(-d // LANES) * LANES))
    filled[:, :d] = np.ldexp(Z, -exponent)
    return Space(filled, np.ascontiguousarray(near, np.intp), k, promise)


def groups(space: Space, labels: Labels) -> Groups:
    """Return labels (n,) as the kernels change them, with room for others."""
    n, rooms = len(labels), _rooms(np.bincount(labels), space)
    m = len(rooms)
    size = np.bincount(labels, minlength=m).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(rooms + 1)))
    order = np.argsort(labels, kind="stable")
    sorted_labels = labels[order]
    at = start[sorted_labels] + np.arange(n) - (np.cumsum(size) - size)[sorted_labels]
    who, where = np.zeros(start[-1], np.int64), np.empty(n, np.int64)
    who[at], where[order] = order, at
    made = Groups(
        labels.astype(np.intp),
        who,
        where,
        start,
        size,
        np.zeros((m, space.Z.shape[1])),
        np.zeros(n),
        np.zeros(m),
    )
    from aggopt.partition._search import group_kernels as kernels

    kernels.settle_all(space, made)
    return made


def _rooms(sizes: Labels, space: Space) -> Ints:
    """Return how many records each group may have, those that are empty yet, too.

    2k - 1, as larger groups lose no less than two; under a promise twice as many as
    they have, and more.
    """
    m, most = len(space.Z) // space.k + 1, 2 * space.k - 1
    if space.promise is None:
        return np.full(m, most, np.int64)
    spare = min(m - len(sizes), len(sizes) // 4 + GROWTH)
    usual = np.full(spare, int(np.median(sizes)), np.intp)
    rooms = 2 * np.concatenate((sizes, usual)) + GROWTH
    return np.maximum(rooms, most).astype(np.int64)


def trail(groups: Groups, seed: int) -> Trail:
    """Return an empty trail; the seed is that of all random choices."""
    n, m = len(groups.label), len(groups.size)
    room = max(TRAIL, 8 * int(groups.size.max()))
    empty = np.flatnonzero(groups.size == 0)
    spare = np.zeros(m, np.int64)
    spare[: len(empty)] = empty
    return Trail(
        moved=np.zeros(room, np.int64),
        origin=np.zeros(room, np.int64),
        touched=np.zeros(m, np.int64),
        before=np.zeros(m),
        mark=np.zeros(m, np.int64),
        queue=np.arange(n, dtype=np.int64),
        queued=np.zeros(n, np.bool_),
        spare=spare,
        seen=np.zeros(m, np.int64),
        luck=np.random.default_rng(seed).integers(2**63, size=1, dtype=np.uint64),
        counts=np.array([0, 0, 1, 0, 0, len(empty), 0, 0], np.int64),
    )
