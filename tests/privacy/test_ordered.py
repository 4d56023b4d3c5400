"""Confidential values in bins, and the numerators of their groups."""

from fractions import Fraction

import numpy as np
import pytest
from drawn import examples
from from_python import from_python
from hypothesis import given
from hypothesis import strategies as st
from privacy import slow
from refusals import refused
from scipy.stats import wasserstein_distance

from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.privacy import emd_kernels as _emd_kernels
from aggopt.privacy.ordered_attribute import Ordered, read_threshold


def case(seed, n, distinct, groups):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, distinct, n)
    labels = np.unique(rng.integers(0, groups, n), return_inverse=True)[1]
    return values, labels


cases = st.builds(
    case,
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.integers(0, 9),
    st.integers(1, 6),
)


@given(cases)
@examples(150)
def test_numerators_are_their_definition(drawn):
    values, labels = drawn
    for bins in ("distinct", "rank"):
        table = Ordered.of(values, bins)
        for g, numerator in enumerate(table.numerators(labels)):
            places = table.place[labels == g]
            terms = [
                abs(table.n * int((places <= i).sum()) - len(places) * int(below))
                for i, below in enumerate(table.below)
            ]
            assert numerator == sum(terms)


@given(cases)
@examples(150)
def test_the_largest_is_exact(drawn):
    values, labels = drawn
    found = Ordered.of(values)
    worst = slow.ordered(labels.tolist(), values.tolist())
    assert found.largest(labels) == worst
    assert found.emd(labels).max() == pytest.approx(float(worst), abs=1e-15)


def test_it_is_the_wasserstein_distance_of_ranks():
    rng = np.random.default_rng(3)
    values, labels = rng.integers(0, 40, 300), np.arange(300) % 17
    table = Ordered.of(values)
    for g, found in enumerate(table.emd(labels)):
        distance = wasserstein_distance(table.place[labels == g], table.place)
        assert found == pytest.approx(distance / (table.m - 1), rel=1e-12)


@given(cases)
@examples(50)
def test_rank_bins_order_by_value_and_then_by_position(drawn):
    values, _ = drawn
    place = Ordered.of(values, "rank").place
    assert sorted(place) == list(range(len(values)))
    assert (np.argsort(place) == np.lexsort((np.arange(len(values)), values))).all()


def test_without_ties_both_bins_are_the_same():
    values = np.random.default_rng(0).permutation(50)
    assert (Ordered.of(values).place == Ordered.of(values, "rank").place).all()


@given(cases, st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
@examples(60)
def test_limits_decide_exactly(drawn, t):
    values, labels = drawn
    table = Ordered.of(values)
    sizes = np.bincount(labels)
    for of in (t, table.largest(labels)):
        if 0 < of < 1:
            kept = (table.numerators(labels) <= table.limits(of)[sizes]).all()
            assert kept == (table.largest(labels) <= of)


def test_a_float_counts_as_the_decimal_that_it_is_written_as():
    # Fraction(0.15) is below 3/20, so that an EMD of 3/20 would break t = 0.15
    table = Ordered.of(np.arange(21))
    assert Fraction(0.15) < Fraction(3, 20) == read_threshold(0.15)
    assert table.limits(0.15)[1] == 3 * table.unit // 20
    assert read_threshold(np.float64(0.1)) == Fraction(1, 10)


def test_edges():
    assert Ordered.of([7]).emd([0]).tolist() == [0]
    constant = Ordered.of([5, 5, 5, 5])
    assert (constant.m, constant.unit) == (1, 0)
    assert constant.emd([0, 0, 1, 1]).tolist() == [0, 0]
    assert constant.largest([0, 0, 1, 1]) == 0
    assert (constant.limits(0.1) == 0).all()
    assert Ordered.of([1, 2]).emd([0, 1]).tolist() == [0.5, 0.5]
    assert Ordered.of([True, False]).place.tolist() == [1, 0]
    assert Ordered.of([1, 2, 3]).emd([0, 0, 0]).tolist() == [0]


def test_repr_shows_no_record():
    assert repr(Ordered.of([123456, 7])) == "Ordered()"


def test_whole_numbers_beyond_floats_stay_apart():
    assert Ordered.of(np.array([2**60, 2**60 + 1])).m == 2


def test_a_kernel_of_one_group_agrees():
    table = Ordered.of([4, 1, 1, 9, 9, 2])
    labels = np.array([0, 0, 0, 1, 1, 1])
    first = np.sort(table.place[:3])
    alone = from_python(_emd_kernels.compute_group_numerator)(
        first, table.n, table.sums, table.first
    )
    assert alone == table.numerators(labels)[0]


# refusals


@pytest.mark.parametrize("t", [0, 1, -0.1, 1.5, float("nan"), float("inf")])
def test_t_lies_between_0_and_1(t):
    with refused(JobError):
        Ordered.of([1, 2]).limits(t)


@pytest.mark.parametrize("t", ["0.1", None, True])
def test_t_is_a_number(t):
    with refused(JobError):
        Ordered.of([1, 2]).limits(t)


@pytest.mark.parametrize("bins", ["ranks", None, 3])
def test_unknown_bins(bins):
    with refused(JobError, "'distinct'", "'rank'"):
        Ordered.of([1, 2], bins)


@pytest.mark.parametrize(
    "values",
    [["a", "b"], [[1, 2]], [], [1.0, np.nan], [1.0, -np.inf, np.nan], [1, None]],
)
def test_values_that_have_no_order(values):
    with refused(TableError):
        Ordered.of(values)


def test_what_64_bits_cannot_count_is_refused():
    place, n = np.zeros(3, np.int64), 3_000_000
    with refused(InfeasibleInputError):
        Ordered(place, np.arange(n - 2_000_000, n) + 1)
