"""Suppressed cells: every combination is frequent, at a cost within proven bounds."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st

from aggopt.algorithms.cell_suppression import suppress_cells


def is_frequent(codes, kept, tables, k) -> bool:
    """Whether each combination is that of k records, counted by plain dictionaries."""
    return all(
        min(
            Counter(
                tuple(codes[i][j] if kept[i][j] else None for j in table)
                for i in range(len(codes))
            ).values()
        )
        >= k
        for table in tables
    )


def find_least_cost(codes, tables, k, price) -> float:
    """The oracle: every subset of the cells."""
    cells = np.argwhere(codes >= 0)
    best = np.inf
    for size in range(len(cells) + 1):
        for chosen in combinations(cells.tolist(), size):
            kept = codes >= 0
            for i, j in chosen:
                kept[i, j] = False
            if is_frequent(codes, kept, tables, k):
                best = min(best, sum(price[j] for _, j in chosen))
        if best <= (size + 1) * price.min():
            break
    return best


TABLES = {
    2: [[[0, 1]], [[0], [1]]],
    3: [[[0, 1, 2]], [[0, 1], [1, 2]], [[0, 1], [0, 2], [1, 2]]],
}


@examples(60)
@given(data=st.data())
def test_the_cost_is_between_the_bound_and_what_the_least_cost_allows(data) -> None:
    q = data.draw(st.sampled_from([2, 3]))
    n = data.draw(st.integers(2, 5 if q == 2 else 4))
    cell = st.integers(-1, 2)
    codes = np.array(
        data.draw(st.lists(st.tuples(*[cell] * q), min_size=n, max_size=n))
    )
    tables = data.draw(st.sampled_from(TABLES[q]))
    price = np.array(data.draw(st.tuples(*[st.sampled_from([1.0, 2.0])] * q)))
    found = suppress_cells(codes, tables, 2, price)
    assert is_frequent(codes, found.kept, tables, 2)
    assert not found.kept[codes < 0].any()
    lost = ~found.kept & (codes >= 0)
    assert found.cost == (lost * price).sum()
    least = find_least_cost(codes, tables, 2, price)
    assert found.bound <= least <= found.cost


@pytest.mark.parametrize("k", [2, 5])
def test_many_records_keep_most_cells(k) -> None:
    rng = np.random.default_rng(k)
    codes = rng.geometric(0.3, (600, 4))
    tables = [[0, 1], [1, 2, 3]]
    found = suppress_cells(codes, tables, k)
    assert is_frequent(codes, found.kept, tables, k)
    assert found.bound <= found.cost <= 2 * found.bound
    for i, j in np.argwhere(~found.kept):
        kept = found.kept.copy()
        kept[i, j] = True
        assert not is_frequent(codes, kept, tables, k)


def test_no_cell_is_suppressed_where_all_combinations_are_frequent() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    found = suppress_cells(codes, [[0, 1]], 3)
    assert found.kept.all()
    assert found.cost == found.bound == 0


def test_a_dear_column_is_spared() -> None:
    codes = np.array([[0, 0]] * 9 + [[1, 1]] * 9 + [[0, 1]] * 2)
    dear = suppress_cells(codes, [[0, 1]], 3, np.array([9.0, 1.0]))
    cheap = suppress_cells(codes, [[0, 1]], 3, np.array([1.0, 9.0]))
    assert dear.kept[:, 0].sum() > dear.kept[:, 1].sum()
    assert cheap.kept[:, 0].sum() < cheap.kept[:, 1].sum()


def test_a_missing_value_may_equal_a_suppressed_one() -> None:
    codes = np.array([[0, -1], [0, 1], [1, 2], [1, 2]])
    found = suppress_cells(codes, [[0, 1]], 2)
    assert found.cost == found.bound == 1
