"""Typed measures of all small tables: by definition, in exact numbers."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction as F
from itertools import combinations_with_replacement, permutations, product
from math import erf, log, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aggopt import encode
from aggopt.measure import assess, assess_types
from aggopt.measure.types._linkage import dld, linkage

LOW = ["low", "middle", "high"]
TREE = {"lung": ["flu", "cold"], "heart": ["attack"]}
ABOVE = {"flu": ["lung", "*"], "cold": ["lung", "*"], "attack": ["heart", "*"]}
APART = {"p": {"q": 1.0, "r": 2.0}, "q": {"r": 1.0}}
KINDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nominal": ({"kind": "nominal"}, ["a", "b", "c"]),
    "ordinal": ({"order": LOW}, LOW),
    "hierarchical": ({"tree": TREE}, ["flu", "cold", "attack", "lung", "heart", "*"]),
    "distances": ({"distances": APART}, ["p", "q", "r"]),
}


def apart(kind: str, u: str, v: str) -> F:
    """Return the distance of two values: the tree has height 2, below each 1."""
    if u == v:
        return F(0)
    if kind == "nominal":
        return F(1)
    if kind == "ordinal":
        return F(abs(LOW.index(u) - LOW.index(v)), 2)
    if kind == "distances":
        return F(APART[min(u, v)][max(u, v)])
    ways = [
        [u, *ABOVE.get(u, ["*"] * (u != "*"))],
        [v, *ABOVE.get(v, ["*"] * (v != "*"))],
    ]
    shared = next(node for node in ways[0] if node in ways[1])
    return F(sum(way.index(shared) for way in ways), 4)


def small(kind: str, n: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield all releases of all tables of n records, but for the records' order."""
    nodes = KINDS[kind][1]
    for x in combinations_with_replacement(nodes[:3], n):
        yield from ((list(x), list(y)) for y in product(nodes, repeat=n))


def entropy(values: list[Any]) -> float:
    shares = [count / len(values) for count in Counter(values).values()]
    return -sum(share * log(share) for share in shares)


