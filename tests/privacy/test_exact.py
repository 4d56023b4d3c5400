"""Whole numbers stay whole, and arguments reach what they are for."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused

from aggopt.core.columns import iter_columns
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.privacy import (
    distinct_l,
    entropy_l,
    find_groups,
    n_t_closeness,
    p_sensitive,
    recursive_cl,
    t_closeness,
)
from aggopt.privacy.distance import read_exact_number, require_exact
from aggopt.privacy.nested import Nested, read_parents
from aggopt.privacy.ordered_attribute import Ordered, rank_numbers
from aggopt.privacy.value_levels import assign_levels

LARGE = 2**53


def test_large_whole_numbers_of_a_mixed_list_stay_apart():
    # NumPy makes floats of them, in which the first two would be one
    for sign in (1, -1):
        mixed = [sign * LARGE, sign * (LARGE + 1), 0.5, 0.25]
        assert distinct_l([0, 0, 0, 0], mixed) == 4
        assert find_groups([[value] for value in mixed]).max() == 3


def test_small_mixed_lists_are_numbers():
    assert t_closeness([0, 0, 1, 1], [1, 2.5, 3, 4.5]) == 1 / 3


def test_ends_of_levels_may_lie_beyond_whole_numbers_of_the_machine():
    assert assign_levels(np.array([1, 2]), [2**70, 2**71]).tolist() == [0, 0]


def test_one_end_makes_two_levels():
    assert assign_levels(np.array([1, 2, 3]), [2]).tolist() == [0, 1, 1]


def test_two_levels_are_the_fewest():
    assert assign_levels(np.array([1, 2, 3, 4]), 2).tolist() == [0, 0, 1, 1]
    assert assign_levels(np.array([3, 1]), 99).tolist() == [1, 0]


def test_groups_are_not_mixed_up_between_columns():
    rows = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]])
    assert find_groups(rows).tolist() == find_groups(rows.astype(str)).tolist()
    assert len(set(find_groups(rows))) == 4


@pytest.mark.parametrize("measure", [distinct_l, p_sensitive, entropy_l])
def test_missing_may_be_a_value_of_its_own(measure):
    groups, values = [0, 0, 1, 1], ["a", None, None, "b"]
    assert measure(groups, values, missing="own value") == 2
    assert recursive_cl(groups, values, 2, missing="own value") == 2


WORDS = ["low", None, "high", "middle", "low", "high"]
PLACES = [[1.0], [1.0], [2.0], [2.0], [9.0], [9.0]]
TABLES = {
    "pandas": pd.DataFrame({"x": [1, 1, 2, 2, 9, 9]}, dtype="Int64"),
    "polars": pl.DataFrame({"x": [1, 1, 2, 2, 9, 9]}),
    "arrow": pa.table({"x": [1, 1, 2, 2, 9, 9]}),
    "list": PLACES,
}


@pytest.mark.parametrize("kind", TABLES)
def test_neighbours_are_those_of_any_table(kind):
    expected = n_t_closeness(np.array(PLACES), [1, 2, 3, 4, 5, 6], 3)
    assert n_t_closeness(TABLES[kind], [1, 2, 3, 4, 5, 6], 3) == expected > 0


def test_neighbours_may_be_compared_in_an_order_or_a_tree():
    order = {"order": ["low", "middle", "high"]}
    filled = [word or "middle" for word in WORDS]
    ranks = [order["order"].index(word) for word in filled]
    assert n_t_closeness(PLACES, filled, 4, **order) == n_t_closeness(PLACES, ranks, 4)
    tree = {"tree": {"a": ["low", "middle"], "b": ["high"]}}
    way = {"distance": "hierarchical", "missing": "own value", **tree}
    assert n_t_closeness(PLACES, WORDS, 6, **way) == t_closeness(
        find_groups(PLACES), WORDS, **way
    )


def test_far_neighbours_come_in_by_their_distance():
    # the nearest three records of the first group bring 3, not 9
    assert n_t_closeness(PLACES, [1, 2, 1, 2, 3, 3], 3) == n_t_closeness(
        [[1.0], [1.0], [2.0], [2.0], [99.0], [99.0]], [1, 2, 1, 2, 3, 3], 3
    )


def test_a_chain_of_parents_is_a_tree_without_a_circle():
    chain = {1: 2, 2: 3, 3: "any"}
    assert read_parents(chain) == chain


def test_a_branch_may_be_a_series():
    listed = {"a": [1, 2], "b": [3]}
    assert read_parents({"a": pd.Series([1, 2]), "b": pl.Series([3])}) == read_parents(
        listed
    )


def test_ranks_are_read_as_asked():
    assert Ordered.read([3, 1, 1], "rank").place.tolist() == [2, 0, 1]
    assert Ordered.read([3, 1, 1]).place.tolist() == [1, 0, 0]
    assert Ordered.read([Decimal("0.1"), 10**30, 1]).place.tolist() == [0, 2, 1]


@pytest.mark.parametrize("m", [3, 1000, 100_000])
def test_the_entropy_of_equal_shares_is_whole_however_many_there_are(m):
    assert entropy_l(np.zeros(m, int), np.arange(m)) == m


def test_numbers_of_any_kind_may_stand_among_objects():
    mixed = np.array([np.float32(1), np.int8(2), 3, 4.0], dtype=object)
    assert t_closeness([0, 0, 1, 1], mixed) == 1 / 3


CODES = np.array([0, 1, 2, 0])
DEEP = {"a": ["x", "y"], "b": {"c": ["z"]}}


@pytest.mark.parametrize(
    "distance",
    [Ordered.of(CODES), Nested.equal(CODES), Nested.of(["x", "y", "z"], CODES, DEEP)],
)
def test_what_decides_is_counted_in_whole_numbers(distance):
    assert rank_numbers([3, 1]).dtype == np.int64
    assert distance.numerators([0, 0, 1, 1]).dtype == np.int64
    assert distance.profile(np.array([2, 1, 1])).dtype == np.int64
    assert distance.limits(0.5).dtype == np.int64


def test_a_path_that_is_shorter_ends_in_minus_one():
    found = Nested.of(["x", "z"], np.array([0, 1]), {"a": ["x"], "b": {"c": ["z"]}})
    assert found.paths.tolist() == [[0, 1, -1], [2, 3, 4]]


def test_a_node_is_as_high_as_its_farthest_leaf():
    tree = {1: "b", "b": "a", 2: "a", "a": "root", 3: "root"}
    found = Nested.of([1, 2, 3], np.array([0, 1, 2]), tree)
    assert found.height == 3
    assert found.paths.tolist() == [[0, 1, 2], [3, 2, -1], [4, -1, -1]]
    assert found.weight.tolist() == [1, 1, 1, 2, 3]
    assert Nested.equal(CODES).weight.dtype == np.int64


def test_a_tree_is_refused_where_64_bits_end_and_not_before():
    def tree(n):
        place = np.broadcast_to(np.int64(0), n)  # takes no memory
        return Nested(place, np.zeros((1, 1), np.int64), np.ones(1, np.int64), 4)

    assert tree(2**30 - 1).n == 2**30 - 1
    with refused(InfeasibleInputError):
        tree(2**30)


def test_categories_of_large_whole_numbers_stay_apart_beside_holes():
    large = pd.Series([LARGE, LARGE + 1, None, LARGE], dtype="Int64")
    plain = pd.Categorical.from_codes([0, 1, -1, 0], [LARGE, LARGE + 1])
    for column in (large, large.astype("category"), pd.Series(plain)):
        assert distinct_l([0, 0, 0, 0], column, missing="own value") == 3
        assert find_groups(column.to_frame("age")).max() == 2


def test_times_of_day_a_nanosecond_apart_stay_apart():
    times = pl.Series("at", [1, 2, None, 1]).cast(pl.Time)
    for column in (times, times.to_arrow()):
        assert distinct_l([0, 0, 0, 0], column, missing="own value") == 3


def test_a_batch_of_records_is_a_table():
    batch = pa.record_batch({"x": [1, 1, 2], "y": [1, 2, 1]})
    assert find_groups(batch).tolist() == find_groups(pa.table(batch)).tolist()
    assert distinct_l([0, 0, 0], batch) == 2


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        ([1, 2], "int64"),
        ([1, 2.5], "float64"),
        ([LARGE, 2.5], "object"),
        (["a", "b"], "object"),
        (np.array([1, LARGE]), "int64"),
        (np.array([1.0, LARGE]), "float64"),
        (pl.Series([1, 2]), "int64"),
        (pl.Series([1, None]), "object"),
        (pl.Series([1.5, None]), "float64"),
        (pa.array([1, 2]), "int64"),
        (pd.Series([1, 2], dtype="Int64"), "int64"),
        (pd.Series([1, None], dtype="Int64"), "object"),
    ],
)
def test_entries_are_objects_only_where_arrays_would_merge_them(given, dtype):
    [(_, entries)] = iter_columns(given, "what")
    assert entries.dtype == dtype


def test_columns_have_the_names_they_come_with():
    assert [name for name, _ in iter_columns(np.eye(2), "")] == ["Column 0", "Column 1"]
    frame = pd.DataFrame({"x": [1], "y": [2]})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert [name for name, _ in iter_columns(table, "")] == ["'x'", "'y'"]
    for nameless in ([1], pd.Series([1]), pl.Series([1]), pa.array([1])):
        assert [name for name, _ in iter_columns(nameless, "")] == [""]


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[ns]"])
def test_times_in_nanoseconds_are_found_in_their_order(kind):
    times = np.array([1, 3, 2, 4], dtype=kind)
    expected = t_closeness([0, 0, 1, 1], [1, 3, 2, 4])
    order = pd.Series(np.sort(times))
    for way in (order, order.tolist()):
        assert t_closeness([0, 0, 1, 1], times, order=way) == expected


def test_days_are_found_in_an_order_of_dates():
    days = [date(2020, 1, day) for day in (1, 3, 2, 4)]
    assert t_closeness(
        [0, 0, 1, 1], np.array(days, "datetime64[D]"), order=sorted(days)
    ) == t_closeness([0, 0, 1, 1], [1, 3, 2, 4])


def test_the_ordered_distance_counts_by_rank_if_asked():
    assert t_closeness([0, 0, 1, 1], [5, 5, 5, 9], bins="rank") == 1 / 3
    words = {"order": ["low", "high"], "bins": "rank"}
    assert t_closeness([0, 0, 1, 1], ["low"] * 3 + ["high"], **words) == 1 / 3
    assert t_closeness([0, 0, 1, 1], [5, 5, 5, 9]) == 1 / 4


def test_a_value_of_its_own_for_what_is_missing_changes_nothing_where_nothing_is():
    for way in ({}, {"distance": "equal"}, {"order": [4, 3, 2, 1]}):
        own = t_closeness([0, 0, 1, 1], [1, 3, 2, 4], missing="own value", **way)
        assert own == t_closeness([0, 0, 1, 1], [1, 3, 2, 4], **way)


def test_long_complex_numbers_stay_apart():
    near = np.array([1, 1], np.longdouble)
    near[1] = np.nextafter(near[0], 2 * near[1])
    assert find_groups((near + 0j).astype(np.clongdouble)[:, None]).tolist() == [0, 1]


def test_many_equal_values_are_ranked_by_position():
    values = np.random.default_rng(4).integers(0, 3, 5000)
    place = Ordered.of(values, "rank").place
    assert (np.argsort(place) == np.lexsort((np.arange(5000), values))).all()


def test_what_an_order_keeps_ready():
    table = Ordered.of([30, 10, 10, 20])
    assert table.below.tolist() == [2, 3, 4]
    assert table.sums.tolist() == [0, 2, 5, 9]
    assert table.first.tolist() == [0, 0, 1, 2, 3]
    assert {table.below.dtype, table.sums.dtype} == {np.dtype(np.int64)}


def test_groups_of_many_columns_are_whole_numbers_in_the_order_of_their_rows():
    rows = np.random.default_rng(5).integers(0, 3, (200, 4))
    found = find_groups(np.sort(rows, axis=0))
    assert found.dtype == np.intp
    expected = np.unique(np.sort(rows, axis=0), axis=0, return_inverse=True)[1]
    assert found.tolist() == expected.ravel().tolist()


def test_no_number_counts_as_less_than_nothing():
    assert read_exact_number(float("nan")) == read_exact_number(float("inf")) == -1


def test_64_bits_are_used_to_the_last():
    most = np.iinfo(np.int64).max  # 7^2 divides it
    require_exact(7, most // 49)
    with refused(InfeasibleInputError):
        require_exact(7, most // 49 + 1)


def test_numbers_of_several_kinds_are_ranked_exactly():
    mixed = [10**400, 1e300, np.float32(0.1), 0.1, Decimal("0.1"), True, 0, -5, 10**30]
    exact = [Fraction(v.item() if isinstance(v, np.generic) else v) for v in mixed]
    order = sorted(exact)
    assert rank_numbers(mixed).tolist() == [order.index(value) for value in exact]


@pytest.mark.parametrize(
    "endless", [float("inf"), float("-inf"), Decimal("Infinity")], ids=str
)
def test_what_is_infinite_has_no_rank(endless):
    with refused(TableError):
        rank_numbers([1, endless, 2.5])
