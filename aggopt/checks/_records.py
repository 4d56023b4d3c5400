"""Records for trials of partitioners: ordinary ones, and edge cases by name."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from aggopt.core.types import F64

K = 4
SIZES = (1, 2, 7, 30, 31, 60, 61)  # k of 61 records: below, at and next to half and all


class Case(NamedTuple):
    """Records X (n, d), a group size, and the name of their edge case."""

    name: str
    X: F64
    k: int


@cache
def normal() -> F64:
    """Return 61 records of three attributes, without near-ties."""
    return _kept(np.random.default_rng(20).normal(size=(61, 3)))


@cache
def edges() -> dict[str, F64]:
    """Return tables that are difficult for methods, by their edge cases."""
    rng = np.random.default_rng(20)
    ordinary = rng.normal(size=(61, 3))
    signs = rng.choice([-1.0, 1.0], size=(61, 3))
    found = {
        "n is k": ordinary[:K],
        "n is 2k - 1": ordinary[: 2 * K - 1],
        "n is 2k": ordinary[: 2 * K],
        "n is 3k - 1": ordinary[: 3 * K - 1],
        "n is 3k": ordinary[: 3 * K],
        "n is 4k - 1": ordinary[: 4 * K - 1],
        "one attribute": ordinary[:, :1],
        "constant attribute": np.insert(ordinary, 1, 7.0, axis=1),
        "identical records": np.full((61, 3), 0.1),
        "duplicates by the hundred": rng.permutation(
            np.repeat(ordinary[:5], 100, axis=0)
        ),
        "grid full of ties": rng.integers(0, 2, size=(200, 3)).astype(np.float64),
        "offset far above spread": 1e9 + signs,
        "tiny": ordinary * 1e-12,
        "huge": ordinary * 1e12,
        "tiny beside huge": ordinary * [1e-12, 1.0, 1e12],
        "near the largest float": signs * 1e300,
        "at the smallest float": np.where(signs > 0, 5e-324, 0.0),
        "one far outlier": np.vstack([ordinary, [1e15, 0.0, 0.0]]),
        "more than a block": rng.normal(size=(1100, 2)),
        "more attributes than records": rng.normal(size=(9, 40)),
    }
    return {name: _kept(X) for name, X in found.items()}


@cache
def cases() -> tuple[Case, ...]:
    """Return every edge, and ordinary records with groups of any size."""
    found = [Case(name, X, K) for name, X in edges().items()]
    return (*found, *(Case(f"k = {k}", normal(), k) for k in SIZES))


def partitions(n: int, k: int) -> Iterator[list[list[int]]]:
    """Yield every partition of records 0..n-1 into groups of k or more."""

    def grown(groups: list[list[int]], i: int) -> Iterator[list[list[int]]]:
        if i == n:
            yield groups
            return
        missing = sum(max(0, k - len(group)) for group in groups)
        if missing <= n - i:
            for g, group in enumerate(groups):
                yield from grown([*groups[:g], [*group, i], *groups[g + 1 :]], i + 1)
            yield from grown([*groups, [i]], i + 1)

    for groups in grown([], 0):
        if min(map(len, groups)) >= k:
            yield groups


def _kept(X: F64) -> F64:
    """Return read-only records: many laws share them."""
    X.flags.writeable = False
    return X
