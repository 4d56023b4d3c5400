"""What is asked of some records, of a table of which only counts are at hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from aggopt.data.context.confidential_parts import OfPart
from aggopt.errors import InfeasibleInputError
from aggopt.privacy import ordered_attribute as _ordered
from aggopt.privacy.distance import LARGEST
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.p_sensitive import Sensitivity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.nested import Nested
from aggopt.privacy.ordered_attribute import Ordered, _compute_terms
from aggopt.privacy.requirement import sort_by_group
from aggopt.privacy.value_levels import assign_levels, fill_equally

NAMES = ["v", "w", "x", "y", "z"]
TREE = {"a": ["v", "w"], "b": {"c": ["x", "y"]}, "d": ["z"]}
DISTANCES = {
    "ordered": Ordered.of,
    "equal": Nested.equal,
    "hierarchical": lambda codes: Nested.of(NAMES[: codes.max() + 1], codes, TREE),
}


@st.composite
def tables(draw):
    """Codes of records, each of 0..m-1 once or more, and groups of some of them."""
    m = draw(st.integers(1, 5))
    drawn = st.lists(st.integers(0, m - 1), min_size=1, max_size=14)
    codes = np.array([*range(m), *draw(drawn)])
    part = draw(st.integers(1, len(codes)))
    chosen = draw(st.permutations(range(len(codes))))[:part]
    labels = np.unique(
        draw(st.lists(st.integers(0, 3), min_size=part, max_size=part)),
        return_inverse=True,
    )[1]
    return codes, np.array(chosen), labels


@pytest.mark.parametrize("kind", DISTANCES)
@settings(max_examples=40, deadline=None)
@given(table=tables())
def test_groups_of_a_part_lie_as_far_from_the_table_as_in_it(kind, table):
    codes, rows, labels = table
    values = np.arange(codes.max() + 1)
    counts = np.bincount(codes)
    distance = DISTANCES[kind]
    whole = Closeness("pay", distance(codes), 0.3, kind)
    of_values = Closeness("pay", distance(values).counted(counts), 0.3, kind)
    part = OfPart(of_values, codes[rows])
    records, starts = sort_by_group(labels)
    own = rows[records], starts
    assert (whole.n, whole.distance.unit) == (of_values.n, of_values.distance.unit)
    assert (
        part.measure_groups(records, starts).tolist()
        == whole.measure_groups(*own).tolist()
    )
    assert (
        part.find_broken(records, starts).tolist() == whole.find_broken(*own).tolist()
    )
    assert (
        part.measure_shortfall(records, starts).tolist()
        == whole.measure_shortfall(*own).tolist()
    )
    check = part.check(labels)
    exact = whole.distance.worst(whole._compute_numerators(*own), np.diff(starts))
    assert check.found == float(exact)
    assert check.trivial == whole.trivial


def test_what_is_asked_of_a_part_is_said_as_of_the_whole():
    whole = Diversity("pay", np.array([0, 1, 2, 0, 1]), 2, values=9)
    part = OfPart(whole, np.array([1, 4, 1]))
    check = part.check(np.array([0, 0, 0]))
    assert check.promise == "distinct l of 3 levels of 9 values"
    assert (check.attribute, check.asked, check.found) == ("pay", 2.0, 1.0)
    assert (check.holds, check.sign, check.worst) == (False, ">=", 3)
    assert check.keeps == "l of at most 1"
    assert (part.model, part.additive, part.n) == ("l", True, 3)
    assert part.list_remedies(check) == whole.list_remedies(check)


def test_a_requirement_that_is_of_less_is_so_of_a_part():
    whole = Closeness("pay", Ordered.of([1, 2]).counted(np.array([3, 1])), 0.4)
    part = OfPart(whole, np.array([0, 1]))
    assert (part.sign, part.model, part.required) == ("<=", "t", 0.4)
    assert part.check(np.array([0, 0])).found == 0.25
    assert not part.trivial
    one = OfPart(Closeness("pay", Ordered.of([1]), 0.4), np.zeros(2, np.int64))
    assert one.trivial


def test_values_of_a_part_are_counted_by_themselves():
    whole = Sensitivity("pay", np.array([0, 1, 2]), 2)
    part = OfPart(whole, np.array([2, 2, 0, 1]))
    assert part.measure_groups(*sort_by_group(np.array([0, 0, 1, 1]))).tolist() == [
        1,
        2,
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=15), st.integers(2, 6))
def test_levels_of_counted_numbers_are_those_of_the_records(numbers, levels):
    records = np.array(numbers)
    distinct, which, counts = np.unique(
        records, return_inverse=True, return_counts=True
    )
    for asked in (levels, [-1.0, 2.0]):
        found = assign_levels(distinct, asked, counts)
        assert found[which].tolist() == assign_levels(records, asked).tolist()


def test_limits_of_some_sizes_are_those_of_all():
    distance = Ordered.of([3, 1, 1, 2])
    sizes = np.array([4, 1, 3])
    assert distance.limits(0.3, sizes).tolist() == distance.limits(0.3)[sizes].tolist()


def test_a_value_that_no_record_has_takes_no_part():
    codes, labels = np.array([0, 1, 0]), np.array([0, 0, 1])
    whole, more = (Nested.of(NAMES[:m], codes, TREE) for m in (2, 5))
    assert more.emd(labels).tolist() == whole.emd(labels).tolist()
    assert whole.emd(labels) == pytest.approx([1 / 18, 1 / 9])
    counts = np.array([2, 3, 1])
    assert more.counted(counts).counts.tolist() == [3, 3, 0, 0, 0]
    assert Nested.of(NAMES[:2], codes, TREE).counted(counts).n == 6


@pytest.mark.parametrize("kind", DISTANCES)
def test_counted_records_are_whole_numbers(kind):
    made = DISTANCES[kind](np.array([0, 1])).counted(np.array([3, 1]))
    found = made.below if kind == "ordered" else made.counts
    assert found.tolist() == ([3, 4] if kind == "ordered" else [3, 1])
    assert found.dtype == np.int64
    levels = fill_equally(np.array([5, 7]), 2, np.array([3, 1]))
    assert (levels.tolist(), levels.dtype) == ([0, 1], np.int64)


def test_the_sign_of_a_term_is_exact_in_large_groups():
    s, n = 2**26, 2**30 + 1  # n (s - 1) is 1 less than `below` times s
    below = np.array([n - 16, n])
    sums = np.array([0, *np.cumsum(below)])
    one = (np.array([value]) for value in (s - 1, s, 0, 1))
    assert _compute_terms(*one, n, below, sums).tolist() == [1]


@pytest.mark.parametrize("kind", ["ordered", "equal"])
def test_a_table_that_is_too_large_to_count_exactly_is_refused(kind):
    half = round(LARGEST**0.5)
    distance = DISTANCES[kind](np.array([0, 1]))
    with refused(InfeasibleInputError):
        distance.counted(np.array([half, half]))


def test_a_table_that_is_not_all_at_hand_needs_no_list_as_long(monkeypatch):
    asked = []
    found = np.array([7])
    monkeypatch.setattr(
        _ordered, "compute_numerators", lambda *terms: asked.append(terms) or found
    )
    table = Ordered.of([1, 2, 2])
    group = np.array([0, 3])
    assert table.runs(table.place, group).tolist() == [0]
    assert not asked
    part = Ordered.of([1, 2]).counted(np.array([1, 2]))
    assert part.runs(part.place, np.array([0, 2])).tolist() == [7]
    ((places, starts, below, sums),) = asked
    assert (places.tolist(), starts.tolist()) == ([0, 1], [0, 2])
    assert (below.tolist(), sums.tolist()) == ([1, 3], [0, 1, 4])
