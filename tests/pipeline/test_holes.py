"""Missing values: published as missing, suppressed, repaired or refused."""

import json
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn import examples
from holed import FILL, KEEP, QUASI, asked, of_numbers, persons, rarest, rows
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError, JobError, PrivacyError, TableError
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep
from aggopt.job import Privacy
from aggopt.job.roles import Roles
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition.missing_values import (
    certify_observed_loss,
    separate_patterns,
)
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.subsets import report_share
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.audit import audit_release
from aggopt.release.audit.originals import Originals
from aggopt.solvers import Certificate, Status


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(persons(), asked())


def test_each_combination_with_its_holes_stands_in_k_records(release, tmp_path):
    assert rarest(release.table) >= 4
    written = release.write(tmp_path / "masked.csv").table
    text = pd.read_csv(written, dtype=str, keep_default_na=False)
    assert min(Counter(map(tuple, text[QUASI].values)).values()) >= 4
    assert release.audit.smallest == rarest(release.table)


def test_holes_stay_holes_and_what_is_lost_beside_is_counted(release):
    before, after = persons()[QUASI].isna(), release.table[QUASI].isna()
    assert not (before & ~after).to_numpy().any()
    missing = release.audit.missing
    assert missing.cells == after.to_numpy().sum()
    assert missing.suppressed == (after & ~before).to_numpy().sum() > 0
    assert missing.patterns == len(set(map(tuple, after.values)) - {(False,) * 4})
    assert (missing.imputed, missing.compatible) == (0, None)
    assert missing.least >= 4
    stated = release.manifest()["audit"]["missing"]
    assert stated["suppressed"] == missing.suppressed
    assert f"{missing.suppressed} values of the original are suppressed" in str(
        release.notes
    )
    json.dumps(release.manifest(), allow_nan=False)


def test_a_value_is_the_mean_of_the_group_and_certified_attribute_by_attribute(release):
    frame, labels = persons(), release.labels
    for name in ("age", "income"):
        kept = release.table[name].notna().to_numpy()
        x = frame[name].to_numpy()[kept]
        means = pd.Series(x).groupby(labels[kept]).transform("mean").to_numpy()
        np.testing.assert_allclose(
            release.table[name].to_numpy()[kept], means, rtol=1e-4
        )
        lost = ((x - means) ** 2).sum() / x.var()
        assert release.certificates[name].objective == pytest.approx(lost, rel=1e-6)
        assert release.certificates[name].bound == release.certificates[name].objective


def test_groups_lie_within_patterns_and_their_bounds_add_up(release):
    labels, holes = release.labels, release.table[QUASI].isna().to_numpy()
    for group in range(labels.max() + 1):
        assert len(np.unique(holes[labels == group], axis=0)) == 1
    (block,) = release.blocks
    parts = block.partition.certificates
    assert len(parts) == len(np.unique(holes, axis=0))
    assert block.certificate.bound == pytest.approx(sum(p.bound for p in parts))
    assert 0 < block.certificate.bound <= block.certificate.objective


def test_distances_are_standardised_once_for_the_whole_table():
    frame = persons(80, 0.0)[["age", "income"]]
    frame.loc[:29, "income"] = np.nan
    release = aggopt.mask(frame, of_numbers(["age", "income"], 4))
    Z = Scale.of(frame.to_numpy()).standardise(frame.to_numpy())
    lost = 0.0
    for group in range(release.labels.max() + 1):
        own = Z[release.labels == group]
        own = own[:, ~np.isnan(own[0])]
        lost += ((own - own.mean(axis=0)) ** 2).sum()
    assert release.blocks[0].certificate.objective == pytest.approx(lost)


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]), st.sampled_from([0.05, 0.3]))
@examples(5)
def test_k_holds_strictly_whatever_is_missing(seed, k, share):
    frame = persons(40, share, seed)
    found = aggopt.mask(frame, asked(k))
    assert rarest(found.table) >= k
    order = np.random.default_rng(seed).permutation(40)
    again = aggopt.mask(frame.iloc[order].reset_index(drop=True), asked(k))
    assert rarest(again.table) >= k
    turned = aggopt.mask(frame, asked(k, QUASI[::-1]))
    assert rarest(turned.table) >= k


def test_the_measures_are_of_the_records_of_which_nothing_is_missing(release):
    before, after = persons()[QUASI], release.table[QUASI]
    both = (before.notna() & after.notna()).all(axis=1)
    expected = aggopt.measure.assess(before[both], after[both])
    assert release.measures.il == pytest.approx(expected.il)
    assert release.measures.dld == pytest.approx(expected.dld)
    assert release.measures.reidentifications == release.audit.groups
    assert f"on the {both.sum()} of 120 records of which nothing" in str(release.notes)


def test_nothing_is_measured_where_no_record_is_complete():
    frame = pd.DataFrame(
        {"a": [1.0, 2, 3, 4] + [np.nan] * 4, "b": [np.nan] * 4 + [1.0, 2, 3, 4]}
    )
    release = aggopt.mask(frame, of_numbers(["a", "b"], 2))
    assert release.measures is None
    assert release.audit.missing.suppressed == 0


