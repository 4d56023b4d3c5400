"""Mean, renormalised mean and median: against loops, and by what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from aggopt.aggregate import mean, median
from aggopt.aggregate.secret_margins import find_step
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.solvers import Status

cases = st.integers(2, 15).flatmap(
    lambda n: st.tuples(
        st.lists(
            st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=2),
            min_size=n,
            max_size=n,
        ),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
    )
)


def unpacked(case):
    X, raw = case
    return np.array(X), np.unique(raw, return_inverse=True)[1]


@pytest.mark.parametrize(("combine", "slow"), [(mean, np.mean), (median, np.median)])
@given(case=cases)
def test_equals_a_loop_over_groups(combine, slow, case):
    X, labels = unpacked(case)
    expected = [slow(X[labels == j], axis=0) for j in range(labels.max() + 1)]
    masked = combine(X, labels)
    assert masked.centroids == pytest.approx(np.array(expected))
    assert (masked.values == masked.centroids[labels]).all()


@given(cases)
def test_the_mean_loses_least_squared_error_and_the_median_least_absolute(case):
    X, labels = unpacked(case)
    means, medians = mean(X, labels), median(X, labels)
    for j, (squared, absolute) in enumerate(
        zip(means.certificates, medians.certificates, strict=True)
    ):
        assert squared.status is absolute.status is Status.OPTIMAL
        assert squared.gap == absolute.gap == 0
        spread = X[:, j].std() or 1.0

        def lost(values, j=j, spread=spread):
            return (values[:, j] - X[:, j]) / spread

        assert squared.objective == pytest.approx((lost(means.values) ** 2).sum())
        assert absolute.objective == pytest.approx(abs(lost(medians.values)).sum())
        slack = 1e-9
        assert squared.objective <= (lost(medians.values) ** 2).sum() + slack
        assert absolute.objective <= abs(lost(means.values)).sum() + slack


@given(st.integers(0, 10_000))
def test_renormalising_keeps_mean_and_variance(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3)) * [1e-12, 1, 1e12] + [0, 1e9, 0]
    values = mean(X, np.arange(20) // 4, keep="variance").values
    assert values.mean(axis=0) == pytest.approx(X.mean(axis=0), rel=1e-9, abs=1e-20)
    assert values.std(axis=0) == pytest.approx(X.std(axis=0), rel=1e-6)


def test_renormalising_loses_least_among_what_keeps_mean_and_variance():
    rng = np.random.default_rng(3)
    x = rng.normal(size=12)
    x = (x - x.mean()) / x.std()
    labels = np.arange(12) // 3
    best = mean(x[:, None], labels, keep="variance").certificates[0].objective
    for _ in range(300):
        c = rng.normal(size=4)
        c = (c - c.mean()) / c.std()
        assert ((c[labels] - x) ** 2).sum() >= best - 1e-9


@pytest.mark.parametrize("combine", [mean, median])
def test_a_group_of_equal_values_keeps_them_to_the_last_bit(combine):
    X = np.array([[0.1], [0.1], [0.1], [1e9 + 0.3], [1e9 + 0.3]])
    assert combine(X, [0, 0, 0, 1, 1]).values.tolist() == X.tolist()


@pytest.mark.parametrize("combine", [mean, median])
def test_values_far_from_zero_lose_no_digits(combine):
    X = np.array([[1e9 - 1], [1e9 + 1], [1e9 + 4], [1e9 + 6]])
    assert combine(X, [0, 0, 1, 1]).centroids.ravel().tolist() == [1e9, 1e9 + 5]


@pytest.mark.parametrize("combine", [mean, median])
def test_a_constant_attribute_is_kept(combine):
    X = np.array([[7.1, 1.0], [7.1, 2.0]])
    assert combine(X, [0, 0]).values[:, 0].tolist() == [7.1, 7.1]


def test_a_constant_attribute_is_kept_when_renormalised():
    X = np.array([[7.1, 1.0], [7.1, 2.0], [7.1, 5.0]])
    assert (mean(X, [0, 0, 1], keep="variance").values[:, 0] == 7.1).all()


def test_one_group_cannot_keep_the_variance():
    with refused(InfeasibleInputError):
        mean([[1.0], [2.0]], [0, 0], keep="variance")
    two = [[1.0, 1.0], [2.0, 5.0], [2.0, 3.0], [1.0, 6.0]]
    with refused(InfeasibleInputError):
        mean(two, [0, 0, 1, 1], keep="variance")


@pytest.mark.parametrize("combine", [mean, median])
def test_unusable_input_is_refused(combine):
    with refused(TableError, "missing or infinite"):
        combine([[1.0], [np.nan]], [0, 0])
    with refused(JobError):
        combine([[1.0], [2.0]], [0, 2])


def test_printing_shows_no_value():
    assert "array" not in repr(mean([[1.0], [2.0]], [0, 0]))


# --- how far the possible values of an attribute lie apart


RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=400)
COUNTS = RNG.poisson(4, 400).astype(float)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 4, 9, 11], 1),
        ([1e9 + 1, 1e9 + 4, 1e9 + 9], 1),
        ([-1500.0, 500, 2000], 500),
        ([1e-300, 2e-300, 4e-300, 9e-300], 1e-300),
        ([1e300, -1e300, 4e300], 1e300),
        ([0.0, 1.0], 1),
        ([7.0, 7.0], 0),
        ([0.25, 0.5, 1.75], 0.25),  # the gap: of round numbers it is 0.05
        ([0.333, 0.667, 1, 1.333, 2], 0.333),
        (np.exp(8 + 0.6 * NORMAL).round(2), 0.01),
        (np.exp(8 + 0.6 * NORMAL).round(2).astype(np.float32), 0.01),
        (NORMAL, 0),
        (COUNTS * 200, 200),
        (COUNTS / 2.2046, 1 / 2.2046),
        ((COUNTS - COUNTS.mean()) / COUNTS.std(), 1 / COUNTS.std()),
        (np.append(np.zeros(380), NORMAL[:20]), 0),  # zeros tell no step
        (np.append(np.arange(90.0) * 500, NORMAL[:9] * 1000), 500),
        (np.append(np.arange(50.0) * 500, np.exp(8 + NORMAL[:20]).round(2)), 0.01),
    ],
)
def test_the_step_of_values(values, step) -> None:
    found = find_step(np.asarray(values, dtype=float))
    assert found == pytest.approx(step, rel=1e-2 if step == 0.01 else 1e-9)


def test_steps_below_the_least_are_not_looked_for() -> None:
    cents = np.exp(8 + 0.6 * NORMAL).round(2)
    assert find_step(cents, 0.01) == 0.01
    assert find_step(cents, 0.011) == 0
    assert find_step(COUNTS, 1.5) == 0


def test_nine_in_ten_values_are_enough_and_fewer_are_not() -> None:
    odd = 0.37 * np.arange(1.0, 11) + 0.001 * np.arange(10) ** 2
    assert find_step(np.append(np.arange(1.0, 91) * 1000, odd)) == 1000
    assert find_step(np.append(np.arange(1.0, 90) * 1000, odd)) <= 1