def expected(kind: str, x: list[str], y: list[str], safety: F) -> dict[str, float]:
    """Return every measure of one attribute by its definition."""
    n, own = len(x), list(zip(x, y, strict=True))
    equal, chance = (
        F(sum(u == v for u, v in own), n),
        F(sum(u == v for u in x for v in y), n * n),
    )
    widest = 2 if kind == "distances" else 1
    near = lambda u, v: apart(kind, u, v) <= safety * widest  # noqa: E731
    total = sum(apart(kind, u, v) for u in x for v in x) / (2 * n)
    groups = [[u for u, v in own if v == node] for node in set(y)]
    inner = sum(
        sum(apart(kind, u, v) for u in g for v in g) / (2 * len(g)) for g in groups
    )
    loss = sum(apart(kind, u, v) for u, v in own)
    before, after = Counter(x), Counter(y)
    left = sum(len(g) / n * entropy(g) for g in groups)
    moved = [
        erf(abs(after[u] - before[u]) / n / sqrt(2 * p * (1 - p) / n))
        for u in before
        if 0 < (p := before[u] / n) < 1
    ]
    return {
        "il": float(loss / total) if total else 0.0,
        "within": float(inner / total) if total else 0.0,
        "unchanged": float(equal),
        "kappa": float((equal - chance) / (1 - chance)) if chance < 1 else 0.0,
        "truth": sum(v == u or v in ABOVE.get(u, ()) for u, v in own) / n,
        "sdid": sum(near(u, v) for u, v in own) / n,
        "sdid_chance": sum(near(u, v) for u in x for v in y) / n**2,
        "ebil": left / entropy(x) if len(before) > 1 else 0.0,
        "tv": sum(abs(after[u] - before[u]) for u in {*x, *y}) / (2 * n),
        "pil": sum(moved) / len(moved) if moved else 0.0,
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_each_attribute(kind: str, n: int) -> None:
    how = {"x": KINDS[kind][0]}
    cases = list(small(kind, n))
    for number, (x, y) in enumerate(cases):
        if number % (1 if len(cases) < 200 else 7 if len(cases) < 2000 else 23):
            continue
        if kind == "nominal" and (not {*y} <= {*x} or len({*x}) > max(2, n / 2)):
            continue  # a level that no record has; or an identifier
        safety = F(1, 2) if number % 2 else F(0)
        before, after = pd.DataFrame({"x": x}), pd.DataFrame({"x": y})
        found = assess_types(before, after, how, safety=float(safety)).of_attributes
        got = {name: figures["x"] for name, figures in found.items()}
        assert got == pytest.approx(expected(kind, x, y, safety), abs=1e-12), (x, y)


def pairs(n: int, cases: int, seed: int) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield tables of two attributes and releases of them, some of each kind of tie."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        one = rng.choice(["a", "b"], n), rng.choice(LOW, n)
        two = (
            rng.choice([*dict.fromkeys(one[0])], n),
            rng.choice(LOW[: rng.integers(1, 4)], n),
        )
        keep = rng.random(n) < 0.4
        yield tuple(  # type: ignore[misc]
            pd.DataFrame({"s": s, "o": np.where(keep, one[1], o)})
            for s, o in (one, two)
        )


ORDER = {"o": {"order": LOW}}


@pytest.mark.parametrize("n", [2, 4, 5])
def test_linkage_of_two_attributes_over_all_assignments(n: int) -> None:
    """Distances are sums of both, and multiples of a half: exact."""
    for before, after in pairs(n, 25, seed=n):
        E = encode(before, ORDER, weights="range")
        reach = before["o"].nunique() > 1
        flat = before["s"].nunique() == 1
        x, y = ([*map(tuple, frame.to_numpy())] for frame in (before, after))
        costs = [
            [
                (0 if flat else F(u[0] != v[0]))
                + (apart("ordinal", u[1], v[1]) if reach else 0)
                for v in y
            ]
            for u in x
        ]
        nearest = F(0)
        rows = [(None if flat else v[0], v[1] if reach else None) for v in y]
        people = [(None if flat else u[0], u[1] if reach else None) for u in x]
        for i, row in enumerate(costs):
            nearest += F(row[i] == min(row), row.count(min(row)))
        assert dld(E, after) == pytest.approx(float(nearest / n), abs=1e-12)
        best: dict[F, F] = {}
        for way in permutations(range(n)):
            cost = sum(costs[i][j] for i, j in enumerate(way))
            right = sum(
                F(sum(people[h] == people[i] and rows[h] == rows[j] for h in range(n)))
                / people.count(people[i])
                / rows.count(rows[j])
                for i, j in enumerate(way)
            )
            best[cost] = max(best.get(cost, F(0)), right)
        found = linkage(E, after)
        assert found.share == pytest.approx(float(best[min(best)] / n), abs=1e-12)
        assert found.limit == len(set(rows)) / n


@pytest.mark.parametrize("n", [2, 4, 5])
def test_tables_of_two_attributes(n: int) -> None:
    for before, after in pairs(n, 40, seed=10 + n):
        found = assess_types(before, after, ORDER)
        x, y = ([*map(tuple, frame.to_numpy())] for frame in (before, after))
        names = ("two_way", "two_way_pil", "cramers_v", "mutual_information")
        if before["s"].nunique() == 1 or before["o"].nunique() == 1:
            assert [found[name] for name in names] == [None] * 4
            continue
        one, two = Counter(x), Counter(y)
        moved = [
            erf(abs(two[c] - one[c]) / n / sqrt(2 * p * (1 - p) / n))
            for c in one
            if 0 < (p := one[c] / n) < 1
        ]
        told = [
            sum(entropy([*side]) for side in zip(*t, strict=True)) - entropy(t)
            for t in (x, y)
        ]
        assert found["two_way"] == pytest.approx(
            sum(abs(two[c] - one[c]) for c in {*x, *y}) / (2 * n)
        )
        assert found["two_way_pil"] == pytest.approx(sum(moved) / len(moved))
        assert found["cramers_v"] == pytest.approx(abs(v_of(y) - v_of(x)), abs=1e-9)
        if told[0] > 1e-9:
            ratio = found["mutual_information"]
            assert ratio == pytest.approx(told[1] / told[0], abs=1e-9)
        else:
            assert not found["mutual_information"] or told[0] < 1e-9


def v_of(pairs: list[tuple[str, str]]) -> float:
    n, cells = len(pairs), Counter(pairs)
    rows, columns = (Counter(side) for side in zip(*pairs, strict=True))
    fewer = min(len(rows), len(columns)) - 1
    if not fewer:
        return 0.0
    share = sum(
        (cells[a, b] - F(rows[a] * columns[b], n)) ** 2 / F(rows[a] * columns[b], n)
        for a in rows
        for b in columns
    )
    return sqrt(share / n / fewer)


def test_the_whole_is_the_mean_of_what_varies() -> None:
    for before, after in pairs(5, 10, seed=99):
        if before.nunique().max() == 1:
            continue
        found = assess(before, after, ORDER)
        varying = [name for name in before if before[name].nunique() > 1]
        for name in ("sdid", "sdid_chance", "il"):
            mean = np.mean([found.types[name][each] for each in varying])
            assert found[name] == pytest.approx(mean)
        levels = np.mean([found.types["pil"][each] for each in varying])
        assert found.pil_parts.levels == pytest.approx(levels)
        assert found.pil_parts.pairs == found.types["two_way_pil"]
