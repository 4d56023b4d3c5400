"""(n, t)-closeness, against all cubes around each group."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from privacy import slow
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.privacy import find_groups, n_t_closeness, t_closeness


def between(part, whole, domain):
    pairs = zip(slow.shares(part, domain), slow.shares(whole, domain), strict=True)
    gap = np.cumsum([p - q for p, q in pairs])
    return sum(map(abs, gap), Fraction(0)) / (len(domain) - 1)


def oracle(places, values, n):
    """Smallest cubes of n, 2n, ... records around each group, by brute force."""
    held, domain = np.array(values), sorted(set(values))
    spread = np.std(places, axis=0)
    Z = (places - np.mean(places, axis=0)) / np.where(spread == 0, 1, spread)
    worst = Fraction(0)
    for g in range(max(find_groups(places)) + 1):
        inside = find_groups(places) == g
        far = np.abs(Z - Z[inside][0]).max(axis=1)
        part = held[inside].tolist()
        found, least = [between(part, values, domain)], n
        while least < len(values):
            cube = held[far <= np.sort(far)[least - 1] * (1 + 1e-9)].tolist()
            found.append(between(part, cube, domain))
            least *= 2
        worst = max(worst, min(found))
    return float(worst)


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 30))
@examples(60)
def test_it_is_its_definition(seed, records, n):
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 4, (records, 2)).astype(float)
    values = rng.integers(0, 6, records).tolist()
    n = min(n, records)
    if len(set(values)) > 1:
        assert n_t_closeness(places, values, n) == oracle(places, values, n)


def test_at_all_records_it_is_t_closeness_and_never_more():
    rng = np.random.default_rng(2)
    places, values = (
        np.repeat(rng.normal(size=(12, 2)), 4, axis=0),
        rng.integers(0, 9, 48),
    )
    t = t_closeness(places, values)
    assert n_t_closeness(places, values, 48) == t
    assert n_t_closeness(places, values, 4) == 0  # each group is a superset of itself
    assert 0 < n_t_closeness(places, values, 12) <= t
    flat = {"distance": "hierarchical", "tree": dict.fromkeys(range(9), "any")}
    t = t_closeness(places, values, distance="equal")
    for way in ({"distance": "equal"}, flat):
        assert n_t_closeness(places, values, 48, **way) == t


def test_a_constant_attribute_and_a_data_frame():
    frame = pd.DataFrame({"age": [1.0, 1, 2, 2]}, index=[9, 9, 0, 7])
    with pytest.warns(UserWarning, match="one value only"):
        assert n_t_closeness(frame, [7, 7, 7, 7], 2) == 0
    assert n_t_closeness(frame, [1, 2, 3, 4], 3) == pytest.approx(1 / 3)


def test_refusals():
    given = [0, 0, 1]
    for labels in (given, np.array(given), pd.Series(given, index=[5, 5, 1])):
        with refused(JobError):
            n_t_closeness(labels, [1, 2, 3], 2)
    for n in (0, True, 2.0, "2"):
        with refused(JobError, "n ="):
            n_t_closeness([[1.0], [2.0]], [1, 2], n)
    with refused(InfeasibleInputError, "n = 3"):
        n_t_closeness([[1.0], [2.0]], [1, 2], 3)
    with refused(TableError, "numbers"):
        n_t_closeness([["a"], ["b"]], [1, 2], 1)
