"""Holes beside requirements, blocks, wishes and levels."""

import numpy as np
import pandas as pd
import pytest
from holed import QUASI, asked, of_numbers, persons, rarest
from refusals import refused

import aggopt
from aggopt.errors import JobError
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep

NUMBERS = ["age", "income"]


@pytest.mark.parametrize("repair", ["merge", "search"])
def test_l_is_kept_across_patterns_and_what_that_suppresses_is_counted(repair):
    frame = persons()
    frame.loc[frame["age"].isna(), "illness"] = "flu"  # no such pattern is diverse
    job = asked(privacy={"k": 4, "l": 2, "repair": repair})
    release = aggopt.mask(frame, job)
    assert release.audit.holds
    assert rarest(release.table) >= 4
    (block,) = release.blocks
    assert block.certificate.bound is None
    assert block.certificate.objective > 0
    lost = release.table[QUASI].isna() & ~frame[QUASI].isna()
    assert release.audit.missing.suppressed == lost.to_numpy().sum()
    held = release.table[QUASI].notna().to_numpy()
    for group in range(release.labels.max() + 1):
        assert len(np.unique(held[release.labels == group], axis=0)) == 1


def test_a_repair_that_changes_nothing_leaves_groups_and_bound():
    frame = persons()
    frame["illness"] = np.arange(120) % 3
    merged = asked(8, privacy={"k": 8, "l": 2, "repair": "merge"})
    release, alone = aggopt.mask(frame, merged), aggopt.mask(frame, asked(8))
    assert np.array_equal(release.labels, alone.labels)
    assert release.blocks[0].certificate.bound > 0


def test_blocks_have_patterns_of_their_own():
    partition = {"method": "mdav", "attributes": [["age", "income"], ["sex", "town"]]}
    release = aggopt.mask(
        persons(), asked(privacy={"k": 4, "scope": "blocks"}, partition=partition)
    )
    for names in partition["attributes"]:
        assert rarest(release.table, names) >= 4
    assert release.audit.holds


def test_one_attribute_at_a_time_takes_the_records_that_have_it():
    job = of_numbers(
        NUMBERS,
        3,
        privacy={"k": 3, "scope": "blocks"},
        partition={"method": "univariate", "attributes": "one by one"},
    )
    release = aggopt.mask(persons()[NUMBERS], job)
    assert release.audit.missing.suppressed == 0
    assert all(block.certificate.status.value == "optimal" for block in release.blocks)


def test_a_sweep_and_a_comparison_go_by_what_is_there():
    frame = persons(60)[NUMBERS]
    job = of_numbers(NUMBERS, 4, aggregation={"method": "p3m"})
    (point,) = sweep(frame, job, alpha=[0.5], delta=[0.1], jobs=1)
    assert point.holds
    assert 0 < point.il < 1
    (row,) = compare(frame, job, ["lagrangian"])
    assert row.holds
    assert row.status == "optimal"
    solved = of_numbers(NUMBERS, 4, partition={"method": "optimal", "time_limit": 1.0})
    with refused(JobError):
        next(compare(frame, solved))


def test_p3m_keeps_mean_and_variance_of_what_is_published():
    frame = persons()[["age", "income"]]
    wishes = {"delta": {"relative": 0.2}, "importance": 0.7}
    how = {"aggregation": {"method": "p3m", **wishes}, "output": {"digits": "full"}}
    job = of_numbers(NUMBERS, 4, **how)
    release = aggopt.mask(frame, job)
    for name in frame:
        kept = release.table[name].notna()
        assert release.table[name].mean() == pytest.approx(frame[name][kept].mean())
        assert release.table[name].std(ddof=0) == pytest.approx(
            frame[name][kept].std(ddof=0)
        )
        assert release.certificates[name].bound is not None
    assert release.measures.sl > 0
    assert not any("nan" in note for note in release.notes)


def test_what_is_missing_may_be_a_level_beside_the_policy():
    attributes = {"town": {"missing": "own value"}}
    release = aggopt.mask(persons(), asked(attributes=attributes))
    assert rarest(release.table) >= 4
    before, after = persons(), release.table
    holes = after[["age", "income", "sex"]].isna()
    assert (
        release.audit.missing.suppressed
        == (holes & ~before[["age", "income", "sex"]].isna()).to_numpy().sum()
    )


def test_values_published_unchanged_are_counted_by_those_that_are_there():
    same = [5.0, 5.0, np.nan, np.nan, 1.0, 2.0, 1.0, 2.0]
    frame = pd.DataFrame({"a": [1.0, 1.0, 2.0, 2.0, 8.0, 9.0, 8.0, 9.0], "b": same})
    job = of_numbers(["a", "b"], 2)
    found = aggopt.mask(frame, job).audit.unchanged
    before, after = frame.to_numpy(), aggopt.mask(frame, job).table.to_numpy()
    assert found.cells == {
        "a": (before == after)[:, 0].sum(),
        "b": (before == after)[:, 1].sum(),
    }
    whole = ((before == after) | np.isnan(before)).all(axis=1)
    assert found.records == whole.sum()
