"""Bounds of small tables, and the best of all partitions.  Not a benchmark."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from aggopt.algorithms.pair_bound import bound_partitions
from aggopt.algorithms.pair_bound.requirements import (
    DistinctClasses,
    LimitedShares,
    OrderedCloseness,
    PairRequirement,
)

KINDS = ("plain", "ties", "copies", "weights", "t", "alpha", "l", "units")
MOST = 11  # records
SECONDS = 0.1


class Trial(NamedTuple):
    """A table, the requirement of its groups, and which groups satisfy it."""

    kind: str
    records: np.ndarray
    k: int
    weights: np.ndarray | None
    requirement: PairRequirement | None
    is_allowed: Callable[[list[int]], bool]


def draw_trial(rng: np.random.Generator, kind: str) -> Trial:
    k = int(rng.integers(2, 5 if kind in ("plain", "ties", "copies") else 4))
    n = int(rng.integers(2 * k, MOST + 1 if kind in KINDS[:3] else MOST - 1))
    records = rng.normal(size=(n, int(rng.integers(1, 4))))
    if kind == "ties":
        records = records.round(int(rng.integers(0, 2)))
    if kind == "copies":
        records[rng.integers(0, n, n // 2)] = records[0]
    records = records / 2.0 ** np.frexp(np.abs(records).max() + 1e-9)[1]
    weights: np.ndarray | None = None
    requirement: PairRequirement | None = None
    classes = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]

    def is_allowed(group: list[int]) -> bool:
        return True

    if kind == "weights":
        weights = np.exp(rng.normal(size=n) * rng.uniform(0.1, 1.5))
        weights /= weights.mean()
    elif kind == "t":
        values = (4 * records[:, 0] + rng.normal(size=n)).round(int(rng.integers(0, 2)))
        classes = np.unique(values, return_inverse=True)[1]
        close = OrderedCloseness(classes, float(rng.uniform(0.08, 0.3)))
        requirement = close

        def is_allowed(group: list[int]) -> bool:
            counts = np.bincount(classes[group], minlength=close.count)
            away = np.cumsum(counts)[:-1] / len(group) - close.cumulative
            return bool(np.abs(away).sum() <= close.t * max(len(away), 1) + 1e-12)

    elif kind == "alpha":
        alpha = float(rng.uniform(0.4, 0.7))
        requirement = LimitedShares(classes, alpha)

        def is_allowed(group: list[int]) -> bool:
            return bool(np.bincount(classes[group]).max() <= alpha * len(group) + 1e-12)

    elif kind in ("l", "units"):
        if kind == "units":
            classes = np.unique(rng.integers(0, n - 2, n), return_inverse=True)[1]
        least = k if kind == "units" else int(rng.integers(2, 4))
        requirement = DistinctClasses(classes, least)

        def is_allowed(group: list[int]) -> bool:
            return len({*classes[group].tolist()}) >= least

    return Trial(kind, records, k, weights, requirement, is_allowed)


def find_least_loss(trial: Trial) -> float:
    """Return the least loss of all partitions; inf if none is allowed."""
    n = len(trial.records)
    weights = np.ones(n) if trial.weights is None else trial.weights
    costs: dict[int, float] = {}
    for size in range(trial.k, n + 1):
        for group in combinations(range(n), size):
            members = [*group]
            if trial.is_allowed(members):
                x, w = trial.records[members], weights[members, None]
                centre = (w * x).sum(axis=0) / w.sum()
                costs[sum(1 << i for i in group)] = float((w * (x - centre) ** 2).sum())
    by_first: dict[int, list[tuple[int, float]]] = {}
    for code, cost in costs.items():
        by_first.setdefault(code & -code, []).append((code, cost))
    least = {0: 0.0}

    def find(left: int) -> float:
        if left not in least:
            groups = by_first.get(left & -left, [])
            rests = (c + find(left ^ g) for g, c in groups if g & left == g)
            least[left] = min(rests, default=np.inf)
        return least[left]

    return find((1 << n) - 1)


def iterate_shares(tables: int, seed: int) -> Iterator[tuple[str, float]]:
    """Yield the kind of each table, and its bound as a share of the least loss."""
    rng = np.random.default_rng(seed)
    count = 0
    while count < tables:
        trial = draw_trial(rng, KINDS[count % len(KINDS)])
        loss = find_least_loss(trial)
        least = trial.requirement.find_least_size(trial.k) if trial.requirement else 0
        k = max(trial.k, least)
        if not np.isfinite(loss) or loss < 1e-12 or len(trial.records) < 2 * k:
            continue
        count += 1
        options: dict[str, Any] = {"weights": trial.weights}
        if trial.requirement is not None:
            options["requirements"] = [trial.requirement]
        proven = bound_partitions(trial.records, k, SECONDS, **options)
        yield trial.kind, proven.bound / loss
