"""The edges, by name, and the message of each refusal."""

from collections.abc import Callable

import numpy as np
import pytest
from measure.registry import MEASURES, Measure
from refusals import refused

from aggopt import measure
from aggopt.core import memory
from aggopt.errors import AggoptError, InfeasibleInputError, JobError, TableError
from aggopt.measure import _linkage
from aggopt.measure._linkage import _Groups
from aggopt.measure._pair import TOLERANCE, Pair
from aggopt.measure._statistics import (
    _weigh_within,
    compute_probability,
    scale_to_unit_spread,
)

every_measure = pytest.mark.parametrize("m", MEASURES.values(), ids=MEASURES)
compared = {n: m for n, m in MEASURES.items() if m.needs == "both"}
compares = pytest.mark.parametrize("m", compared.values(), ids=compared)

X = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 5.0], [7.0, 3.0], [4.0, 9.0]])
Y = np.array([[2.0, 1.5], [2.0, 1.5], [2.0, 5.0], [5.5, 6.0], [5.5, 6.0]])


def expect_refusal(kind: type[AggoptError], call: Callable[[], object]) -> str:
    with refused(kind) as caught:
        call()
    assert caught.value.fix
    return str(caught.value)


# edges


@every_measure
@pytest.mark.parametrize("rows", [[[5.0, 1.0]], [[5.0, 1.0]] * 4])
def test_one_record_or_all_identical_is_refused(
    m: Measure, rows: list[list[float]]
) -> None:
    if m.needs == "released":
        assert m.of(None, rows) in (1 / len(rows), 1)
        return
    said = expect_refusal(TableError, lambda: m.of(rows, rows))
    assert f"No attribute of the original varies ({len(rows)} record(s), 2" in said


def test_one_attribute_has_no_pairs() -> None:
    parts = measure.pil_parts(X[:, :1], Y[:, :1])
    assert (parts.covariances, parts.correlations) == (None, None)
    assert measure.correlation_error(X[:, :1], Y[:, :1]) is None
    assert measure.mean_correlation_error(X[:, :1], Y[:, :1]) is None
    three = (parts.quantiles + parts.means + parts.variances) / 3
    assert measure.pil(X[:, :1], Y[:, :1]) == pytest.approx(three)


def test_one_attribute_that_varies_has_no_pairs_either() -> None:
    flat = np.c_[X[:, :1], np.ones(5)]
    assert measure.pil_parts(flat, flat).correlations is None
    assert measure.assess(flat, flat).varying == 1


def test_two_records() -> None:
    """Every sampling variance but that of the mean is 0: any change is a sure one."""
    two, moved = [[0.0, 0.0], [2.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]
    parts = measure.pil_parts(two, moved)
    assert (parts.variances, parts.covariances, parts.correlations) == (0.5, 1, 0)
    assert measure.dld(two, moved) == 1
    assert measure.linkage(two, moved) == measure.Linkage(1.0, 1.0, 1)
    assert measure.linkage(two, moved[::-1]) == measure.Linkage(0.0, 1.0, 1)


def test_released_as_a_constant() -> None:
    """All are at the same place, so everybody is linked to any of them."""
    mean = np.broadcast_to(X.mean(axis=0), X.shape)
    assert measure.dld(X, mean) == 1 / 5
    assert measure.linkage(X, mean) == measure.Linkage(1 / 5, 1 / 5, 1)
    assert measure.linkage(X, mean, whole=1) == measure.Linkage(1 / 5, 1 / 5, 1)
    assert measure.il(X, mean) == pytest.approx(1)
    nearly = mean + 1e-14 * X  # its correlations would be noise
    lost, same = measure.pil_parts(X, mean), measure.pil_parts(X, nearly)
    assert 0 < lost.correlations < 1
    assert same.correlations == pytest.approx(lost.correlations)


def test_identical_records_are_linked_to_any_of_them() -> None:
    rows = np.array([[1.0], [1.0], [4.0], [1.0], [4.0]])
    assert measure.dld(rows, rows) == pytest.approx(2 / 5)
    assert measure.linkage(rows, rows).share == pytest.approx(2 / 5)
    apart = rows + np.arange(5.0)[:, None] / 10  # nobody knows which is whose
    assert measure.linkage(rows, apart).share == pytest.approx(2 / 5)


def test_tie_between_groups_is_shared() -> None:
    middle = [[0.1], [0.2], [0.3]]  # .2 is as far from .1, twice, as from .3
    near = measure.dld(middle, [[0.1], [0.1], [0.3]])
    assert near == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)
    assert measure.dld(middle, [[0.5], [0.3], [0.1]]) == pytest.approx(1 / 6)
    first = measure.dld(middle[::-1], [[0.3], [0.1], [0.3]])
    assert first == pytest.approx((1 / 2 + 1 / 3 + 0) / 3)


