"""Against slow and obvious implementations, in exact arithmetic on tied integers."""

from collections.abc import Sequence
from dataclasses import astuple
from fractions import Fraction as F
from itertools import combinations, permutations
from math import erf, lcm, sqrt
from typing import TypeVar

import numpy as np
import pytest
from drawn import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from aggopt import measure

T = TypeVar("T")
Rows = list[list[int]]


def moment(*columns: list[F]) -> F:
    """Mean of the product of columns."""
    total = F(0)
    for values in zip(*columns, strict=True):
        product = F(1)
        for value in values:
            product *= value
        total += product
    return total / len(columns[0])


def centred(column: list[F]) -> list[F]:
    mean = moment(column)
    return [x - mean for x in column]


def varying_columns(X: Rows, Y: Rows) -> list[tuple[list[F], list[F]]]:
    """Return the pairs of columns of which the original is not constant."""
    pairs = zip(zip(*X, strict=True), zip(*Y, strict=True), strict=True)
    return [([F(a) for a in x], [F(b) for b in y]) for x, y in pairs if len({*x}) > 1]


def variance(x: list[F]) -> F:
    return moment(centred(x), centred(x))


def oracle_sse(X: Rows, Y: Rows) -> F:
    return sum(
        (F(sum((a - b) ** 2 for a, b in zip(x, y, strict=True))) / variance(x))
        for x, y in varying_columns(X, Y)
    )


def oracle_il1s(X: Rows, Y: Rows) -> float:
    terms = []
    for x, y in varying_columns(X, Y):
        S = sqrt(variance(x) * len(x) / (len(x) - 1))
        terms += [abs(a - b) / (sqrt(2) * S) for a, b in zip(x, y, strict=True)]
    return float(sum(terms) / len(terms))


def squared_distances(X: Rows, Y: Rows) -> list[list[F]]:
    """Return all n^2 exact squared distances between original and released records."""
    columns = [(x, y, variance(x)) for x, y in varying_columns(X, Y)]
    return [
        [sum((x[i] - y[j]) ** 2 / s2 for x, y, s2 in columns) for j in range(len(Y))]
        for i in range(len(X))
    ]


def oracle_dld(X: Rows, Y: Rows) -> float:
    """Of the released records at the least distance each is as likely."""
    linked = F(0)
    for i, distances in enumerate(squared_distances(X, Y)):
        if distances[i] == min(distances):
            linked += F(1, distances.count(min(distances)))
    return float(linked / len(X))


def oracle_dld_of_two(X: Rows, Y: Rows) -> float:
    """Try all pairs of released records: all nearest pairs are as likely."""
    linked = F(0)
    for i, distances in enumerate(squared_distances(X, Y)):
        pairs = [sorted(p) for p in combinations(range(len(Y)), 2)]
        reached = [sorted(distances[j] for j in pair) for pair in pairs]
        nearest = [p for p, d in zip(pairs, reached, strict=True) if d == min(reached)]
        linked += F(sum(i in pair for pair in nearest), len(nearest))
    return float(linked / len(X))


def oracle_intervals(X: Rows, Y: Rows, kind: str, safety: F) -> float:
    inside = []
    for x, y in varying_columns(X, Y):
        for own, (a, b) in enumerate(zip(x, y, strict=True)):
            width = {"value": abs(a), "range": max(x) - min(x), "rank": F(len(x))}[kind]
            near = [
                other
                for j, other in enumerate(sorted(y))
                for place, same in enumerate(sorted(y))
                if same == y[own] and abs(place - j) <= safety * width
            ]
            by_rank = min(near, default=b) <= a <= max(near, default=b)
            inside.append(by_rank if kind == "rank" else abs(a - b) <= safety * width)
    return sum(inside) / len(inside)


def oracle_range_sse(X: Rows, Y: Rows) -> F:
    return sum(
        ((a - b) / (max(x) - min(x))) ** 2
        for x, y in varying_columns(X, Y)
        for a, b in zip(x, y, strict=True)
    )


