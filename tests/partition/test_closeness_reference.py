"""V-MDAV and algorithms 1 to 3 equal their slow references, tie for tie."""

from fractions import Fraction

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from partition import reference_closeness as slow

from aggopt.partition import (
    anonymity_first,
    closeness_first,
    mdav,
    merge_until_close,
    vmdav,
)

TS = "0.02", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3", "0.45", "0.9"


@st.composite
def instances(draw, most=20):
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 3))
    widest, values = (
        draw(st.sampled_from((1, 3, 50))),
        draw(st.sampled_from((1, 3, 60))),
    )
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(-widest, widest + 1, size=(n, d))
    y = rng.integers(0, values, size=n)
    k = draw(st.integers(1, min(n, 6)))
    return (
        X,
        y,
        k,
        draw(st.sampled_from(TS)),
        draw(st.sampled_from(["distinct", "rank"])),
    )


def unscaled(X, k):
    return mdav(X, k, scale="none")


@given(case=instances(60), gamma=st.sampled_from((0, 0.2, 0.5, 1.1, 3)))
@examples(100)
@pytest.mark.parametrize("centroid", ["fixed", "remaining"])
def test_vmdav(centroid, case, gamma) -> None:
    X, _, k, _, _ = case
    found = vmdav(X, k, gamma=gamma, centroid=centroid, scale="none")
    assert (found == slow.vmdav(X, k, gamma, centroid)).all()


FAST = {
    "I": (
        lambda *a, **b: merge_until_close(*a, initial=unscaled, **b),
        slow.algorithm_1,
    ),
    "II": (anonymity_first, slow.algorithm_2),
    "III": (closeness_first, slow.algorithm_3),
}


of_any_values = pytest.mark.filterwarnings("ignore:.*one value only:UserWarning")


@of_any_values
@pytest.mark.parametrize("number", FAST)
@given(case=instances())
@examples(60)
def test_algorithm(number, case) -> None:
    X, y, k, t, bins = case
    fast, obvious = FAST[number]
    places = slow.bins_of(y.tolist(), bins)
    exact = Fraction(t)
    expected = obvious(X, [places] if number == "I" else places, k, exact)
    found = fast(X, y, k, float(t), bins=bins, scale="none")
    assert (found == expected).all()
    groups = [np.flatnonzero(found == g) for g in range(found.max() + 1)]
    assert min(map(len, groups)) >= k
    assert max(slow.emd(places, g) for g in groups) <= exact


@of_any_values
@given(case=instances(), seed=st.integers(0, 1000))
@examples(40)
def test_merging_keeps_t_for_every_attribute(case, seed) -> None:
    X, y, k, t, bins = case
    other = np.random.default_rng(seed).integers(0, 9, size=len(y))
    places = [slow.bins_of(v.tolist(), bins) for v in (y, other)]
    both = np.stack([y, other], axis=1)
    found = merge_until_close(
        X, both, k, float(t), initial=unscaled, bins=bins, scale="none"
    )
    assert (found == slow.algorithm_1(X, places, k, Fraction(t))).all()


@pytest.mark.parametrize("number", ["II", "III"])
def test_on_a_large_grid_full_of_ties(number) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, size=(120, 2)), rng.integers(0, 12, size=120)
    fast, obvious = FAST[number]
    expected = obvious(X, slow.bins_of(y.tolist(), "distinct"), 2, Fraction("0.1"))
    assert (fast(X, y, 2, 0.1, scale="none") == expected).all()