def test_each_record_has_the_rounding_of_its_own_distances() -> None:
    middle = [[-1.0], [0.0], [1.0]]  # at 0 nothing is rounded
    assert measure.dld(middle, middle) == 1
    near = measure.dld(middle, [[1e-14], [3e-14], [1.0]])  # at -1 these two are equal
    assert near == pytest.approx((1 / 2 + 0 + 1) / 3)
    origin = [[0.0], [-1.0], [1.0]]  # the square of 1e-200 is 0
    assert measure.dld(origin, [[0.0], [1e-200], [1.0]]) == pytest.approx(2 / 3)


def test_of_best_assignments_the_most_right_one_counts() -> None:
    square = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    swapped = [[0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [-0.5, -0.5]]
    assert measure.linkage(square, swapped).share == 0.5
    crossed = [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]]
    assert measure.linkage(square, crossed).share == 0
    for side in (0.3, -0.3):  # the first and the third are as near to either
        either = [[0.0, side], [0.0, 0.3], [0.0, -side], [0.0, -0.3]]
        assert measure.linkage(square, either).share == 0.5


def test_right_links_count_by_their_chance() -> None:
    """Either the first is linked to its own row, or one of two in the other's group."""
    rows, released = [[0, 2], [0, 2], [2, 0]], [[2, 2], [0, 0], [0, 0]]
    assert measure.linkage(rows, released).share == pytest.approx((1 + 1 / 4) / 3)


def test_a_release_that_is_only_shifted_links_everybody() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 3))
    for shift in (1e3, 1e7, 1e12):  # squares hide what the records differ by
        assert measure.linkage(rows, rows + shift).share == 1


def test_groups_are_those_of_all_attributes_and_exactly_equal() -> None:
    flat = np.c_[X, np.ones(5)]
    assert measure.highest_risk(np.c_[np.ones((5, 1)), np.zeros((5, 1))]) == 1 / 5
    parted = measure.assess(flat, np.c_[Y, [1.0, 2.0, 1.0, 1.0, 1.0]])
    assert (parted.highest_risk, parted.reidentifications) == (1, 4)
    assert parted.linkage_limit == 3 / 5  # an attribute without weight links nobody
    last = np.nextafter(2.0, 3.0)
    assert measure.record_risk([[2.0], [last], [2.0]]).tolist() == [0.5, 1.0, 0.5]
    assert measure.record_risk([[0.0], [-0.0]]).tolist() == [0.5, 0.5]
    assert measure.record_risk([[7.0]]).tolist() == [1.0]


def test_up_to_5000_records_are_assigned_at_once() -> None:
    rows = np.arange(5000.0)[:, None] // 1000  # few groups: quick
    found = measure.linkage(rows, rows)
    assert (found.limit, found.blocks) == (5 / 5000, 1)
    assert found.share == pytest.approx(5 / 5000)


def test_as_many_as_are_assigned_at_once_are_in_one_block(monkeypatch) -> None:
    monkeypatch.setattr(_linkage, "BLOCK", 2)
    blocks = [measure.linkage(X, X, whole=whole).blocks for whole in (4, 5, 6)]
    assert blocks == [3, 1, 1]


def test_more_are_assigned_in_blocks_of_at_most_1000() -> None:
    rows = np.arange(5001.0)[:, None]
    found = measure.assess(rows, rows)
    assert found.linkage == found.linkage_limit == 1
    assert found.linkage_blocks == 8  # halved thrice: 625 or 626 records each
    alike = np.arange(2002.0)[:, None] // 1001
    assert measure.linkage(alike, alike, whole=2001).blocks == 2  # a group stays whole
    assert measure.linkage(rows[:2000], rows[:2000], whole=1999).blocks == 2
    assert measure.linkage(rows[:2001], rows[:2001], whole=1999).blocks == 3
    assert measure.linkage(rows[:40], rows[:40], whole=20).blocks == 2


def test_the_original_is_called_so_where_it_is_alone() -> None:
    expect_refusal(TableError, lambda: measure.sst([[1.0], [np.nan]]))


@every_measure
@pytest.mark.parametrize("origin", [1e9, -1e9, 2.0**40])
def test_far_from_zero(m: Measure, origin: float) -> None:
    assert m.of(X + origin, Y + origin) == pytest.approx(m.of(X, Y), rel=1e-6)