def oracle_linkage(X: Rows, Y: Rows) -> float:
    """Try all n! assignments; who is alike changes places in all ways."""
    n, columns = len(X), varying_columns(X, Y)
    originals = [tuple(x[i] for x, _ in columns) for i in range(n)]
    released = [tuple(y[i] for _, y in columns) for i in range(n)]
    costs = squared_distances(X, Y)
    unit = lcm(*(c.denominator for row in costs for c in row))
    whole = [[int(c * unit) for c in row] for row in costs]
    right = [
        [
            F(
                sum(
                    (originals[h], released[h]) == (originals[i], released[j])
                    for h in range(n)
                ),
                originals.count(originals[i]) * released.count(released[j]),
            )
            for j in range(n)
        ]
        for i in range(n)
    ]
    ways = list(permutations(range(n)))
    totals = [sum(row[j] for row, j in zip(whole, way, strict=True)) for way in ways]
    best = [
        way for way, total in zip(ways, totals, strict=True) if total == min(totals)
    ]
    return float(max(sum(right[i][way[i]] for i in range(n)) for way in best) / n)


def oracle_chance(X: Rows, Y: Rows, safety: F) -> float:
    """Mean over all n! ways to give the released values of an attribute to records."""
    shares, n = [], len(X)
    for x, y in varying_columns(X, Y):
        width = safety**2 * variance(x) * n / (n - 1)
        inside = [[(a - b) ** 2 <= width for b in y] for a in x]
        for way in permutations(range(n)):
            shares += [inside[i][way[i]] for i in range(n)]
    return sum(shares) / len(shares)


def oracle_sdid(X: Rows, Y: Rows, safety: F) -> float:
    inside = [
        (a - b) ** 2 <= width
        for x, y in varying_columns(X, Y)
        for width in [safety**2 * variance(x) * len(x) / (len(x) - 1)]
        for a, b in zip(x, y, strict=True)
    ]
    return sum(inside) / len(inside)


def oracle_sl(X: Rows, Y: Rows, delta: list[list[F]], w: Rows) -> float:
    kept = total = 0
    for j in range(len(X[0])):
        x = [F(row[j]) for row in X]
        if len({*x}) > 1:
            unit = variance(x)
            for i in range(len(X)):
                far = (X[i][j] - Y[i][j]) ** 2 >= delta[i][j] ** 2 * unit
                kept += w[i][j] * far
                total += w[i][j]
    return kept / total


def probability(gap_is_zero: bool, gap: float, var: F) -> float:
    if gap_is_zero:
        return 0.0
    return 1.0 if var == 0 else erf(abs(gap) / sqrt(2 * var))


def oracle_quantiles(x: list[F], y: list[F]) -> list[float]:
    n, h = len(x), (max(x) - min(x)) / 1000
    terms = []
    for p in range(5, 100, 5):
        at = (n - 1) * p // 100
        Q, P, q = sorted(x)[at], sorted(y)[at], F(p, 100)
        f = F(sum(Q - h < a < Q + h for a in x)) / (2 * h * n)
        terms.append(probability(Q == P, P - Q, q * (1 - q) / (n * f**2)))
    return terms


def oracle_mean(x: list[F], y: list[F]) -> float:
    gap = moment(y) - moment(x)
    return probability(gap == 0, gap, variance(x) / len(x))


def oracle_variance(x: list[F], y: list[F]) -> float:
    u = centred(x)
    gap = variance(y) - variance(x)
    m2, m4 = moment(u, u), moment(u, u, u, u)
    return probability(gap == 0, gap, (m4 - m2**2) / len(x))


def oracle_covariance(x: list[F], y: list[F], x2: list[F], y2: list[F]) -> float:
    u, v = centred(x), centred(x2)
    gap = moment(centred(y), centred(y2)) - moment(u, v)
    m11, m22 = moment(u, v), moment(u, u, v, v)
    return probability(gap == 0, gap, (m22 - m11**2) / len(x))


def signed_square_r(u: list[F], v: list[F]) -> F:
    """Return r |r|, exactly; 0 where one is constant."""
    bottom = moment(u, u) * moment(v, v)
    m11 = moment(u, v)
    return m11 * abs(m11) / bottom if bottom else F(0)


