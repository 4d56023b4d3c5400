"""Records of different patterns of holes lie apart; what is suppressed has no proof."""

import numpy as np
import pandas as pd
import pytest
from holed import FILL, asked, persons
from refusals import refused

import aggopt
from aggopt.errors import InfeasibleInputError
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition.missing_values import (
    certify_observed_loss,
    separate_patterns,
)
from aggopt.solvers import Certificate, Status

RECORDS = aggopt.encode(
    pd.DataFrame({"a": [0.0, 3.0, 6.0, 9.0], "b": [1.0, 0.0, 5.0, 2.0]})
)
KEPT = np.array([[True, True], [True, False], [False, True], [False, False]])


def test_a_hole_is_farther_away_than_any_two_records():
    found = separate_patterns(RECORDS, KEPT)
    x = RECORDS.coordinates
    widest = np.linalg.norm(x.max(axis=0) - x.min(axis=0))
    assert np.array_equal(found.coordinates[:, :2], x)
    assert found.coordinates[:, 2:] == pytest.approx((1 + widest) * ~KEPT)


@pytest.mark.parametrize(
    ("had", "has"),
    [(Status.OPTIMAL, Status.HEURISTIC), (Status.LIMIT, Status.LIMIT)],
)
def test_what_values_lose_that_are_kept_has_no_bound_and_is_nobodys_optimum(had, has):
    proof = Certificate(had, 5.0, 5.0, 0.25, "solver", 7.5)
    block = Block((0, 1), Partition(np.array([0, 0, 1, 1]), proof))
    found = certify_observed_loss(block, RECORDS, KEPT)
    a = RECORDS.coordinates[:, 0]
    lost = ((a[:2] - a[:2].mean()) ** 2).sum()  # of b one value a group is kept
    assert found.columns == (0, 1)
    assert found.labels.tolist() == [0, 0, 1, 1]
    assert found.certificate == Certificate(has, lost, None, 0.25, "solver", 7.5)


def test_repairs_across_patterns_tell_what_they_have_done():
    told = []
    frame = persons(60)
    frame.loc[frame["age"].isna(), "illness"] = "flu"
    job = asked(privacy={"k": 4, "l": 2, "repair": "merge"})
    aggopt.mask(frame, job, progress=lambda step, share: told.append((step, share)))
    assert [share for step, share in told if step == "repair"][-1] == 1.0


def exact(k, **of):
    section = {"categories": {"method": "frequencies", "slack": "exact"}}
    return asked(k, ["sex"], aggregation={"method": "mean", **section}, **of)


@pytest.mark.parametrize(
    ("sex", "k"),
    [
        ("aaaabbbccc", 4),
        ("aaaaabbbbc", 4),
        ("aaaaaaaaab", 3),
    ],
)
def test_levels_that_too_few_have_are_counted_without_holes(sex, k):
    frame = persons(len(sex), share=0.0).assign(sex=list(sex))
    frame.loc[10:12] = frame.loc[:2].assign(sex=None).to_numpy()
    for missing in (FILL, {}):
        whole = frame if missing else frame.dropna()
        with refused(InfeasibleInputError, "'sex'", "[aggregation.categories]"):
            aggopt.mask(whole, exact(k, **missing))


def test_measures_say_of_how_many_records_they_are():
    frame = persons(24)
    release = aggopt.mask(frame, asked())
    assert release.measures is not None
    (said,) = [note for note in release.notes if note.startswith("Linkage, disclosure")]
    assert "satisfaction are measured on the " in said