@every_measure
def test_a_billion_plus_or_minus_one(m: Measure) -> None:
    signs = np.array([[1, -1], [-1, -1], [1, 1], [-1, 1], [1, 0], [0, 1.0]])
    other = signs[[1, 0, 2, 3, 5, 4]]
    near = m.of(signs, other)
    assert m.of(1e9 + signs, 1e9 + other) == pytest.approx(near, rel=1e-6, abs=1e-12)


@every_measure
@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e12, 1e150])
def test_tiny_and_huge_units(m: Measure, unit: float) -> None:
    assert m.of(X * unit, Y * unit) == pytest.approx(m.of(X, Y), rel=1e-9)


@every_measure
def test_an_outlier_as_far_as_floats_go(m: Measure) -> None:
    far = X.copy()
    far[3, 0] = 1e307
    assert np.isfinite(m.of(far, far[::-1]))


@every_measure
def test_a_perfect_correlation(m: Measure) -> None:
    twin = np.c_[X[:, 0], 3 * X[:, 0] - 1]
    if m.unchanged is not None:
        assert m.of(twin, twin) == pytest.approx(m.unchanged, abs=1e-12)


def test_a_perfect_correlation_kept_or_lost() -> None:
    twin = np.c_[X[:, 0], 3 * X[:, 0] - 1]
    kept = np.c_[Y[:, 0], 3 * Y[:, 0] - 1]
    assert measure.pil_parts(twin, kept).correlations == 0
    assert measure.pil_parts(twin, np.c_[kept[:, 0], twin[:, 1]]).correlations == 1


@pytest.mark.parametrize("unit", [0.1, 0.3, 0.7, 1.0, 1.1, 1.7, 3.3, 9.9])
def test_values_on_the_border_count(unit: float) -> None:
    rows = unit * np.array([[-1.0], [1.0], [-1.0], [1.0]])  # standard deviation: unit
    moved = rows + 0.1 * unit
    assert measure.sl(rows, moved, delta=0.1) == 1
    assert measure.sl(rows, moved, delta=0.1001) == 0
    border = 0.1 * np.sqrt(3 / 4)
    assert measure.sdid(rows, moved, safety=border) == 1
    assert measure.sdid(rows, moved, safety=0.999 * border) == 0
    assert measure.sdid_chance(rows, moved, safety=border) == 0.5
    assert measure.sdid_chance(rows, moved, safety=0.999 * border) == 0


def test_an_interval_without_width_discloses_what_is_published_unchanged() -> None:
    assert measure.sdid(X, X, safety=0) == 1
    assert measure.sdid(X, Y, safety=0) == 2 / 10
    assert measure.sdid_chance(X, X, safety=0) == 1 / 5


def test_a_density_counts_strictly_within_its_border() -> None:
    found = _weigh_within(np.arange(5.0), np.arange(6.0), np.array([2.0, 3.0]), 2.0)
    assert found.tolist() == [3, 3]


def test_a_value_on_the_border_of_a_density_does_not_count_for_rounding() -> None:
    z = 0.1 * np.arange(1001.0)[:, None]  # each a thousandth of the range from the next
    q = np.arange(5, 100, 5) / 100
    deviation = np.sqrt(q * (1 - q) / 1001) * 2 * 0.1 * 1001
    moved = compute_probability(np.full(19, 0.3), deviation)
    assert measure.pil_parts(z, z + 0.3).quantiles == pytest.approx(moved.mean())


def test_up_to_the_tolerance_no_change_is_lost_and_any_more_is() -> None:
    gap = TOLERANCE * np.array([0.0, 1.0, -1.0, 1.001, -2.0])
    sure = compute_probability(gap, np.full(5, TOLERANCE))
    assert sure.tolist() == [0, 0, 0, 1, 1]
    flat = scale_to_unit_spread(np.array([[TOLERANCE, 3.0], [-TOLERANCE, -3.0]]))
    assert flat.tolist() == [[0, 1], [0, -1]]


def test_a_table_that_cannot_be_measured_is_called_what_it_is() -> None:
    for name in ("original", "released"):
        tables = {"original": [[1.0], [2.0]], "released": [[1.0], [2.0]]}
        tables[name] = [[1.0], [np.nan]]
        with pytest.raises(TableError, match=f"^{name} has missing"):
            Pair.of(**tables)


def test_what_is_too_far_away_is_refused_and_warns_of_nothing() -> None:
    with refused(TableError):
        Pair.of([[0.0], [1e-3]], [[1e308], [-1e308]])


def test_released_as_far_as_can_be_measured() -> None:
    signs = np.array([[-1.0], [1.0]])
    assert measure.il(signs, signs + 1e100) == pytest.approx(1e200)
    expect_refusal(TableError, lambda: measure.il(signs, signs + 1.001e100))


def test_released_farther_than_a_float_can_hold() -> None:
    huge = np.array([[1e308], [1.5e308], [1.7e308]])
    expect_refusal(TableError, lambda: measure.il(huge, -huge))