def oracle_correlation(x: list[F], y: list[F], x2: list[F], y2: list[F]) -> float:
    """The expanded formula, r^2 multiplied in so that r = 0 divides nothing by 0."""
    u, v = centred(x), centred(x2)
    old, new = signed_square_r(u, v), signed_square_r(centred(y), centred(y2))
    gap = np.sign(float(new)) * sqrt(abs(new)) - np.sign(float(old)) * sqrt(abs(old))
    m11, m20, m02 = moment(u, v), moment(u, u), moment(v, v)
    m22, m40, m04 = moment(u, u, v, v), moment(u, u, u, u), moment(v, v, v, v)
    m31, m13 = moment(u, u, u, v), moment(u, v, v, v)
    r2 = m11**2 / (m20 * m02)
    var = (
        m22 / (m20 * m02)
        + r2 * (m40 / m20**2 + m04 / m02**2 + 2 * m22 / (m20 * m02)) / 4
        - m11 * m31 / (m20**2 * m02)
        - m11 * m13 / (m20 * m02**2)
    ) / len(x)
    return probability(old == new, gap, var)


def oracle_pil_parts(X: Rows, Y: Rows) -> tuple[float | None, ...]:
    columns = varying_columns(X, Y)
    pairs = [(*a, *b) for i, a in enumerate(columns) for b in columns[i + 1 :]]

    def mean(terms: list[float]) -> float | None:
        return sum(terms) / len(terms) if terms else None

    return (
        mean([t for c in columns for t in oracle_quantiles(*c)]),
        mean([oracle_mean(*c) for c in columns]),
        mean([oracle_variance(*c) for c in columns]),
        mean([oracle_covariance(*p) for p in pairs]),
        mean([oracle_correlation(*p) for p in pairs]),
    )


def grids(entries: Sequence[T], n: int, d: int) -> st.SearchStrategy[list[list[T]]]:
    """Return tables (n, d) of entries, of one draw each: one of each entry is slow."""

    def table(drawn: bytes) -> list[list[T]]:
        values = [entries[byte % len(entries)] for byte in drawn]
        return [values[i * d : (i + 1) * d] for i in range(n)]

    return st.binary(min_size=n * d, max_size=n * d).map(table)


@st.composite
def tied(
    draw: st.DrawFn, entries: Sequence[int] = range(-3, 4), most: int = 9
) -> tuple[Rows, Rows]:
    """Return unsorted integer tables with ties; often some rows are released as is."""
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 3))
    X, Y = draw(grids(entries, n, d)), draw(grids(entries, n, d))
    (keep,) = draw(grids((False, True), 1, n))
    assume(any(len({*column}) > 1 for column in zip(*X, strict=True)))
    return X, [x if kept else y for x, y, kept in zip(X, Y, keep, strict=True)]


@given(tied())
@examples(200)
def test_distances(pair: tuple[Rows, Rows]) -> None:
    X, Y = pair
    sse, active = float(oracle_sse(X, Y)), len(varying_columns(X, Y))
    assert measure.sse(X, Y) == pytest.approx(sse, rel=1e-12)
    assert measure.sst(X) == len(X) * active
    shares = float(oracle_range_sse(X, Y))
    assert measure.range_sse(X, Y) == pytest.approx(shares, rel=1e-12)
    assert measure.il(X, Y) == pytest.approx(sse / (len(X) * active), rel=1e-12)
    assert measure.il1s(X, Y) == pytest.approx(oracle_il1s(X, Y), rel=1e-12)


@given(tied(), st.sampled_from([(0, 1), (0, 3), (0, 7), (10**9, 1), (-(10**15), 2)]))
@examples(400)
def test_linkage(pair: tuple[Rows, Rows], move: tuple[int, int]) -> None:
    origin, parts = move
    moved = (origin + np.array(table) / parts for table in pair)
    assert measure.dld(*moved) == pytest.approx(oracle_dld(*pair), rel=1e-12)