def test_the_figure_called_compatible_is_counted_record_by_record():
    release = aggopt.mask(
        persons(60), asked(missing={**KEEP, "report_compatible": True})
    )
    there = rows(release.table)
    agreeing = [
        sum(
            all(
                a is None or b is None or a == b
                for a, b in zip(one, other, strict=True)
            )
            for other in there
        )
        for one in there
    ]
    assert release.audit.missing.compatible == min(agreeing) >= release.audit.smallest
    assert (
        f"{min(agreeing)} records would share the rarest combination: a figure"
        in str(release.notes)
    )


# --- records of different patterns of holes lie apart; what is suppressed has no proof


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
    ("had", "has"), [(Status.OPTIMAL, Status.HEURISTIC), (Status.LIMIT, Status.LIMIT)]
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
    ("sex", "k"), [("aaaabbbccc", 4), ("aaaaabbbbc", 4), ("aaaaaaaaab", 3)]
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


# --- holes go out as tables and files have them


NUMBERS = ["age", "income"]


@pytest.mark.parametrize("kind", ["pandas", "nullable", "polars", "arrow", "numpy"])
def test_holes_go_out_as_the_table_has_them(kind):
    frame = persons()[NUMBERS].round(0)
    whole = frame.astype("Int64")
    made = {
        "pandas": frame,
        "nullable": whole,
        "polars": pl.from_pandas(whole),
        "arrow": pa.Table.from_pandas(whole, preserve_index=False),
        "numpy": frame.to_numpy(),
    }[kind]
    names = ["0", "1"] if kind == "numpy" else NUMBERS
    job = of_numbers(names, 4, output={"round_integers": kind != "numpy"})
    release = aggopt.mask(made, job)
    table = release.table
    assert type(table) is type(made)
    if kind == "numpy":
        assert table.dtype == np.float64
        table = pd.DataFrame(table, columns=NUMBERS)
    if kind == "polars":
        assert table.schema == made.schema
    if kind == "arrow":
        assert table.schema.types == made.schema.types
    if kind == "nullable":
        assert (table.dtypes == made.dtypes).all()
    missing = sum(v is None for row in rows(table, NUMBERS) for v in row)
    assert missing == release.audit.missing.cells >= frame.isna().to_numpy().sum()
    assert rarest(table, NUMBERS) >= 4


def test_a_column_that_misses_nothing_loses_nothing():
    frame = persons(share=0.3).assign(age=np.arange(120), sex=np.arange(120) % 2 == 0)
    job = asked(output={"round_integers": True})
    table = aggopt.mask(frame, job).table
    assert (table.dtypes[["age", "sex"]] == frame.dtypes[["age", "sex"]]).all()
    assert rarest(table) >= 4


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_have_holes_empty_or_null(tmp_path, ending):
    frame = persons().assign(age=persons()["age"].astype("Int64"))
    start = tmp_path / f"in.{ending}"
    if ending == "csv":
        frame.to_csv(start, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), start)
    release = aggopt.mask(start, asked())
    files = release.write(tmp_path / f"out.{ending}")
    stated = json.loads(files.manifest.read_text())["output"]["recounted"]
    assert stated["smallest"] >= 4
    assert stated["missing"]["cells"] == release.audit.missing.cells
    assert stated["missing"]["suppressed"] is None
    again = aggopt.repeat(files.manifest, start, tmp_path / f"again.{ending}")
    assert again.table.read_bytes() == files.table.read_bytes()
    found = assess_release(start, files.table, asked())
    assert found.audit.missing == release.audit.missing
    assert found.measures.il == pytest.approx(release.measures.il)
    if ending == "csv":
        text = files.table.read_text()
        assert "nan" not in text.lower()
        assert "-1" not in text
    else:
        assert pq.read_table(files.table)["age"].null_count > 0


@pytest.mark.parametrize("policy", ["refuse", "patterns", "fill"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_an_empty_text_is_a_name_and_no_hole(tmp_path, policy, kind):
    place = [""] * 5 + ["x"] * 5 + ["" if policy == "refuse" else None] * 2
    frame = pd.DataFrame({"place": pd.Series(place, dtype=object), "y": range(12)})
    convert = {"polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
    made = convert.get(kind, lambda table: table)(frame)
    job = aggopt.Job(
        roles={"quasi-identifier": ["place", "y"]},
        privacy={"k": 2},
        missing={"policy": policy},
    )
    release = aggopt.mask(made, job)
    holes = 2 if policy == "patterns" else 0
    assert (release.audit.missing.cells if release.audit.missing else 0) == holes
    files = release.write(tmp_path / "made.parquet")
    again = pd.read_parquet(files.table)["place"]
    assert (again.isna().sum(), "" in set(again)) == (holes, True)
    recounted = json.loads(files.manifest.read_text())["output"]["recounted"]
    assert (recounted["missing"] or {"cells": 0})["cells"] == holes
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "full.parquet")
    found = assess_release(tmp_path / "full.parquet", files.table, job)
    assert (found.audit.missing.cells if found.audit.missing else 0) == holes
    with refused(TableError, "CSV", "'place'"):
        release.write(tmp_path / "other.csv")
    assert not list(tmp_path.glob("other*"))


def test_without_holes_a_policy_changes_nothing(tmp_path):
    frame = persons(share=0.0)
    frame.to_csv(tmp_path / "in.csv", index=False)
    secret = "0" * 32
    for name, missing in (("one", {}), ("two", KEEP)):
        release = aggopt.mask(
            tmp_path / "in.csv",
            asked(missing=missing, output={"seed": 1}),
            secret=secret,
        )
        release.write(tmp_path / f"{name}.csv")
        assert release.audit.missing is None
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


# --- limits of time and progress, where a partition is made pattern by pattern


def test_a_limit_of_time_is_shared_out_by_records(monkeypatch):
    asked = []
    plain = aggopt.partition.local_search

    def watched(X, k, **settings):
        asked.append((len(X), settings["time_limit"]))
        return plain(X, k, effort="fast")

    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.make_partitioner", lambda *_: watched
    )
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) ** 2})
    frame.loc[:9, "b"] = np.nan
    how = {"method": "local_search", "time_limit": 8.0}
    partition_table(frame, of_numbers(["a", "b"], 4, partition=how), None)
    assert sorted(asked) == [(10, 2.0), (30, 6.0)]


