"""The split of a path is optimal: against every split, and in exact arithmetic."""

from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aggopt.core.validation import Floats
from aggopt.partition import path_split as split
from aggopt.partition.path_split import find_best_split

RNG = np.random.default_rng(7)


def run_loss(records: Floats, who) -> Fraction:
    """Sum of squares about the mean, in rationals."""
    total = Fraction(0)
    for column in records[list(who)].T:
        values = [Fraction(float(x)) for x in column]
        total += sum(x * x for x in values) - sum(values) ** 2 / len(values)
    return total


def loss(records: Floats, labels) -> Fraction:
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    return sum((run_loss(records, group) for group in groups), Fraction(0))


def splits(n: int, k: int):
    """Every way to write n as a sum of sizes k to 2k - 1."""
    if n == 0:
        yield ()
    for size in range(k, min(2 * k - 1, n) + 1):
        for rest in splits(n - size, k):
            yield (size, *rest)


def of_every_split(records: Floats, path, k: int) -> Fraction:
    whole = cache(lambda i, j: run_loss(records, path[i:j]))
    totals = []
    for sizes in splits(len(path), k):
        ends = np.cumsum(sizes)
        bounds = zip(ends - sizes, ends, strict=True)
        totals.append(sum((whole(int(i), int(j)) for i, j in bounds), Fraction(0)))
    return min(totals)


def by_dynamic_programming(records: Floats, path, k: int) -> Fraction:
    columns = [[Fraction(float(x)) for x in column] for column in records[path].T]
    sums = [[*accumulate(values, initial=Fraction(0))] for values in columns]
    whole = [sum(x * x for x in row) for row in zip(*columns, strict=True)]
    squares = [*accumulate(whole, initial=Fraction(0))]

    def lost(i: int, j: int) -> Fraction:
        means = sum(((of[j] - of[i]) ** 2 for of in sums), Fraction(0)) / (j - i)
        return squares[j] - squares[i] - means

    least = {0: Fraction(0)}
    for j in range(k, len(path) + 1):
        sizes = [m for m in range(k, 2 * k) if j - m in least]
        if sizes:
            least[j] = min(least[j - m] + lost(j - m, j) for m in sizes)
    return least[len(path)]


def consecutive(labels, path, k: int, closed: bool) -> bool:
    """Each group is a stretch of the path with k to 2k - 1 records."""
    along, sizes = labels[path], np.bincount(labels)
    stretches = 1 + np.count_nonzero(np.diff(along))
    if closed and len(sizes) > 1 and along[0] == along[-1]:
        stretches -= 1
    return bool(stretches == len(sizes) and sizes.min() >= k and sizes.max() < 2 * k)


@given(data=st.data())
@examples(150)
def test_against_every_split(data) -> None:
    k = data.draw(st.integers(1, 4))
    n, d = data.draw(st.integers(2 * k, 12)), data.draw(st.integers(1, 3))
    widest = data.draw(st.sampled_from([1, 3, 1000]))
    grid = arrays(np.int64, (n, d), elements=st.integers(-widest, widest))
    records = data.draw(grid).astype(float) + data.draw(st.sampled_from([0.0, 1e9]))
    path = np.array(data.draw(st.permutations(range(n))))
    labels = find_best_split(records, [path], k)
    assert consecutive(labels, path, k, closed=False)
    assert float(loss(records, labels)) == pytest.approx(
        float(of_every_split(records, path, k)), rel=1e-12
    )


@given(data=st.data())
@examples(60)
def test_a_ring_is_cut_where_it_is_best(data) -> None:
    k = data.draw(st.integers(1, 4))
    n, d = data.draw(st.integers(2 * k, 11)), data.draw(st.integers(1, 3))
    records = data.draw(arrays(np.int64, (n, d), elements=st.integers(-9, 9))) + 0.0
    path = np.array(data.draw(st.permutations(range(n))))
    labels = find_best_split(records, [path], k, closed=True)
    every = min(of_every_split(records, np.roll(path, s), k) for s in range(n))
    assert consecutive(labels, path, k, closed=True)
    assert float(loss(records, labels)) == pytest.approx(float(every), rel=1e-12)


NORMAL = RNG.normal(size=(60, 3))
HARD = {
    "normal": NORMAL,
    "ties": RNG.integers(0, 3, size=(60, 2)) + 0.0,
    "far from zero": 1e9 + RNG.choice([-1.0, 0.0, 1.0], size=(60, 2)),
    "nearly too far to tell": 2.0**50 + RNG.integers(-9, 10, size=(60, 2)),
    "scales mixed": NORMAL * [1e-6, 1.0, 1e6],
    "one far outlier": np.vstack([NORMAL[1:], [1e8, 0.0, 0.0]]),
}


@pytest.mark.parametrize("k", [1, 2, 3, 7, 13])
@pytest.mark.parametrize("name", HARD)
def test_against_exact_arithmetic(name: str, k: int) -> None:
    records, path = HARD[name], np.random.default_rng(k).permutation(60)
    for way in (path, np.lexsort(records.T)):
        labels = find_best_split(records, [way], k)
        least = by_dynamic_programming(records, way, k)
        assert float(loss(records, labels)) == pytest.approx(float(least), rel=1e-12)


def test_the_first_of_equally_good_paths_is_taken() -> None:
    records = np.array([[0.0], [1.0], [5.0], [6.0], [11.0], [12.0]])
    there = np.arange(6)
    back, bad = there[::-1], np.array([0, 5, 1, 4, 2, 3])
    assert find_best_split(records, [there, back], 2).tolist() == [0, 0, 1, 1, 2, 2]
    assert find_best_split(records, [bad, back, there], 2).tolist() == [
        2,
        2,
        1,
        1,
        0,
        0,
    ]


def test_a_group_may_reach_over_the_ends_of_a_ring() -> None:
    records = np.array([[0.0], [10.0], [10.1], [20.0], [20.1], [0.1]])
    ring = find_best_split(records, [np.arange(6)], 2, closed=True)
    assert ring.tolist() == [2, 0, 0, 1, 1, 2]


@pytest.mark.parametrize("closed", [False, True])
def test_a_look_at_ctrl_c_after_each_record_changes_nothing(
    closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = RNG.permutation(60)
    whole = find_best_split(NORMAL, [path], 4, closed=closed)
    monkeypatch.setattr(split, "CHUNK", 0)
    assert (find_best_split(NORMAL, [path], 4, closed=closed) == whole).all()
