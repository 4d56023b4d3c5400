"""V-MDAV, diversity and t-closeness written down once more: slow, obvious, exact."""

from fractions import Fraction
from math import ceil

import numpy as np
from partition import reference
from partition.reference import labels, squares


def vmdav(X, k, gamma, centroid):
    """Groups of k that grow, on whole numbers."""
    rest, groups, gamma2 = np.arange(len(X)), [], Fraction(str(gamma)) ** 2
    out = squares(len(X) * X - X.sum(axis=0))
    while len(rest) >= k:
        fixed = centroid == "fixed"
        r = rest[out[rest].argmax()] if fixed else reference.outermost(X, rest)
        rest = reference.take(X, rest, X[r], k, groups)
        while len(groups[-1]) < 2 * k - 1 and len(rest):
            near = gaps(X, rest, groups[-1])
            e, d_in = rest[near.argmin()], near.min()
            others = rest[rest != e]
            if len(others) and d_in >= gamma2 * int(gaps(X, others, [e]).min()):
                break
            if not len(others) and not gamma2:
                break
            groups[-1], rest = np.append(groups[-1], e), others
    placed = labels(X, groups)
    for i in rest:
        placed[i] = np.argmin([apart(X, i, group) for group in groups])
    for group in range(len(groups)):
        members = np.flatnonzero(placed == group)
        if len(members) >= 2 * k:
            parts = reference.mdav(X[members], k)
            placed[members] = np.where(parts == 0, group, placed.max() + parts)
    return placed


def gaps(X, these, group):
    """Squared distance from each to the nearest of a group."""
    return np.min([squares(X[these] - X[i]) for i in group], axis=0)


def apart(X, i, group):
    """Squared distance from a record to a centroid."""
    total, size = X[group].sum(axis=0), len(group)
    return Fraction(int(squares((size * X[i] - total)[None])[0]), size**2)


def emd(places, members):
    """The ordered distance, summed bin by bin."""
    n, m, s = len(places), max(places) + 1, len(members)
    if m == 1:
        return Fraction(0)
    below = np.bincount(places).cumsum()
    own = np.bincount([places[i] for i in members], minlength=m).cumsum()
    moved = sum(abs(n * int(o) - s * int(b)) for o, b in zip(own, below, strict=True))
    return Fraction(moved, n * s * (m - 1))


def bins_of(confidential, bins):
    order = sorted(range(len(confidential)), key=lambda i: (confidential[i], i))
    if bins == "rank":
        return [order.index(i) for i in range(len(order))]
    values = sorted(set(confidential))
    return [values.index(v) for v in confidential]


def merged(X, groups, attributes, t):
    """Groups merged until every attribute is t-close."""
    groups = [list(g) for g in groups]

    def worst(group):
        return max(emd(places, group) for places in attributes)

    while True:
        distances = [worst(g) for g in groups]
        if max(distances) <= t:
            return renumbered(X, groups)
        g = int(np.argmax(distances))
        far = [centroids_apart(X, groups[g], h) for h in groups]
        far[g] = max(far) + 1
        h = far.index(min(far))
        keep, drop = min(g, h), max(g, h)
        groups[keep] = groups[keep] + groups[drop]
        del groups[drop]


def centroids_apart(X, g, h):
    gap = len(h) * X[list(g)].sum(axis=0) - len(g) * X[list(h)].sum(axis=0)
    return Fraction(int((gap**2).sum()), (len(g) * len(h)) ** 2)


def renumbered(X, groups):
    return labels(X, [np.array(g) for g in groups])


def algorithm_1(X, attributes, k, t):
    start = reference.mdav(X, k)
    groups = [np.flatnonzero(start == g) for g in range(start.max() + 1)]
    return merged(X, groups, attributes, t)


def algorithm_2(X, places, k, t):
    """Nearest k, then each next record swapped in if that lowers the EMD."""
    groups, rest, seed = [], list(range(len(X))), None
    while rest:
        seed = _seed(X, rest, seed, len(groups))
        group = rest
        if len(rest) >= 2 * k:
            group = _swapped(X, rest, places, k, t, seed)
        groups.append(group)
        rest = [i for i in rest if i not in group]
    return merged(X, groups, [places], t)


def _seed(X, rest, last, turn):
    if turn % 2:
        return rest[squares(X[rest] - X[last]).argmax()]
    return reference.outermost(X, np.array(rest))


def _swapped(X, rest, places, k, t, seed):
    order = [rest[j] for j in squares(X[rest] - X[seed]).argsort(kind="stable")]
    group, waiting = order[:k], order[k:]
    for y in waiting:
        now = emd(places, group)
        if now <= t:
            break
        ways = [emd(places, [*group[:q], y, *group[q + 1 :]]) for q in range(k)]
        if min(ways) < now:
            group[ways.index(min(ways))] = y
    return group


def algorithm_3(X, places, k, t):
    """One record of each stratum, and one more of the middle."""
    n = len(X)
    count = max(k, ceil(n / (2 * (n - 1) * t + 1)))
    count += (n % count) // (n // count)
    size, extra = divmod(n, count)
    sizes = [size] * count
    if count == 2:
        sizes[1] += extra
    elif count % 2:
        sizes[count // 2] += extra
    else:
        sizes[count // 2 - 1] += (extra + 1) // 2
        sizes[count // 2] += extra // 2
    order = sorted(range(n), key=lambda i: (places[i], i))
    strata = [sorted(order[sum(sizes[:q]) : sum(sizes[: q + 1])]) for q in range(count)]
    groups, seed = [], None
    while rest := sorted(i for stratum in strata for i in stratum):
        seed = _seed(X, rest, seed, len(groups))
        group = []
        for q, stratum in enumerate(strata):
            for again in (False, True):
                if again and not (
                    len(group) == q + 1 and len(stratum) > len(strata[0])
                ):
                    continue
                near = squares(X[stratum] - X[seed]).argmin()
                group.append(stratum.pop(near))
        groups.append(group)
    return merged(X, groups, [places], t)
