"""MDAV and CBFS written down once more: slow, obvious, and exact on integers."""

import numpy as np


def mdav(X, k, ending="3k"):
    """Return labels (n,) for records X (n, d), by full sorts and full sums."""
    rest, groups = np.arange(len(X)), []
    while len(rest) >= (3 * k if ending == "3k" else 2 * k):
        r = X[outermost(X, rest)]
        s = X[rest[squares(X[rest] - r).argmax()]]
        rest = take(X, rest, r, k, groups)
        rest = take(X, rest, s, k, groups)
    if ending == "3k" and len(rest) >= 2 * k:
        rest = take(X, rest, X[outermost(X, rest)], k, groups)
    if len(rest) >= k:
        return labels(X, [*groups, rest])
    return spread(X, rest, k, groups)


def cbfs(X, k):
    """Return labels (n,) for records X (n, d), by full sorts and full sums."""
    rest, groups = np.arange(len(X)), []
    while len(rest) >= k:
        rest = take(X, rest, X[outermost(X, rest)], k, groups)
    return spread(X, rest, k, groups)


def squares(gaps):
    return (gaps**2).sum(axis=1)


def outermost(X, rest):
    # farthest from the centroid, times the number of records: whole numbers stay so
    return rest[squares(len(rest) * X[rest] - X[rest].sum(axis=0)).argmax()]


def take(X, rest, point, k, groups):
    nearest_first = squares(X[rest] - point).argsort(kind="stable")
    groups.append(rest[nearest_first[:k]])
    return np.setdiff1d(rest, groups[-1])


def spread(X, rest, k, groups):
    totals = np.array([X[group].sum(axis=0) for group in groups])
    result = labels(X, groups)
    for i in rest:
        result[i] = squares(k * X[i] - totals).argmin()
    return result


def labels(X, groups):
    result = np.full(len(X), -1)
    for number, group in enumerate(groups):
        result[group] = number
    return result
