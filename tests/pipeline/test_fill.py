"""Tables of which some quasi-identifiers are missing: filled with the group's value."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from drawn import examples
from holed import FILL, QUASI, asked, of_numbers, persons, rarest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep
from aggopt.pipeline.review.review_release import assess_release

NUMBERS = ["age", "income"]


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(persons(), asked(**FILL))


def test_exact_counts_are_of_the_records_that_had_a_value() -> None:
    frame, exact = persons(), {"method": "frequencies", "slack": "exact"}
    job = asked(2, ["age", "sex"], **FILL, aggregation={"categories": exact})
    after, had = aggopt.mask(frame, job).table["sex"], frame["sex"].notna()
    assert after[had].value_counts().equals(frame["sex"].value_counts())
    assert after.notna().all()
    assert not had.all()


def least_behind(frame, release, names=QUASI):
    """The fewest records that have a value of their own in a group, by attribute."""
    counts = frame[list(names)].notna().groupby(release.labels).sum()
    return int(counts.to_numpy().min())


def test_no_hole_is_left_and_each_value_is_that_of_k_records(release):
    assert release.table[QUASI].notna().all(axis=None)
    assert rarest(release.table) >= 4
    assert least_behind(persons(), release) >= 4
    missing = release.audit.missing
    assert missing.least >= 4
    assert missing.imputed == persons()[QUASI].isna().to_numpy().sum()
    assert (missing.cells, missing.patterns, missing.suppressed) == (0, 0, 0)
    assert f"{missing.imputed} values that are missing in the original" in str(
        release.notes
    )
    json.dumps(release.manifest(), allow_nan=False)


def test_a_note_gives_the_reason_why_groups_have_no_bound(release):
    assert [block.certificate.bound for block in release.blocks] == [None]
    assert any("no bound is proven" in note for note in release.notes)
    whole = aggopt.mask(persons().dropna(), asked(**FILL))
    assert [block.certificate.bound is None for block in whole.blocks] == [False]
    assert not any("no bound is proven" in note for note in whole.notes)


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 5]), st.sampled_from([0.05, 0.3]))
@examples(5)
def test_k_values_stand_behind_each_whatever_is_missing(seed, k, share):
    frame = persons(40, share, seed)
    release = aggopt.mask(frame, asked(k, **FILL))
    assert rarest(release.table) >= k
    assert least_behind(frame, release) >= k


def test_values_are_those_of_the_members_that_have_one(release):
    frame, labels = persons(), release.labels
    for name in NUMBERS:
        means = frame[name].groupby(labels).transform("mean")
        np.testing.assert_allclose(release.table[name], means, rtol=1e-4)
        x = frame[name].dropna()
        lost = ((x - means[x.index]) ** 2).sum() / x.var(ddof=0)
        assert release.certificates[name].objective == pytest.approx(lost, rel=1e-6)
    for name in ("sex", "town"):
        counts = pd.crosstab(labels, frame[name])
        published = release.table[name].groupby(labels).first()
        for group, row in counts.iterrows():
            assert row[published[group]] == row.max()


def test_the_partition_is_certified_by_what_is_there_without_a_bound():
    frame = persons()[NUMBERS]
    release = aggopt.mask(frame, of_numbers(NUMBERS, 4, **FILL))
    (block,) = release.blocks
    Z = pd.DataFrame(Scale.of(frame.to_numpy()).standardise(frame.to_numpy()))
    lost = (Z - Z.groupby(release.labels).transform("mean")) ** 2
    assert block.certificate.objective == pytest.approx(lost.sum().sum())
    assert block.certificate.bound is None
    assert block.certificate.status.value == "heuristic, nothing else tried"
    assert block.certificate.solver == "mdav on imputed values, then merging"


def test_groups_that_have_enough_are_not_merged():
    frame = persons(7, share=0.0)[NUMBERS]
    frame.loc[3, "age"] = np.nan
    release = aggopt.mask(frame, of_numbers(NUMBERS, 4, **FILL))
    assert release.blocks[0].certificate.solver == "mdav on imputed values"


def test_p3m_keeps_mean_and_variance_of_the_records_that_have_a_value():
    frame = persons()[NUMBERS]
    job = of_numbers(
        NUMBERS, 4, aggregation={"method": "p3m"}, output={"digits": "full"}, **FILL
    )
    release = aggopt.mask(frame, job)
    for name in NUMBERS:
        there = frame[name].notna()
        own = release.table[name][there]
        assert own.mean() == pytest.approx(frame[name].mean())
        assert own.std() == pytest.approx(frame[name].std())
        assert release.certificates[name].status.value == "optimal"


@pytest.mark.parametrize("kind", ["nullable", "polars", "arrow", "numpy", "csv"])
def test_every_kind_of_table_is_filled(kind, tmp_path):
    whole = persons()[NUMBERS].round(0).astype("Int64")
    whole.to_csv(tmp_path / "in.csv", index=False)
    made = {
        "nullable": whole,
        "polars": pl.from_pandas(whole),
        "arrow": pa.Table.from_pandas(whole, preserve_index=False),
        "numpy": whole.to_numpy(float, na_value=np.nan),
        "csv": tmp_path / "in.csv",
    }[kind]
    names = ["0", "1"] if kind == "numpy" else NUMBERS
    job = of_numbers(names, 4, output={"round_integers": True}, **FILL)
    release = aggopt.mask(made, job)
    table = release.masked.to_arrow()
    assert sum(column.null_count for column in table.columns) == 0
    if kind != "numpy":
        assert {str(column.type) for column in table.columns} == {"int64"}
    if kind == "csv":
        files = release.write(tmp_path / "out.csv")
        again = aggopt.repeat(files.manifest, made, tmp_path / "again.csv")
        assert again.table.read_bytes() == files.table.read_bytes()
        found = assess_release(made, files.table, job)
        assert found.audit.missing == release.audit.missing


@pytest.mark.parametrize("method", ["merge", "search"])
def test_l_is_kept_and_k_values_beside_it(method):
    frame = persons().assign(illness=np.repeat(["flu", "none", "asthma"], 40))
    release = aggopt.mask(
        frame, asked(privacy={"k": 4, "l": 2, "repair": method}, **FILL)
    )
    assert release.audit.holds
    assert least_behind(frame, release) >= 4
    assert release.blocks[0].certificate.bound is None


def test_methods_that_look_at_confidential_values_take_it():
    partition = {"method": "diverse_vmdav"}
    job = asked(privacy={"k": 4, "l": 2}, partition=partition, **FILL)
    release = aggopt.mask(persons(), job)
    assert release.audit.holds
    assert least_behind(persons(), release) >= 4


def test_blocks_are_merged_each_by_itself():
    partition = {"method": "mdav", "attributes": [["age", "sex"], ["income", "town"]]}
    job = asked(privacy={"k": 4, "scope": "blocks"}, partition=partition, **FILL)
    release = aggopt.mask(persons(), job)
    assert release.audit.missing.least >= 4
    for names, block in zip(partition["attributes"], release.blocks, strict=True):
        assert rarest(release.table, names) >= 4
        counts = persons()[names].notna().groupby(block.labels).sum()
        assert counts.to_numpy().min() >= 4


def test_without_holes_the_policy_changes_nothing():
    frame, secret = persons(share=0.0), "0" * 32
    one = aggopt.mask(frame, asked(missing={}), secret=secret)
    two = aggopt.mask(frame, asked(**FILL), secret=secret)
    pd.testing.assert_frame_equal(one.table, two.table)
    assert two.audit.missing is None
    assert two.blocks[0].certificate.bound > 0


def test_a_sweep_and_a_comparison_take_it():
    frame = persons(60)[NUMBERS]
    job = of_numbers(NUMBERS, 4, aggregation={"method": "p3m"}, **FILL)
    (point,) = sweep(frame, job, alpha=[0.5], delta=[0.1], jobs=1)
    assert point.holds
    (row,) = compare(frame, job, ["lagrangian"])
    assert row.holds


def test_too_few_values_and_what_makes_no_sense_are_refused():
    frame = persons()
    frame.loc[1:, "income"] = np.nan
    with refused(InfeasibleInputError, "'income'"):
        aggopt.mask(frame, asked(**FILL))
    with refused(JobError, "report_compatible"):
        asked(missing={"policy": "fill", "report_compatible": True})


def sparse(**left):
    """Forty persons of whom so many have a value, by attribute."""
    frame, rng = persons(40, share=0.0), np.random.default_rng(0)
    for name, count in left.items():
        frame.loc[rng.permutation(40)[count:], name] = np.nan
    return frame


KEEPING = [{"method": "p3m"}, {"method": "mean", "keep": "variance"}]


@pytest.mark.parametrize("aggregation", KEEPING)
def test_one_group_for_want_of_values_is_refused_where_variance_is_kept(aggregation):
    frame, kept = sparse(age=14, income=12), {"aggregation": aggregation, **FILL}
    with refused(InfeasibleInputError):
        aggopt.mask(frame, asked(6, NUMBERS, **kept))
    full = frame.dropna(subset="income")
    assert aggopt.mask(full, asked(6, ["income"], **kept)).masked is not None
    assert aggopt.mask(frame, asked(3, NUMBERS, **kept)).labels.max() > 0
    assert aggopt.mask(frame, asked(6, NUMBERS, **FILL)).labels.max() == 0


@pytest.mark.parametrize("first", [["age", "sex"], ["age", "town"]])
def test_one_group_for_want_of_values_is_refused_in_any_block(first):
    second = [name for name in QUASI if name not in first]
    blocks = {"method": "mdav", "attributes": [first, second]}
    job = asked(
        6,
        privacy={"k": 6, "scope": "blocks"},
        partition=blocks,
        aggregation=KEEPING[0],
        **FILL,
    )
    with refused(InfeasibleInputError):
        aggopt.mask(sparse(income=12), job)


def test_one_group_that_keeps_no_variance_is_made():
    frame = sparse(sex=8).assign(income=5.0)
    for names, blocks in (
        (["income", "sex"], [["income", "sex"]]),
        (["age", "sex"], [["age"], ["sex"]]),
    ):
        job = asked(
            quasi=names,
            privacy={"k": 6, "scope": "blocks"},
            partition={"method": "mdav", "attributes": blocks},
            aggregation=KEEPING[1],
            attributes={"sex": {"rare": "publish"}},
            **FILL,
        )
        release = aggopt.mask(frame, job)
        assert release.blocks[-1].groups == 1


def test_one_group_that_l_or_t_made_is_not_said_to_want_values():
    frame = sparse(income=12).assign(illness=["flu"] + ["none"] * 39)
    job = asked(
        quasi=NUMBERS,
        privacy={"k": 6, "l": 2},
        partition={"method": "diverse_vmdav"},
        aggregation=KEEPING[0],
        **FILL,
    )
    with refused(InfeasibleInputError):
        aggopt.mask(frame, job)
    privacy = {"k": 6, "t": 0.01, "repair": "merge"}
    privacy["confidential"] = {"illness": {"distance": "equal"}}
    job = asked(quasi=NUMBERS, privacy=privacy, aggregation=KEEPING[0], **FILL)
    with refused(InfeasibleInputError, "t = 0.01"):
        aggopt.mask(sparse(income=12), job)
