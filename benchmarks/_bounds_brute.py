"""Bounds of small tables, and the best of all partitions.  Not a benchmark."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from aggopt.partition import loss_bound

FREE = ("plain", "ties", "copies", "weights")
CLOSE = ("ordered", "equal", "hierarchical", "ordered, weights")
OTHERS = ("alpha", "l", "units", "strata", "dominance")
KINDS = (*FREE, *CLOSE, *OTHERS)
MOST = 11  # records
SECONDS = 0.1
TREE = {"low": [0, 1], "high": [2, 3]}


class Trial(NamedTuple):
    """A table, the arguments of `loss_bound`, and which groups are allowed."""

    kind: str
    records: np.ndarray
    k: int
    options: dict[str, Any]
    is_allowed: Callable[[list[int]], bool]


def draw_trial(rng: np.random.Generator, kind: str) -> Trial:
    k = int(rng.integers(2, 5 if kind in FREE[:3] else 4))
    n = int(rng.integers(2 * k, MOST + 1 if kind in FREE[:3] else MOST - 1))
    records = rng.normal(size=(n, int(rng.integers(1, 4))))
    if kind == "ties":
        records = records.round(int(rng.integers(0, 2)))
    if kind == "copies":
        records[rng.integers(0, n, n // 2)] = records[0]
    weights = np.exp(rng.normal(size=n) * rng.uniform(0.1, 1.5))
    if kind in CLOSE:
        return draw_close_trial(rng, kind, records, k, weights)
    classes = rng.integers(0, 3, n)
    options: dict[str, Any] = {}

    def is_allowed(group: list[int]) -> bool:
        return True

    if kind == "weights":
        options = {"weights": weights}
    elif kind == "dominance":
        share = float(rng.uniform(0.35, 0.7))
        options = {"weights": weights, "dominance": share}

        def is_allowed(group: list[int]) -> bool:
            return bool(weights[group].max() <= share * weights[group].sum())

    elif kind == "alpha":
        alpha = float(rng.uniform(0.4, 0.7))
        options = {"confidential": classes, "alpha": alpha}

        def is_allowed(group: list[int]) -> bool:
            return bool(np.bincount(classes[group]).max() <= alpha * len(group) + 1e-12)

    elif kind == "strata":
        options = {"strata": classes % 2}

        def is_allowed(group: list[int]) -> bool:
            return len({*(classes[group] % 2).tolist()}) == 1

    elif kind in ("l", "units"):
        least = k if kind == "units" else int(rng.integers(2, 4))
        if kind == "units":
            classes = rng.integers(0, n - 2, n)
            options = {"units": classes}
        else:
            options = {"confidential": classes, "l": least}

        def is_allowed(group: list[int]) -> bool:
            return len({*classes[group].tolist()}) >= least

    return Trial(kind, records, k, options, is_allowed)


def draw_close_trial(
    rng: np.random.Generator, kind: str, records: np.ndarray, k: int, weights: Any
) -> Trial:
    """Return a table whose groups are close to it, by one of the distances."""
    n = len(records)
    t = float(rng.uniform(0.08, 0.35))
    values = (2 * records[:, 0] + rng.normal(size=n)).round(int(rng.integers(0, 2)))
    if kind in CLOSE[1:3]:
        values = np.clip(values.round(), 0, 3)
    options: dict[str, Any] = {"confidential": values, "t": t}
    if kind == CLOSE[3]:
        options["weights"] = weights
    else:
        options["distance"] = kind
    if kind == "hierarchical":
        options["tree"] = TREE
    distinct, codes = np.unique(values, return_inverse=True)

    def share(group: list[int]) -> np.ndarray:
        return np.bincount(codes[group], minlength=len(distinct)) / len(group)

    def is_allowed(group: list[int]) -> bool:
        away = share(group) - share([*range(n)])
        if kind == "equal":
            far = np.abs(away).sum() / 2
        elif kind == "hierarchical":  # half of each leaf's and each branch's
            low = away[distinct < 2].sum()
            far = (np.abs(away).sum() + 2 * abs(low)) / 4
        else:
            far = np.abs(np.cumsum(away)[:-1]).sum() / max(len(distinct) - 1, 1)
        return bool(far <= t + 1e-12)

    return Trial(kind, records, k, options, is_allowed)


def find_least_loss(trial: Trial) -> float:
    """Return the least loss of all partitions; inf if none is allowed."""
    n = len(trial.records)
    weights = trial.options.get("weights", np.ones(n))
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
        if not np.isfinite(loss) or loss < 1e-12:
            continue
        count += 1
        bound = loss_bound(
            trial.records, trial.k, scale="none", bound=SECONDS, **trial.options
        )
        yield trial.kind, bound / loss
