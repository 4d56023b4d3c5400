"""The orders of MHM written down once more: slow, obvious, and exact on integers."""

import numpy as np
from partition import reference
from partition.reference import squares


def nearest_point_next(X, labels, count):
    """Paths to the nearest record, through each group that is entered."""
    return [ordering(X, labels, first) for first in outermost(X, count)]


def outermost(X, count):
    found = [int(reference.outermost(X, np.arange(len(X))))]
    while len(found) < count:
        nearest = np.min([squares(X - X[i]) for i in found], axis=0)
        if not nearest.any():
            break
        found.append(int(nearest.argmax()))
    return found


def ordering(X, labels, first):
    path, rest = [first], np.delete(np.arange(len(X)), first)
    while len(rest):
        same = rest[labels[rest] == labels[path[-1]]]
        among = same if len(same) else rest
        path.append(among[squares(X[among] - X[path[-1]]).argmin()])
        rest = rest[rest != path[-1]]
    return path


def md(X, k):
    """Return labels (n,): groups around the two records farthest apart."""
    rest, groups = np.arange(len(X)), []
    out = squares(len(X) * X - X.sum(axis=0))
    while len(rest) >= 2 * k:
        distances = np.array([squares(X[rest] - X[i]) for i in rest])
        np.fill_diagonal(distances, -1)
        two = rest[list(np.unravel_index(distances.argmax(), distances.shape))]
        for i in two if out[two[0]] >= out[two[1]] else two[::-1]:
            rest = reference.take(X, rest, X[i], k, groups)
    if len(rest) >= k:
        return reference.labels(X, [*groups, rest])
    return reference.spread(X, rest, k, groups)


def shorter(tour, records, near):
    """Tours that 2-opt or Or-opt make by joining a to one of its near.

    Only those that bring `a` nearer to it than it is to what it loses.
    """
    n = len(tour)
    for way in (tour, tour[::-1]):
        for at in range(n):
            turned = np.roll(way, -at)  # a comes first, then all others
            for c in near[turned[0]]:
                yield from reconnected(turned, c, records)
                for size in (1, 2, 3):
                    yield from carried(turned, c, size, records)


def reconnected(turned, c, records):
    a, b = turned[0], turned[1]
    at = int(np.flatnonzero(turned == c)[0])
    if gap(records, a, c) < gap(records, a, b):
        yield np.concatenate((turned[:1], turned[at:0:-1], turned[at + 1 :]))


def carried(turned, c, size, records):
    stretch, rest = turned[:size], turned[size:]
    if c in stretch or len(rest) < 3:
        return
    a, z, q, p = stretch[0], stretch[-1], rest[0], rest[-1]
    saved = gap(records, p, a) + gap(records, z, q) - gap(records, p, q)
    if gap(records, a, c) < saved:
        at = int(np.flatnonzero(rest == c)[0])
        yield np.concatenate((rest[: at + 1], stretch, rest[at + 1 :]))
        yield np.concatenate((rest[:at], stretch[::-1], rest[at:]))


def gap(records, i, j):
    return np.sqrt(((records[i] - records[j]) ** 2).sum())


def length(tour, records):
    there = records[tour]
    return np.sqrt(((there - np.roll(there, 1, axis=0)) ** 2).sum(axis=1)).sum()
