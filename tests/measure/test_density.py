"""What may be published of originals: bins and levels of ten or more, rounded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggopt.measure.safe_figures import (
    BINS,
    FEW,
    LEVELS,
    Density,
    Shares,
    Summary,
    _find_small_bin,
    compute_correlations,
    compute_level_shares,
    compute_percents,
    compute_summary,
    drop_missing,
    estimate_density,
    round_edges,
    round_figure,
    round_percent,
)

VALUES = st.lists(st.floats(-1e6, 1e6, width=32), min_size=FEW, max_size=60)


def counted(values, edges):
    """Count slowly how many values are in each bin, of which the outer are open."""
    inner = edges[1:-1]
    return [
        sum(bin_ == sum(value >= edge for edge in inner) for value in values)
        for bin_ in range(len(edges) - 1)
    ]


@given(VALUES, VALUES)
@settings(max_examples=40)
def test_each_bin_holds_ten_originals_or_none(before, after) -> None:
    found = estimate_density(before, after)
    counts = counted(before, found.edges)
    assert all(count == 0 or count >= FEW for count in counts)
    assert found.original == tuple(round(100 * c / len(before)) for c in counts)
    of_release = counted(after, found.edges)
    assert found.released == tuple(round(100 * c / len(after)) for c in of_release)


@given(VALUES, VALUES)
@settings(max_examples=40)
def test_edges_are_of_the_release_alone(before, after) -> None:
    own = set(round_edges(after).tolist())
    assert set(estimate_density(before, after).edges) <= own
    assert len(own) <= BINS + 2
    low, high = np.quantile(after, [0.01, 0.99])
    assert min(own) <= low
    assert max(own) >= high


@pytest.mark.parametrize(
    ("released", "edges"),
    [
        ([0.0, 16.0], [float(j) for j in range(17)]),
        ([0.5, 16.0], [float(j) for j in range(17)]),
        ([0.0, 31.9], [2.0 * j for j in range(17)]),
        ([0.0, 64.0], [5.0 * j for j in range(14)]),
        ([0.0, 100.0], [10.0 * j for j in range(11)]),
        ([-0.3, 0.0], [-0.3 + 0.02 * j for j in range(16)]),
    ],
    ids=["ones", "half outside", "twos", "fives", "tens", "below nothing"],
)
def test_bins_are_round(released, edges) -> None:
    assert round_edges(np.repeat(released, 200)).tolist() == pytest.approx(edges)


def test_few_far_values_make_no_bin_wide() -> None:
    assert round_edges([*range(0, 160), 1e9])[[0, 1, -1]].tolist() == [0, 10, 160]


def test_one_of_many_equal_values_is_still_seen() -> None:
    mostly = round_edges([*[3.0] * 500, 0.0, 32.0])
    assert mostly.tolist() == [2.0 * j for j in range(17)]


@pytest.mark.parametrize(
    ("value", "edges"),
    [(7.0, [0.0, 10.0]), (0.0, [0.0, 1.0]), (-3.0, [-5.0, 0.0]), (2.0, [2.0, 4.0])],
    ids=["seven", "nothing", "below nothing", "two"],
)
def test_one_value_is_one_bin(value, edges) -> None:
    assert round_edges([value, value]).tolist() == edges
    assert estimate_density([value] * 10, [value] * 10) == Density(
        tuple(edges), (100,), (100,)
    )


def test_edges_that_floats_cannot_tell_apart_are_one() -> None:
    assert round_edges([1e16, 1e16 + 2]).tolist() == [1e16, 1e16 + 2]


def test_few_originals_join_the_side_of_the_middle() -> None:
    ends = [0, 1, 2, 3, 4]
    low = estimate_density([0] * 9 + [1] * 11 + [2] * 10 + [3] * 10, [2], ends)
    assert low.edges == (0, 2, 3, 4)
    high = estimate_density([0] * 10 + [1] * 10 + [2] * 11 + [3] * 9, [2], ends)
    assert high.edges == (0, 1, 2, 4)
    middle = estimate_density([0] * 10 + [1] * 5 + [2] * 10, [2], ends[:4])
    assert middle.edges == (0, 2, 3)
    both = estimate_density([0] * 10 + [1] * 5 + [2] * 6 + [3] * 10, [2], ends)
    assert both.edges == (0, 1, 3, 4)
    assert both.original == (32, 35, 32)


@pytest.mark.parametrize(
    ("held", "first"),
    [([10, 5, 10, 10, 4], 4), ([10, 5, 10, 5, 10], 1), ([10, 0, 10], None)],
    ids=["the outer one", "the lower of two", "none"],
)
def test_the_outermost_bin_of_few_originals_joins_first(held, first) -> None:
    assert _find_small_bin(held) == first


def test_bins_of_nobody_stay() -> None:
    found = estimate_density([0] * 10 + [3] * 10, [0, 3, 3, 3], [0, 1, 2, 3, 4])
    assert found == Density((0, 1, 2, 3, 4), (50, 0, 0, 50), (25, 0, 0, 75))
    assert set(map(type, found.edges)) == {float}
    assert found.widths == (1, 1, 1, 1)


def test_what_is_outside_is_in_the_open_bins() -> None:
    found = estimate_density([-99] * 10 + [99] * 30, [0.0] * 3 + [2.0], [0, 1, 2])
    assert (found.original, found.released) == ((25, 75), (75, 25))


def test_open_bins_are_as_wide_as_the_released_values_that_they_hold() -> None:
    after = [-30.0] * 10 + [0.5] * 10 + [1.5] * 10 + [2.5] * 10 + [22.0] * 10
    found = estimate_density(after, after, [0, 1, 2, 3])
    assert (found.released, found.widths) == ((40, 20, 40), (31, 1, 20))
    heights = np.array(found.released) / found.widths
    assert heights.argmax() == 1  # no bin at an edge seems the fullest


def test_a_tail_that_is_cut_makes_no_column_at_the_edge() -> None:
    values = np.random.default_rng(0).standard_t(1.5, 4000)
    found = estimate_density(values, values)
    heights = np.array(found.released) / found.widths
    assert heights[0] < heights[1:-1].max() / 10
    assert heights[-1] < heights[1:-1].max() / 10


def test_no_share_rounds_to_none_or_all() -> None:
    found = estimate_density(
        [0.0] * 20 + [3.0] * 9980, [0.0] + [3.0] * 999, [0, 1, 2, 4]
    )
    assert (found.original, found.released) == ((0.5, 0, 99.5), (0.5, 0, 99.5))


def test_missing_values_are_left_out() -> None:
    holes = [float("nan")] * 5
    found = estimate_density([1.0] * 10 + holes, [1.0, *holes], [0, 2])
    assert found == Density((0, 2), (100,), (100,))
    assert estimate_density([1.0] * 9 + holes, [1.0] * 20) is None
    assert estimate_density([1.0] * 10, holes) is None


def test_one_record_more_changes_rounded_figures_only() -> None:
    rng = np.random.default_rng(4)
    x = rng.gamma(2.0, 1e4, 500)
    y = np.sort(x).reshape(-1, 5).mean(axis=1).repeat(5)
    one, other = estimate_density(x, y), estimate_density(x[:-1], y)
    assert one.edges == other.edges
    assert np.abs(np.subtract(one.original, other.original)).max() <= 1


def test_levels_of_few_are_one_level() -> None:
    before = [0] * 30 + [1] * 9 + [2] * 8 + [3] * 53
    after = [0] * 40 + [1] * 5 + [2] * 5 + [3] * 50
    found = compute_level_shares(before, after, ["a", "b", "c", "d"])
    assert found == Shares(("a", "d", "other"), (30, 53, 17), (40, 50, 10))


def test_a_level_joins_those_that_are_too_few_together() -> None:
    found = compute_level_shares(
        [0] * 30 + [1] * 9 + [2] * 11, [0] * 39 + [2] * 11, "abc"
    )
    assert found == Shares(("a", "other"), (60, 40), (78, 22))


def test_levels_that_nothing_is_released_of_are_not_named() -> None:
    found = compute_level_shares([0] * 10 + [1] * 10, [0] * 20, ["a", "b"])
    assert found == Shares(("a", "other"), (50, 50), (100, 0))


def test_a_level_that_no_original_has_is_named() -> None:
    found = compute_level_shares([0] * 10, [1] * 10, ["a", "any"])
    assert found == Shares(("any", "other"), (0, 100), (100, 0))
    assert compute_level_shares([0] * 10, [0] * 5, ["a", "never"]) == Shares(
        ("a",), (100,), (100,)
    )
    assert compute_level_shares([0] * 9, [0] * 9, ["a"]) is None


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        (([10, 1], [11, 0]), Shares(("other",), (100,), (100,))),
        (([10, 10], [19, 1]), Shares(("a", "b"), (50, 50), (95, 5))),
        (([10, 0], [9, 1]), Shares(("a", "b"), (100, 0), (90, 10))),
    ],
    ids=["one original hidden", "one released", "one released of no original"],
)
def test_one_record_decides_which_levels_are_shown(counts, found) -> None:
    before, after = (np.repeat(range(2), of) for of in counts)
    assert compute_level_shares(before, after, ["a", "b"]) == found


def test_of_levels_released_equally_often_the_first_are_shown() -> None:
    codes = np.repeat(range(60), [10, 20] * 30)
    found = compute_level_shares(codes, codes, [str(j) for j in range(60)])
    assert found.levels == (*(str(2 * j + 1) for j in range(LEVELS)), "other")


def test_the_most_released_levels_are_shown_in_their_order() -> None:
    names = [str(j) for j in range(LEVELS + 2)]
    codes = np.repeat(range(LEVELS + 2), [10, 10, *[20] * LEVELS])
    found = compute_level_shares(codes, codes, names)
    assert found.levels == (*names[2:], "other")
    assert compute_level_shares(codes[10:], codes[10:], names).levels == (
        *names[2:],
        "other",
    )
    assert compute_level_shares(codes[20:], codes[20:], names).levels == tuple(
        names[2:]
    )


def test_figures_are_rounded() -> None:
    assert round_figure(123456.0) == 123000.0
    assert round_figure(0.0123456) == 0.0123
    assert round_figure(-98765.0, 2) == -99000.0
    assert (round_percent(0.494), round_percent(0.496), round_percent(1.0)) == (
        49,
        50,
        100,
    )
    assert compute_percents([1, 0, 2]) == (33, 0, 67)


def test_a_summary_is_of_ten_originals_or_more() -> None:
    x = [1000.0, 2007.0] * 5
    assert compute_summary(x, [1503.5]) == Summary((1500.0, 1500.0), (504.0, 0.0))
    assert compute_summary([*x, float("nan")], [1.0, float("nan")]).mean == (
        1500.0,
        1.0,
    )
    assert compute_summary(x[:9], x) is None
    assert compute_summary(x, [float("nan")]) is None


def test_correlations_have_two_decimals_and_ten_records() -> None:
    x = np.arange(10.0)
    table = np.column_stack([x, x**3, np.ones(10), -x])
    found = compute_correlations(table)
    assert found[0, 1] == found[1, 0] == round(np.corrcoef(x, x**3)[0, 1], 2)
    assert found[0, 3] == -1
    assert np.isnan(found[2]).all()
    table[0, 1] = np.nan
    found = compute_correlations(table)
    assert np.isnan(found[0, 1])
    assert found[0, 3] == -1
    held = compute_correlations(np.column_stack([[*x, 50.0], [*x, np.nan]]))
    assert held.tolist() == [[1, 1], [1, 1]]


def test_none_is_missing_too() -> None:
    assert drop_missing([1, None, 3]).tolist() == [1.0, 3.0]
    rows = [[j, -j] for j in range(FEW)]
    assert compute_correlations([*rows, [99, None]])[0].tolist() == [1.0, -1.0]


@pytest.mark.parametrize("unit", [1e-310, 1e150])
def test_correlations_do_not_depend_on_the_unit(unit):
    table = np.random.default_rng(0).normal(size=(40, 2))
    in_unit = compute_correlations(table * [[unit, 1.0]])
    assert (in_unit == compute_correlations(table)).all()