@given(tied((0, 1, 3)))
@examples(100)
def test_linkage_to_the_two_nearest(pair: tuple[Rows, Rows]) -> None:
    X, Y = pair
    found = measure.dld(X, Y, nearest=2)
    assert found == pytest.approx(oracle_dld_of_two(X, Y), rel=1e-12)
    apart = measure.dld(X, Y, nearest=2, units=range(len(X)))
    assert apart == pytest.approx(found, rel=1e-12)
    assert measure.dld(X, Y, nearest=1) <= found <= measure.dld(X, Y, nearest=3)
    assert measure.dld(X, Y, nearest=len(X)) == 1
    halves = measure.dld(
        [*X, *X], [*Y, *Y], nearest=2, known=[0] * len(X) + [1] * len(X)
    )
    assert halves == pytest.approx(found, rel=1e-12)


def test_one_of_two_named_records_of_the_unit_suffices() -> None:
    X, Y = [[0.0], [1.0], [4.0], [9.0]], [[1.0], [1.0], [1.0], [9.0]]
    found = measure.dld(X, Y, nearest=2, units=["a", "a", "b", "b"])
    assert found == pytest.approx((1 + 1 + 2 / 3 + 1) / 4)  # b is one of three: 1 - 1/3


@given(tied(), st.sampled_from([F(0), F(1, 20), F(1, 3), F(1, 2), F(2)]))
@examples(100)
def test_intervals_of_other_kinds(pair: tuple[Rows, Rows], safety: F) -> None:
    for kind in ("value", "range", "rank"):
        found = measure.interval_disclosure(
            *pair, relative_to=kind, safety=float(safety)
        )
        assert found == pytest.approx(oracle_intervals(*pair, kind, safety)), kind


@given(tied((0, 1)))
@examples(200)
def test_linkage_of_binary_attributes_is_nothing_but_ties(
    pair: tuple[Rows, Rows],
) -> None:
    assert measure.dld(*pair) == pytest.approx(oracle_dld(*pair), rel=1e-12)


@given(tied(most=6), st.sampled_from([(0, 1), (0, 3), (10**9, 1), (-(10**15), 2)]))
@examples(100)
def test_assignment(pair: tuple[Rows, Rows], move: tuple[int, int]) -> None:
    origin, parts = move
    moved = (origin + np.array(table) / parts for table in pair)
    found = measure.linkage(*moved)
    assert found.share == pytest.approx(oracle_linkage(*pair), rel=1e-12)


