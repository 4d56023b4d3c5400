"""Refusals of measures, and what is printed of their figures."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt import encode, measure
from aggopt.errors import AggoptError
from aggopt.measure._assess import _format_plain
from aggopt.measure._pair import Pair
from aggopt.measure.registry import Comparison

TYPED = pd.DataFrame({"s": ["a", "b", "b"], "t": ["x", "x", "y"]})
X, Y = [[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [4.0, 1.0]]


def _compared() -> Comparison:
    return Comparison(Pair.of(X, Y), 0.05, 0.1, 1.0, 100)


REFUSED = {
    "unequal shapes": lambda: measure.il(X, Y[:2]),
    "nothing varies": lambda: measure.il(X[:1], X[:1]),
    "released in other units": lambda: measure.il(X, np.multiply(Y, 1e110)),
    "a safety that is no number": lambda: measure.sdid(X, Y, safety="wide"),
    "a safety of less than nothing": lambda: measure.sdid(X, Y, safety=-0.25),
    "the nearest none": lambda: measure.dld(X, Y, nearest=0),
    "an interval of another kind": lambda: measure.interval_disclosure(
        X, Y, relative_to="ranks"
    ),
    "another shape": lambda: measure.sl(X, Y, delta=[1, 2, 3]),
    "entries that are no numbers": lambda: measure.sl(X, Y, importance=["a", "b"]),
    "entries of less than nothing": lambda: measure.sl(X, Y, delta=[-1, np.nan]),
    "no importance": lambda: measure.sl(X, Y, importance=[0, 1]),
    "whole that is no number": lambda: measure.linkage(X, Y, whole=2.5),
    "a measure that no comparison finds": lambda: _compared().figure(
        replace(measure.MEASURES["il"], of=None)
    ),
    "whole of nothing": lambda: measure.linkage(X, Y, whole=0),
    "types of what is encoded": lambda: measure.assess_types(
        encode(np.array(X)), np.array(Y), {}
    ),
    "distances asked of names": lambda: measure.assess(
        TYPED, TYPED, {"s": {"kind": "nominal"}}, delta=[0.1, 0.2]
    ),
    "importance of names": lambda: measure.assess(TYPED, TYPED, importance=[1, 2]),
    "sampling weights of names": lambda: measure.assess(
        TYPED, TYPED, weights=np.zeros(len(TYPED))
    ),
    "no name varies": lambda: measure.assess(TYPED[:1], TYPED[:1]),
    "released far away": lambda: measure.assess_types(
        np.array(X), np.multiply(Y, 1e110)
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(case: str) -> None:
    with refused(AggoptError):
        REFUSED[case]()


def test_the_highest_value_is_the_end_of_the_range() -> None:
    found = {m.range: m.highest for m in measure.MEASURES.values()}
    assert found["0..1"] == 1.0
    assert found["0.."] == math.inf
    assert replace(measure.MEASURES["il"], range="0..25").highest == 25.0
    assert replace(measure.MEASURES["il"], range="..").highest == math.inf


def test_figures_are_said_with_their_meaning() -> None:
    found = SimpleNamespace(sdid_chance=0.5, safety=0.25, types=None)
    said = measure.MEASURES["sdid"].says(found)
    assert said == "values within 0.25 standard deviations; 50.00 % by chance"
    found.types = "some"
    said = measure.MEASURES["sdid"].says(found)
    assert said == (
        "values within 0.25 standard deviations, or levels as near; 50.00 % by chance"
    )
    shown = [_format_plain(2_000_001), _format_plain(2_000_001.0), _format_plain(None)]
    assert shown == ["2000001", "2e+06", "none"]


def test_a_measure_that_is_none_is_an_attribute_that_is_not_there() -> None:
    with pytest.raises(AttributeError) as error:
        measure.__getattr__("nothing")
    assert str(error.value) == "module 'aggopt.measure' has no attribute 'nothing'"
    with pytest.raises(AttributeError):
        measure.__getattr__("_registry_of_nothing")