def test_progress_goes_from_start_to_end():
    seen = []

    def told(step, share):
        if step == "group":
            seen.append(share)

    partition_table(
        persons(60)[["age", "income"]], of_numbers(["age", "income"], 4), told
    )
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)


def test_a_part_tells_its_share_of_the_whole():
    seen = []
    report_share(seen.append, 3, 8, 0.5)
    assert seen == [pytest.approx(3.5 / 8)]


# --- holes beside requirements, blocks, wishes and levels


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


# --- what is refused of tables with holes, and what is none


def test_a_single_value_is_refused_never_published():
    frame = persons()
    frame.loc[1:, "income"] = np.nan
    with refused(InfeasibleInputError, "'income'"):
        aggopt.mask(frame, asked())


@pytest.mark.parametrize("hole", [-999.0, -9.0, 99.0])
def test_codes_for_what_is_missing_are_values(hole):
    frame = persons(share=0.0)
    frame.loc[:40, "age"] = hole
    assert aggopt.mask(frame, asked()).audit.missing is None


def test_what_would_be_suppressed_altogether_is_refused():
    lone = [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [np.nan, 3.0, np.nan]]
    rest = [[float(i), np.nan, float(i)] for i in range(5)]
    frame = pd.DataFrame(lone + rest, columns=["a", "b", "c"])
    with refused(InfeasibleInputError, "'b'"):
        aggopt.mask(frame, of_numbers(["a", "b", "c"], 3))


def test_refusals_name_what_to_do():
    for name, seen in (("age", "'age': 9 missing"), ("sex", "12 values are missing")):
        with pytest.raises(TableError, match=seen) as error:
            aggopt.mask(persons(), asked(quasi=[name], missing={}))
        assert 'policy = "patterns" or "fill" under [missing]' in error.value.fix
    with refused(TableError, "'income'", "120"):
        aggopt.mask(persons().assign(income=np.nan), asked())
    with refused(TableError, "'town'", "120"):
        aggopt.mask(persons().assign(town=None), asked())
    with refused(JobError):
        aggopt.mask(
            persons(),
            asked(privacy={"k": 4, "l": 2}, partition={"method": "diverse_vmdav"}),
        )
    with refused(JobError, "report_compatible"):
        asked(missing={"report_compatible": True})
    frame = persons()[["age", "income"]]
    frame.loc[7:, "age"] = np.nan
    stretched = {"method": "mean", "keep": "variance"}
    job = of_numbers(["age", "income"], 4, aggregation=stretched)
    with refused(InfeasibleInputError):
        aggopt.mask(frame, job)
    joint = {"method": "mean", "keep": "covariance"}
    job = of_numbers(["age", "income"], 4, aggregation=joint)
    with refused(JobError):
        aggopt.mask(persons()[["age", "income"]], job)


def test_a_release_with_fewer_values_behind_one_than_k_is_refused():
    released = pd.DataFrame({"a": [2.0] * 4, "b": [7.0] * 4})
    before = np.array([[1.0, 7.0], [2.0, np.nan], [2.0, np.nan], [3.0, np.nan]])

    both = Originals(before, released.to_numpy(), np.zeros(2))
    roles = Roles(quasi_identifier=("a", "b"))
    found = audit_release(released, roles, Privacy(k=4), originals=both)
    assert (found.missing.least, found.missing.imputed, found.holds) == (1, 3, False)
    assert "DOES NOT HOLD" in found.verdict
    with refused(PrivacyError):
        found.require()
    assert audit_release(
        released, roles, Privacy(k=4)
    ).holds  # nothing says so without them


def test_a_column_that_refuses_what_is_missing_does_so_beside_the_policy():
    with refused(TableError, "'town'"):
        aggopt.mask(persons(), asked(attributes={"town": {"missing": "refuse"}}))


def test_no_warning_comes_of_holes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aggopt.mask(persons(40, 0.3), asked(3, aggregation={"method": "median"}))
