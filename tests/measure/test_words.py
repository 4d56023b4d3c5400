"""What each refusal says, in full: words.toml is what a person reads."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from aggopt import measure
from aggopt.errors import AggoptError

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
X, Y = [[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [4.0, 1.0]]

REFUSED = {
    "unequal shapes": lambda: measure.il(X, Y[:2]),
    "nothing varies": lambda: measure.il(X[:1], X[:1]),
    "released in other units": lambda: measure.il(X, np.multiply(Y, 1e110)),
    "a safety that is no number": lambda: measure.sdid(X, Y, safety="wide"),
    "a safety of less than nothing": lambda: measure.sdid(X, Y, safety=-0.25),
    "another shape": lambda: measure.sl(X, Y, delta=[1, 2, 3]),
    "entries that are no numbers": lambda: measure.sl(X, Y, weights=["a", "b"]),
    "entries of less than nothing": lambda: measure.sl(X, Y, delta=[-1, np.nan]),
    "no weights": lambda: measure.sl(X, Y, weights=[0, 1]),
    "whole that is no number": lambda: measure.linkage(X, Y, whole=2.5),
    "whole of nothing": lambda: measure.linkage(X, Y, whole=0),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_said_in_full(case: str) -> None:
    with pytest.raises(AggoptError) as error:
        REFUSED[case]()
    found = error.value
    said = {"kind": type(found).__name__, "problem": found.problem, "fix": found.fix}
    assert said == WORDS[case]


def test_no_words_are_left_over() -> None:
    assert WORDS.keys() == REFUSED.keys()
