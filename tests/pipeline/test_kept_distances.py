"""How many distances are kept: of the values that are there and could move."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from holed import KEEP

import aggopt
from aggopt.core.standardise import Scale
from aggopt.pipeline.aggregate.margins import (
    _compute_satisfaction,
    describe_nearer_values,
)

X = np.array([[0.0, 7.0, 1.0], [2.0, 7.0, np.nan], [4.0, 7.0, 1.5], [6.0, 7.0, 2.5]])
AFTER = np.array(
    [[0.0, 7.0, 2.5], [1.9, 7.0, np.nan], [8.0, 7.0, 1.0], [6.5, 7.0, 0.0]]
)


def given(X, delta):
    asked = {"delta": np.broadcast_to(delta, X.shape)}
    return SimpleNamespace(X=X, asked=asked, scale=Scale.of(X), weights=None)


@pytest.mark.parametrize(("delta", "kept"), [(0.1, 5 / 7), (1.0, 3 / 7), (9.0, 0.0)])
def test_the_share_is_of_values_that_are_there_and_vary(delta, kept):
    assert _compute_satisfaction(given(X, delta), AFTER) == pytest.approx(kept)


def test_distances_are_those_of_weighted_deviations():
    x = np.array([[0.0], [2.0], [4.0], [6.0]])
    table = given(x, 1.0)
    table.weights = np.array([0.01, 1.99, 1.99, 0.01])  # 1.02 apart, not 2.24
    assert _compute_satisfaction(table, x + 1.5) == 1.0


def test_each_record_has_a_distance_of_its_own():
    delta = np.full(X.shape, 9.0)
    delta[2, 0] = 0.1
    assert _compute_satisfaction(given(X, delta), AFTER) == pytest.approx(1 / 7)


def test_a_constant_below_other_numbers_does_not_count():
    low = X.copy()
    low[:, 1] = 3.0
    after = AFTER.copy()
    after[:, 1] = 3.0
    assert _compute_satisfaction(given(low, 0.1), after) == pytest.approx(5 / 7)


JOB = aggopt.Job(
    roles={"quasi-identifier": ["a"]}, privacy={"k": 2}, aggregation={"method": "p3m"}
)


@pytest.mark.parametrize(
    ("moved", "said"), [(0, "100%"), (1, "75%"), (2, None), (4, None)]
)
def test_most_values_nearer_than_asked_are_said(moved, said):
    x = np.array([[0.0], [2.0], [4.0], [6.0]])
    table = given(x, 0.5)
    table.job = JOB
    after = x + 5.0 * (np.arange(4)[:, None] < moved)
    words = (
        f"{said} of the values lie nearer to their originals than asked: raise alpha "
        'or importance, or take method = "satisfaction".'
    )
    assert describe_nearer_values(table, after) == ([] if said is None else [words])


@pytest.mark.parametrize("holes", [0, 2])
def test_numbers_that_do_not_vary_areby_no_wish(holes):
    frame = pd.DataFrame({"a": [1.0] * 8, "s": list("xxyyxxyy")})
    frame.loc[: holes - 1, "a"] = None
    assert _compute_satisfaction(given(frame[["a"]].to_numpy(), 0.5), None) == 1.0
    job = aggopt.Job(
        roles={"quasi-identifier": ["a", "s"]},
        privacy={"k": 2},
        aggregation={"method": "p3m"},
        missing=KEEP,
    )
    assert aggopt.mask(frame, job).audit.holds
