"""The records nearest to each."""

import numpy as np

from aggopt.arrays import Floats, Labels

COPIES = 2  # records at one place that a list may hold
TREE = 20  # attributes up to which a tree is faster than looking at all
PART = 5000  # records looked up between two looks at Ctrl-C
CHUNK = 4_000_000  # distances held at a time


def neighbours(Z: Floats, count: int) -> Labels:
    """Return the `count` nearest others of each record of Z (n, d), n of 2 or more.

    (n, c) ints, nearest first, c = min(count, n - 1).  Of the records at one place a
    list holds COPIES at most, different ones in different lists, so that it leads
    elsewhere however many there are; a list that ends early repeats its first record.
    """
    n = len(Z)
    count = min(count, n - 1)
    places, place = np.unique(Z, axis=0, return_inverse=True)
    if len(places) == n:
        return _without_itself(nearest(Z, count + 1)[1], count)
    near = nearest(places, min(len(places), count + 1))[1]
    return _first_few(_copies(near, place.ravel()), count)


def nearest(Z: Floats, count: int) -> tuple[Floats, Labels]:
    """Return distances and numbers (n, count) of the records nearest to each.

    Exact, nearest first; each is among its own.
    """
    if Z.shape[1] <= TREE:
        return _by_tree(Z, count)
    step = max(1, CHUNK // len(Z))
    parts = [
        _by_looking_at_all(Z, Z[a : a + step], count) for a in range(0, len(Z), step)
    ]
    return np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])


def _by_tree(Z: Floats, count: int) -> tuple[Floats, Labels]:
    from scipy.spatial import cKDTree

    tree, ranks = cKDTree(Z), np.arange(1, count + 1)
    parts = [tree.query(Z[a : a + PART], ranks) for a in range(0, len(Z), PART)]
    return np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])


def _by_looking_at_all(Z: Floats, some: Floats, count: int) -> tuple[Floats, Labels]:
    from scipy.spatial.distance import cdist

    apart = cdist(some, Z)
    found = np.argpartition(apart, count - 1, axis=1)[:, :count]
    distances = np.take_along_axis(apart, found, axis=1)
    order = distances.argsort(axis=1, kind="stable")
    return np.take_along_axis(distances, order, 1), np.take_along_axis(found, order, 1)


def _without_itself(found: Labels, count: int) -> Labels:
    own = found == np.arange(len(found))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.ascontiguousarray(found[~own].reshape(len(found), count), np.intp)


def _copies(near: Labels, place: Labels) -> Labels:
    """Return records (n, c) at the places near[place], -1 where there is none."""
    sizes = np.bincount(place)
    start = np.cumsum(sizes) - sizes
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(place), np.intp)
    rank[order] = np.arange(len(place)) - np.repeat(start, sizes)
    there = near[place]
    size = sizes[there]
    out = np.empty((*there.shape, COPIES), np.intp)
    for c in range(COPIES):
        turn = (rank[:, None] + 1 + c) % size
        out[..., c] = np.where(c < size, order[start[there] + turn], -1)
    out = out.reshape(len(place), -1)
    return np.where(out == np.arange(len(place))[:, None], -1, out)


def _first_few(found: Labels, count: int) -> Labels:
    """Return the first `count` of each row that are not -1, the first for others."""
    order = (found < 0).argsort(axis=1, kind="stable")[:, :count]
    kept = np.take_along_axis(found, order, axis=1)
    kept = np.where(kept < 0, kept[:, :1], kept)
    short = count - kept.shape[1]
    return np.ascontiguousarray(
        np.hstack([kept, np.repeat(kept[:, :1], short, axis=1)])
    )
