"""What a user may say of the type of an attribute."""

from typing import Any

import numpy as np
import pytest
from refusals import refused

from aggopt.encoding import AttributeType
from aggopt.errors import JobError

TREE = {"top": ["a", "b"]}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, None),
        ({"order": ["a", "b"]}, "ordinal"),
        ({"tree": TREE}, "hierarchical"),
        ({"distances": {"a": {"b": 1}}}, "distances"),
        ({"kind": "hierarchical", "tree": TREE}, "hierarchical"),
        ({"kind": "nominal", "missing": "own value"}, "nominal"),
    ],
)
def test_the_kind_is_that_of_what_is_given(given: Any, kind: str | None) -> None:
    assert AttributeType.of(given).kind == kind
    assert AttributeType(**given).kind == kind


@pytest.mark.parametrize(
    "given",
    [
        {"order": ["a"], "tree": TREE},
        {"tree": TREE, "distances": {}},
        {"kind": "nominal", "order": ["a"]},
        {"kind": "hierarchical"},
        {"kind": "distances"},
        {"kind": "ordinary"},
        {"order": ["a", "a"]},
        {"order": []},
        {"weight": 0},
        {"weight": -1.0},
        {"weight": np.nan},
        {"weight": np.inf},
        {"weight": "1"},
        {"weight": True},
        {"missing": "drop"},
        {"missing": None},
        {"order": ["a"], "missing": "own value"},
        {"kind": "numeric", "missing": "own value"},
        {"sort": 1},
        "nominal",
    ],
)
def test_what_makes_no_sense_is_refused(given: Any) -> None:
    with refused(JobError):
        AttributeType.of(given)


def test_no_value_is_shown() -> None:
    assert "QQ" not in repr(AttributeType(order=["QQ"]))
