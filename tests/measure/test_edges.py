"""The edges, by name, and the message of each refusal."""

from collections.abc import Callable

import numpy as np
import pytest
from measure.registry import MEASURES, Measure

from aggopt import measure
from aggopt.errors import AggoptError, JobError, TableError

every_measure = pytest.mark.parametrize("m", MEASURES.values(), ids=MEASURES)
compares = pytest.mark.parametrize(
    "m", [m for n, m in MEASURES.items() if "sst" not in n]
)

X = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 5.0], [7.0, 3.0], [4.0, 9.0]])
Y = np.array([[2.0, 1.5], [2.0, 1.5], [2.0, 5.0], [5.5, 6.0], [5.5, 6.0]])


def refusal(kind: type[AggoptError], call: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.fix
    return str(caught.value)


# edges


@every_measure
@pytest.mark.parametrize("rows", [[[5.0, 1.0]], [[5.0, 1.0]] * 4])
def test_one_record_or_all_identical_is_refused(
    m: Measure, rows: list[list[float]]
) -> None:
    said = refusal(TableError, lambda: m.of(rows, rows))
    assert f"No attribute of the original varies ({len(rows)} record(s), 2" in said
    assert "To fix: pass at least two records that differ." in said


def test_one_attribute_has_no_pairs() -> None:
    parts = measure.pil_parts(X[:, :1], Y[:, :1])
    assert (parts.covariances, parts.correlations) == (None, None)
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


def test_released_as_a_constant() -> None:
    """All are at the same place, so everybody is linked to the first."""
    mean = np.broadcast_to(X.mean(axis=0), X.shape)
    assert measure.dld(X, mean) == 1 / 5
    assert measure.il(X, mean) == pytest.approx(1)
    nearly = mean + 1e-14 * X  # its correlations would be noise
    lost, same = measure.pil_parts(X, mean), measure.pil_parts(X, nearly)
    assert 0 < lost.correlations < 1
    assert same.correlations == pytest.approx(lost.correlations)


def test_identical_records_are_all_linked_to_the_first() -> None:
    rows = np.array([[1.0], [1.0], [4.0], [1.0], [4.0]])
    assert measure.dld(rows, rows) == 2 / 5


def test_tie_between_groups_goes_to_the_smallest_index() -> None:
    middle = [[0.1], [0.2], [0.3]]
    assert measure.dld(middle, [[0.1], [0.1], [0.3]]) == 2 / 3  # .2: record 0 is first
    assert measure.dld(middle, [[0.5], [0.3], [0.1]]) == 1 / 3  # .2: its own is first
    assert measure.dld(middle[::-1], [[0.3], [0.1], [0.3]]) == 1 / 3


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


def test_no_distance_asked_for_is_always_satisfied() -> None:
    assert measure.sl(X, X, delta=0) == 1
    assert measure.sl(X, X, delta=[0, 0.1], weights=[3, 1]) == 0.75


def test_weights_of_constant_attributes_are_left_out() -> None:
    flat = np.c_[np.ones(5), X]
    moved = np.c_[np.ones(5), X + np.array([100.0, 0.0])]
    assert measure.sl(flat, moved, weights=[50.0, 3.0, 1.0]) == 0.75
    said = refusal(JobError, lambda: measure.sl(flat, moved, weights=[1.0, 0.0, 0.0]))
    assert "The weights of all attributes that vary are 0." in said


# refusals


@compares
def test_unequal_shapes(m: Measure) -> None:
    said = refusal(TableError, lambda: m.of(X, Y[:4]))
    assert "original has shape (5, 2), released has shape (4, 2)" in said
    said = refusal(TableError, lambda: m.of(X, Y[:, :1]))
    assert "original has shape (5, 2), released has shape (5, 1)" in said
    assert "same records and the same attributes in the same order" in said


@compares
@pytest.mark.parametrize("which", ["original", "released"])
@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (X[:, 0], "has 1 dimension(s)"),
        (X[:0], "is empty"),
        ([["a", "b"]] * 5, "not real numbers"),
        (np.where(X == 7, np.nan, X), "missing or infinite entries (column 0: 1)"),
        (np.where(X == 9, np.inf, X), "missing or infinite entries (column 1: 1)"),
    ],
)
def test_not_a_table(m: Measure, which: str, table: object, complaint: str) -> None:
    pair = (table, X) if which == "original" else (X, table)
    said = refusal(TableError, lambda: m.of(*pair))
    assert said.startswith(which)
    assert complaint in said


@compares
@pytest.mark.parametrize("far", [1e120, -1.7e308])
def test_released_in_other_units(m: Measure, far: float) -> None:
    moved = np.c_[np.ones(5), Y]
    moved[2, 1] = far
    said = refusal(TableError, lambda: m.of(np.c_[np.ones(5), X], moved))
    assert "Column(s) [1] of released lie more than 1e+100 standard dev" in said


@pytest.mark.parametrize("of", [measure.sdid, measure.dr, measure.si, measure.assess])
@pytest.mark.parametrize(
    ("safety", "complaint"),
    [
        (-0.1, "safety = -0.1 is not a finite number of at least 0"),
        (np.nan, "safety = nan is not"),
        (np.inf, "safety = inf is not"),
        ("wide", "safety must be a number, not str"),
        (True, "safety must be a number, not bool"),
        ([0.1, 0.2], "safety must be a number, not list"),
        (None, "safety must be a number, not NoneType"),
    ],
)
def test_safety(of: Callable[..., object], safety: object, complaint: str) -> None:
    said = refusal(JobError, lambda: of(X, Y, safety=safety))
    assert complaint in said
    assert "such as safety=0.05" in said


@pytest.mark.parametrize("of", [measure.sl, measure.assess])
@pytest.mark.parametrize("name", ["delta", "weights"])
@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        (-1, "has 1 entries that are negative or not finite"),
        ([1, np.nan], "has 1 entries that are negative or not finite"),
        (np.full((5, 2), np.inf), "has 10 entries that are negative or not finite"),
        ([1, 2, 3], "has shape (3,)"),
        (np.ones((5, 1)), "has shape (5, 1)"),
        (np.ones(5), "has shape (5,)"),
        ("far", "not numbers"),
        (True, "not numbers"),
        (None, "not numbers"),
    ],
)
def test_delta_and_weights(
    of: Callable[..., object], name: str, argument: object, complaint: str
) -> None:
    said = refusal(JobError, lambda: of(X, Y, **{name: argument}))
    assert said.startswith(name)
    assert complaint in said


def test_all_weights_zero() -> None:
    said = refusal(JobError, lambda: measure.sl(X, Y, weights=0))
    assert "give at least one value a positive weight" in said


def test_refusals_quote_no_value() -> None:
    secret = 123456.789
    for broken in (np.nan, 1e200):
        rows = np.where(X == 7, secret, X)
        moved = np.where(X == 9, broken, rows)
        said = refusal(
            TableError, lambda moved=moved, rows=rows: measure.il(rows, moved)
        )
        assert "1234" not in said
