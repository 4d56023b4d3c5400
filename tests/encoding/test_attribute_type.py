"""What a user may say of the type of an attribute."""

from typing import Any

import numpy as np
import pytest

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
    ("given", "words"),
    [
        ({"order": ["a"], "tree": TREE}, "order and tree are both given"),
        ({"tree": TREE, "distances": {}}, "tree and distances are both given"),
        ({"kind": "nominal", "order": ["a"]}, "order has no meaning"),
        ({"kind": "hierarchical"}, "needs tree"),
        ({"kind": "distances"}, "needs distances"),
        ({"kind": "ordinary"}, "'ordinary'"),
        ({"order": ["a", "a"]}, "order names 1 values 2 times"),
        ({"order": []}, "order names nothing"),
        ({"weight": 0}, "weight = 0"),
        ({"weight": -1.0}, "weight = -1"),
        ({"weight": np.nan}, "weight = nan"),
        ({"weight": np.inf}, "weight = inf"),
        ({"weight": "1"}, "weight = '1'"),
        ({"weight": True}, "weight = bool"),
        ({"missing": "drop"}, "missing is 'drop'"),
        ({"missing": None}, "missing is NoneType"),
        ({"order": ["a"], "missing": "own value"}, 'of kind "ordinal"'),
        ({"kind": "numeric", "missing": "own value"}, 'of kind "numeric"'),
        ({"sort": 1}, "'sort'"),
        ("nominal", "'nominal', and no map"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, words: str) -> None:
    with pytest.raises(JobError, match=words):
        AttributeType.of(given)


def test_no_value_is_shown() -> None:
    assert "QQ" not in repr(AttributeType(order=["QQ"]))
