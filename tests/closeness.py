"""t-close partitions in exact arithmetic, and by looking at every partition."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from partition import exact

from aggopt.core.standardise import Scale


def emd(values: Sequence[float], group: Sequence[int]) -> Fraction:
    """The ordered EMD between some records and all, over distinct values."""
    bins = sorted(set(values))
    if len(bins) == 1:
        return Fraction(0)
    total = Fraction(0)
    for v in bins:
        among = Fraction(sum(values[i] <= v for i in group), len(group))
        total += abs(among - Fraction(sum(u <= v for u in values), len(values)))
    return total / (len(bins) - 1)


def sse(Z: np.ndarray, partition: Sequence[Sequence[int]]) -> Fraction:
    """Sum of squares within groups."""
    columns = (Z[list(g), q] for g in partition for q in (0, 1))
    return sum((exact.cost(exact.values(c), "sse") for c in columns), Fraction(0))


def parts(labels) -> list[list[int]]:
    return [np.flatnonzero(labels == g).tolist() for g in range(max(labels) + 1)]


def holds(values, labels, k: int, t: Fraction) -> bool:
    return all(len(g) >= k and emd(values, g) <= t for g in parts(labels))


def least(Z: np.ndarray, values, k: int, t: Fraction) -> Fraction:
    """The least loss of a t-close partition into groups of k or more."""
    close: dict[tuple[int, ...], bool] = {}
    loss: dict[tuple[int, ...], Fraction] = {}

    def keeps(g: list[int]) -> bool:
        key = tuple(g)
        if key not in close:
            close[key] = emd(values, g) <= t
        return close[key]

    def of(g: list[int]) -> Fraction:
        key = tuple(g)
        if key not in loss:
            loss[key] = sse(Z, [g])
        return loss[key]

    found = exact.partitions(list(range(len(Z))), k)
    return min(sum(map(of, p)) for p in found if all(map(keeps, p)))


def instance(seed: int, n: int, ties: bool = True) -> tuple[np.ndarray, list[int]]:
    """z-scores (n, 2), and confidential values that go with them somewhat."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    values = rng.integers(0, n if ties else 10**6, n) + np.rint(2 * X[:, 0]).astype(int)
    return np.ascontiguousarray(Scale.of(X).standardise(X)), values.tolist()