@given(tied((0, 1), most=6))
@examples(100)
def test_assignment_of_binary_attributes(pair: tuple[Rows, Rows]) -> None:
    found = measure.linkage(*pair)
    assert found.share == pytest.approx(oracle_linkage(*pair), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_assignment_of_seven_records(seed: int) -> None:
    X, Y = np.random.default_rng(seed).integers(0, 3, (2, 7, 2)).tolist()
    assert measure.linkage(X, Y).share == pytest.approx(oracle_linkage(X, Y))


@given(tied(most=5), st.sampled_from([F(0), F(1, 20), F(1, 2), F(1), F(2)]))
@examples(100)
def test_intervals_by_chance(pair: tuple[Rows, Rows], safety: F) -> None:
    found = measure.sdid_chance(*pair, safety=float(safety))
    assert found == pytest.approx(oracle_chance(*pair, safety))


@given(tied())
@examples(100)
def test_risk_in_groups(pair: tuple[Rows, Rows]) -> None:
    Y = pair[1]
    sizes = [Y.count(row) for row in Y]
    assert measure.record_risk(Y).tolist() == [1 / s for s in sizes]
    assert measure.highest_risk(Y) == 1 / min(sizes)
    assert measure.reidentifications(Y) == len({tuple(row) for row in Y})
    assert measure.average_risk(Y) == pytest.approx(np.mean([1 / s for s in sizes]))


@given(tied(), st.sampled_from([F(0), F(1, 20), F(1, 2), F(1), F(2)]))
@examples(200)
def test_intervals(pair: tuple[Rows, Rows], safety: F) -> None:
    found = measure.sdid(*pair, safety=float(safety))
    assert found == pytest.approx(oracle_sdid(*pair, safety))


@given(tied(), st.data())
@examples(200)
def test_satisfaction(pair: tuple[Rows, Rows], data: st.DataObject) -> None:
    X, Y = pair
    n, d = len(X), len(X[0])
    w = data.draw(grids(range(4), n, d))
    delta = data.draw(grids([F(0), F(1, 2), F(1), F(2)], n, d))
    weighty = [j for j in range(d) if any(row[j] for row in w)]
    assume(any(len({row[j] for row in X}) > 1 for j in weighty))
    found = measure.sl(X, Y, delta=np.array(delta, float), importance=w)
    assert found == pytest.approx(oracle_sl(X, Y, delta, w))


@given(tied(), st.sampled_from([F(1), F(1, 2)]), st.integers(0, 2))
@examples(100)
def test_satisfaction_with_one_number_and_one_per_attribute(
    pair: tuple[Rows, Rows], delta: F, weight: int
) -> None:
    X, Y = pair
    d = len(X[0])
    per_value = [[delta] * d] * len(X)
    plain = oracle_sl(X, Y, per_value, [[1] * d] * len(X))
    assert measure.sl(X, Y, delta=float(delta)) == pytest.approx(plain)
    row = [weight, 1, 2][:d]
    assume(len({r[0] for r in X}) > 1 and weight > 0)
    uneven = oracle_sl(X, Y, per_value, [row] * len(X))
    found = measure.sl(X, Y, delta=[float(delta)] * d, importance=row)
    assert found == pytest.approx(uneven)


@given(tied())
@examples(200)
def test_probabilistic_loss(pair: tuple[Rows, Rows]) -> None:
    found, expected = astuple(measure.pil_parts(*pair)), oracle_pil_parts(*pair)
    known = [part for part in expected if part is not None]
    assert found[len(known) :] == (None,) * (5 - len(known))
    assert found[: len(known)] == pytest.approx(known, rel=1e-9, abs=1e-9)
    assert measure.pil(*pair) == pytest.approx(sum(known) / len(known), abs=1e-9)


def oracle_correlation_changes(X: Rows, Y: Rows) -> list[float]:
    def correlation(x: list[F], y: list[F]) -> float:
        a, b = centred(x), centred(y)
        if not (variance(x) and variance(y)):
            return 0.0
        return float(moment(a, b)) / sqrt(variance(x) * variance(y))

    columns = varying_columns(X, Y)
    return [
        abs(correlation(one[1], other[1]) - correlation(one[0], other[0]))
        for i, one in enumerate(columns)
        for other in columns[i + 1 :]
    ]


@given(tied())
@examples(100)
def test_changes_of_correlations(pair: tuple[Rows, Rows]) -> None:
    changes = oracle_correlation_changes(*pair)
    found = measure.correlation_error(*pair), measure.mean_correlation_error(*pair)
    if not changes:
        assert found == (None, None)
        return
    expected = max(changes), sum(changes) / len(changes)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("spread", [100, 1000, 2000, 10**6])
def test_probabilistic_loss_of_many_records(spread: int) -> None:
    """Quantiles all differ; with a range of 1000, neighbours lie on the border of h."""
    rng = np.random.default_rng(spread)
    X = np.vstack([rng.integers(0, 60, (40, 2)), [[0, spread], [spread, 0]]])
    Y = X + rng.integers(-2, 3, X.shape)
    expected = oracle_pil_parts(X.tolist(), Y.tolist())
    assert astuple(measure.pil_parts(X, Y)) == pytest.approx(expected, rel=1e-9)


def test_mixed_measures_are_the_means_they_are_named_after() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 3))
    Y = X + 0.1 * rng.normal(size=X.shape)
    risk = (measure.dld(X, Y) + measure.sdid(X, Y, safety=0.1)) / 2
    assert measure.dr(X, Y, safety=0.1) == risk
    assert measure.si(X, Y, safety=0.1) == (risk + measure.pil(X, Y)) / 2
