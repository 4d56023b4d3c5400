"""Attacks on a release, counted with pandas and NumPy alone, record by record."""

from collections.abc import Sequence

import numpy as np
import pandas as pd


def attacks(
    original: pd.DataFrame,
    released: pd.DataFrame,
    masked: Sequence[str],
    known: Sequence[str] = (),
    unit: Sequence[str] = (),
    before: Sequence[str] = (),
) -> dict[str, float]:
    """Return linkage, its limit, DLD and SDID of numbers, records in the same order.

    An attacker knows the columns `known` of the release, and looks for a record among
    those that share them.  A link is right if it reaches the unit of the record.
    Chance is among the records that share the columns `before`, known without it.
    """
    X, Y = (table[list(masked)].to_numpy(float) for table in (original, released))
    spread, n = X.std(axis=0), len(X)
    units = np.arange(n) if not unit else original.groupby(list(unit)).ngroup()
    same_unit = np.equal.outer(np.asarray(units), np.asarray(units))
    keys = released[list(known)].apply(tuple, axis=1) if known else pd.Series([0] * n)
    found = {"linkage": 0.0, "linkage_limit": 0.0, "dld": 0.0}
    for rows in map(np.asarray, keys.groupby(keys, sort=False).indices.values()):
        x, y, mine = X[rows], Y[rows], same_unit[np.ix_(rows, rows)]
        alike = (y[:, None] == y[None]).all(axis=2)  # which an attacker confuses
        right = mine.astype(float) @ alike / alike.sum(axis=0)  # of a link to each
        apart = (((x[:, None] - y[None]) / spread) ** 2).sum(axis=2)
        found["linkage"] += right[np.arange(len(rows)), assigned(apart)].sum()
        found["linkage_limit"] += right.max(axis=1).sum()
        near = np.sqrt(apart) <= np.sqrt(apart.min(axis=1, keepdims=True)) + 1e-11
        found["dld"] += ((mine & near).sum(axis=1) / near.sum(axis=1)).sum()
    inside = np.abs(X - Y) <= 0.05 * X.std(axis=0, ddof=1)
    shares = {name: share / n for name, share in found.items()}
    chances = {"linkage_chance": 0.0, "sdid_chance": 0.0}
    for i, row in enumerate(_classes(released, before)):
        chances["linkage_chance"] += same_unit[i, row].mean() / n
        apart = np.abs(X[i] - Y[row])
        chances["sdid_chance"] += (apart <= 0.05 * X.std(axis=0, ddof=1)).mean() / n
    return shares | chances | {"sdid": inside.mean()}


def attribution(
    released: pd.DataFrame,
    target: pd.Series,
    combination: Sequence[str],
    before: Sequence[str] = (),
) -> tuple[float, float]:
    """Return how often the others of a group tell a confidential value, and by chance.

    The others share the `combination` of published columns; by chance those `before`,
    of names with the record itself.
    """
    groups, wider = (_classes(released, names) for names in (combination, before))
    rows = [i for i in range(len(target)) if groups[i].sum() > 1]
    share = np.mean([_guessed(target, i, groups[i]) for i in rows])
    chance = np.mean([_guessed(target, i, wider[i], itself=True) for i in rows])
    return float(share), float(chance)


def _guessed(
    target: pd.Series, i: int, among: np.ndarray, *, itself: bool = False
) -> float:
    """Return the chance that the value of record i is guessed from the others."""
    others = target[among & (np.arange(len(target)) != i)]
    if pd.api.types.is_numeric_dtype(target):
        return float(abs(others.median() - target[i]) <= 0.05 * target.std())
    modes = list((target[among] if itself else others).mode())
    return (target[i] in modes) / len(modes)


def _classes(table: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return which records (n, n) share the columns of these names with each."""
    same = np.ones((len(table), len(table)), bool)
    for name in names:
        same &= np.equal.outer(table[name].to_numpy(), table[name].to_numpy())
    return same


def assigned(costs: np.ndarray) -> np.ndarray:
    """Return the column of each row (n,) in an assignment of least cost (n, n).

    Shortest augmenting paths, one row after another, as in any textbook.
    """
    n = len(costs)
    row_price, column_price = np.zeros(n), np.zeros(n + 1)
    row_of = np.full(n + 1, -1)  # of each column; the last one is where a path begins
    for row in range(n):
        row_of[n], column = row, n
        least, before = np.full(n, np.inf), np.full(n, n)
        used = np.zeros(n + 1, bool)
        while row_of[column] >= 0:
            used[column] = True
            r = row_of[column]
            reduced = costs[r] - row_price[r] - column_price[:n]
            nearer = ~used[:n] & (reduced < least)
            least[nearer], before[nearer] = reduced[nearer], column
            following = int(np.argmin(np.where(used[:n], np.inf, least)))
            step = least[following]
            row_price[row_of[used]] += step
            column_price[used] -= step
            least[~used[:n]] -= step
            column = following
        while column != n:
            row_of[column] = row_of[before[column]]
            column = before[column]
    columns = np.empty(n, np.intp)
    columns[row_of[:n]] = np.arange(n)
    return columns
