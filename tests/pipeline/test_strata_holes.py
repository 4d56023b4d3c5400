"""Groups within strata of records of which some values are missing."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from stratified import KEYS, residents, within

import aggopt
from aggopt.aggregate import p3m
from aggopt.data.context.strata import RecordStrata
from aggopt.data.readers.read import read_as_text
from aggopt.errors import AggoptError, InfeasibleInputError
from aggopt.inspection.missing_policies import _count_suppressed
from aggopt.job import Input
from aggopt.missing import patterns
from aggopt.pipeline.validate.strata import require_none_of

QUASI = ["age", "income"]
KEEP, FILL = ({"missing": {"policy": policy}} for policy in ("patterns", "fill"))


def holed(share=0.2, seed=3):
    frame = residents()
    lost = np.random.default_rng(seed).random(len(frame))
    frame.loc[lost < share, "income"] = np.nan
    return frame


def strata_in(groups, frame):
    """Return of how many strata the records of a group are at most."""
    return frame.groupby(groups)[KEYS].nunique().to_numpy().max()


def test_each_stratum_has_patterns_of_its_own(tmp_path):
    frame = holed()
    release = aggopt.mask(frame, within(**KEEP))
    assert strata_in(release.labels, frame) == 1
    assert release.audit.smallest >= 3
    found = release.table["income"].isna()
    suppressed = 0
    for _, rows in frame.groupby(KEYS).indices.items():
        own = patterns(frame[QUASI].to_numpy(float)[rows], 3)
        suppressed += own.suppressed.sum()
        gone = frame["income"].isna().to_numpy()[rows] | own.suppressed[:, 1]
        assert found.to_numpy()[rows].tolist() == gone.tolist()
    proof = release.blocks[0].certificate
    assert 0 < proof.bound <= proof.objective
    frame.to_csv(tmp_path / "in.csv", index=False)
    path = tmp_path / "in.csv"
    table = read_as_text(path, Input())
    assert _count_suppressed(path, table, within(**KEEP)) == suppressed


def test_holes_are_filled_within_each_stratum():
    frame = holed()
    release = aggopt.mask(frame, within(**FILL))
    assert strata_in(release.labels, frame) == 1
    assert not release.table["income"].isna().any()
    means = frame.groupby(release.labels)["income"].transform("mean")
    np.testing.assert_allclose(release.table["income"], means)
    counts = frame.groupby(release.labels)["income"].count()
    assert counts.min() >= 3


@pytest.mark.parametrize("sections", [KEEP, FILL], ids=["patterns", "fill"])
@pytest.mark.parametrize("repair", ["merge", "search"])
def test_a_repair_of_holes_stays_within_strata(sections, repair):
    frame = holed().sort_values("ill", ignore_index=True)
    privacy = {"k": 3, "l": 2, "repair": repair}
    release = aggopt.mask(frame, within(privacy=privacy, **sections))
    assert strata_in(release.labels, frame) == 1
    assert release.audit.holds


@pytest.mark.parametrize("sections", [KEEP, FILL], ids=["patterns", "fill"])
def test_what_each_stratum_keeps_is_that_of_the_values_that_are_there(sections):
    frame = residents(n_f=14, n_m=14, s_f=14, s_m=14)
    for _, rows in frame.groupby(KEYS).indices.items():
        frame.loc[rows[:3], "income"] = np.nan
    how = {"aggregation": {"method": "mean", "keep": "variance"}}
    release = aggopt.mask(frame, within(**how, **sections))
    kept = release.table["income"].where(frame["income"].notna())
    before, after = (
        pd.concat([frame[KEYS], x.rename("income")], axis=1).groupby(KEYS)["income"]
        for x in (frame["income"], kept)
    )
    np.testing.assert_allclose(after.mean(), before.mean())
    np.testing.assert_allclose(after.var(ddof=0), before.var(ddof=0))


def test_distances_are_asked_of_values_that_are_there():
    frame = residents(n_f=14, n_m=14, s_f=14, s_m=14)
    for _, rows in frame.groupby(KEYS).indices.items():
        frame.loc[rows[:3], "income"] = np.nan
    how = {"method": "p3m", "delta": 0.3, "alpha": 0.9, "margin": 0}
    release = aggopt.mask(frame, within(aggregation=how, **KEEP))
    there = frame["income"].notna()
    x, spread = frame[["income"]][there], frame["income"][there].std(ddof=0)
    for _, rows in frame[there].groupby(KEYS).indices.items():
        own = x.to_numpy()[rows]
        labels = np.unique(release.labels[there][rows], return_inverse=True)[1]
        made = p3m(own, labels, delta=0.3 * spread / own.std(), alpha=0.9)
        seen = release.table["income"][there].to_numpy()[rows]
        np.testing.assert_allclose(seen, made.values[:, 0], rtol=1e-5)


def test_small_strata_are_merged_whatever_is_missing():
    frame = residents(m_f=2)
    frame.loc[frame["region"] == "m", "income"] = np.nan
    release = aggopt.mask(frame, within(strata={"small": "merge"}, **FILL))
    assert release.strata.changed == 2
    assert release.audit.holds


def test_strata_of_some_records_are_numbered_anew():
    strata = RecordStrata(np.array([0, 2, 1, 2, 0]))
    assert strata.select_rows(np.array([1, 3, 4])).labels.tolist() == [1, 1, 0]


def lacking(region, count, n=14):
    frame = residents(n_f=n, n_m=n, s_f=n, s_m=n)
    rows = np.flatnonzero((frame["region"] == region) & (frame["sex"] == "f"))
    frame.loc[rows[:count], "income"] = np.nan
    return frame


VARIANCE = {"aggregation": {"method": "mean", "keep": "variance"}}


def test_one_stratum_of_one_is_said_as_one():
    with refused(InfeasibleInputError, "k = 4"):
        require_none_of(np.array([True]), "age", 4, 4)


@pytest.mark.parametrize(
    ("count", "sections"),
    [(12, FILL), (14, FILL), (9, {**KEEP, **VARIANCE}), (9, {**FILL, **VARIANCE})],
)
def test_too_few_values_in_a_stratum_are_refused(count, sections):
    with refused(AggoptError, "'income'") as error:
        aggopt.mask(lacking("n", count), within(**sections))
    end = " and its variance to be kept in each." if count == 9 else ", with k = 3."
    assert error.value.problem.endswith(end)


@pytest.mark.parametrize(
    ("count", "sections"),
    [
        (11, FILL),
        (14, KEEP),
        (14, {**KEEP, **VARIANCE}),
        (8, {**KEEP, **VARIANCE}),
        (9, {**KEEP, **VARIANCE, "strata": {"keep": "overall"}}),
    ],
)
def test_as_many_values_as_are_needed_will_do(count, sections):
    assert aggopt.mask(lacking("n", count), within(**sections)).audit.holds