def test_no_distance_asked_for_is_always_satisfied() -> None:
    assert measure.sl(X, X, delta=0) == 1
    assert measure.sl(X, X, delta=[0, 0.1], importance=[3, 1]) == 0.75


def test_weights_of_constant_attributes_are_left_out() -> None:
    flat = np.c_[np.ones(5), X]
    moved = np.c_[np.ones(5), X + np.array([100.0, 0.0])]
    assert measure.sl(flat, moved, importance=[50.0, 3.0, 1.0]) == 0.75
    expect_refusal(
        JobError, lambda: measure.sl(flat, moved, importance=[1.0, 0.0, 0.0])
    )


# refusals


@compares
def test_unequal_shapes(m: Measure) -> None:
    expect_refusal(TableError, lambda: m.of(X, Y[:4]))
    expect_refusal(TableError, lambda: m.of(X, Y[:, :1]))


@compares
@pytest.mark.parametrize("which", ["original", "released"])
@pytest.mark.parametrize(
    "table",
    [
        X[:, 0],
        X[:0],
        [["a", "b"]] * 5,
        np.where(X == 7, np.nan, X),
        np.where(X == 9, np.inf, X),
    ],
)
def test_not_a_table(m: Measure, which: str, table: object) -> None:
    pair = (table, X) if which == "original" else (X, table)
    said = expect_refusal(TableError, lambda: m.of(*pair))
    assert said.startswith(which)


@compares
@pytest.mark.parametrize("far", [1e120, -1.7e308])
def test_released_in_other_units(m: Measure, far: float) -> None:
    moved = np.c_[np.ones(5), Y]
    moved[2, 1] = far
    expect_refusal(TableError, lambda: m.of(np.c_[np.ones(5), X], moved))


@pytest.mark.parametrize(
    "of", [measure.sdid, measure.sdid_chance, measure.dr, measure.si, measure.assess]
)
@pytest.mark.parametrize(
    "safety", [-0.1, np.nan, np.inf, "wide", True, [0.1, 0.2], None]
)
def test_safety(of: Callable[..., object], safety: object) -> None:
    expect_refusal(JobError, lambda: of(X, Y, safety=safety))


@pytest.mark.parametrize("of", [measure.sl, measure.assess])
@pytest.mark.parametrize("name", ["delta", "importance"])
@pytest.mark.parametrize(
    "argument",
    [
        -1,
        [1, np.nan],
        np.full((5, 2), np.inf),
        [1, 2, 3],
        np.ones((5, 1)),
        np.ones(5),
        "far",
        True,
        None,
        {"relative": -1},
        {"share": 0.1},
        {},
    ],
)
def test_delta_and_weights(
    of: Callable[..., object], name: str, argument: object
) -> None:
    said = expect_refusal(JobError, lambda: of(X, Y, **{name: argument}))
    assert said.startswith(name)


@pytest.mark.parametrize("of", [measure.linkage, measure.assess])
@pytest.mark.parametrize("whole", [0, -3, 2.5, True, None, "all"])
def test_whole(of: Callable[..., object], whole: object) -> None:
    expect_refusal(JobError, lambda: of(X, Y, whole=whole))


def test_an_assignment_that_does_not_fit_into_memory_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(memory, "find_available_memory", lambda: 399)
    expect_refusal(InfeasibleInputError, lambda: measure.linkage(X, Y))
    monkeypatch.setattr(memory, "find_available_memory", lambda: 400)
    assert measure.linkage(X, Y).blocks == 1


@pytest.mark.parametrize(
    "of",
    [
        measure.record_risk,
        measure.highest_risk,
        measure.average_risk,
        measure.reidentifications,
    ],
)
def test_risk_of_what_is_no_table(of: Callable[..., object]) -> None:
    expect_refusal(TableError, lambda: of([[np.nan], [1.0]]))


def test_all_weights_zero() -> None:
    expect_refusal(JobError, lambda: measure.sl(X, Y, importance=0))


def test_nothing_inside_shows_a_value() -> None:
    rows = X * 12345.0
    shown = repr(Pair.of(rows, rows)) + repr(_Groups.of(rows))
    assert "12345" not in shown
    assert "array" not in shown.replace("varying=array([ True,  True])", "")


def test_refusals_quote_no_value() -> None:
    secret = 123456.789
    for broken in (np.nan, 1e200):
        rows = np.where(X == 7, secret, X)
        moved = np.where(X == 9, broken, rows)
        said = expect_refusal(
            TableError, lambda moved=moved, rows=rows: measure.il(rows, moved)
        )
        assert "1234" not in said
