"""Weights, units and second looks, seen in what `mask` releases and says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from households import OF_UNITS, members, of
from refusals import refused
from surveys import heavy, masked, sample
from tables import job, people

import aggopt
from aggopt.errors import SolverError
from aggopt.pipeline.review.review_release import assess_release

SECRET = "5" * 32
HEAVY = {"dominance": 0.5}


def merged(release) -> list[str]:
    return [note for note in release.notes if "groups are merged" in note]


@pytest.mark.parametrize(
    ("frame", "method", "missing", "is_merged"),
    [
        (sample(), "mdav", False, False),
        (heavy(), "mdav", False, True),
        (heavy(), "local_search", False, False),
        (heavy(), "local_search", True, True),
    ],
)
def test_groups_that_a_record_may_dominate_are_merged_unless_the_search_sees_to_it(
    frame, method, missing, is_merged
) -> None:
    more = {"missing": {"policy": "patterns"}} if missing else {}
    if missing:
        frame = frame.assign(age=frame["age"].where(frame.index % 4 > 0))
    share = HEAVY if frame["w"].max() > 3 else {"dominance": 0.7}
    made = masked(frame, partition={"method": method}, weights=share, **more)
    assert bool(merged(made)) == is_merged
    assert any("within patterns" in note for note in merged(made)) == missing
    w = frame["w"].to_numpy()
    for name in ("age", "income"):
        there = made.table[name].notna() & frame[name].notna()
        by = pd.Series(w[there]).groupby(made.labels[there])
        assert (by.max() / by.sum()).max() <= share["dominance"] + 1e-12


def test_the_weighted_mean_of_whole_numbers_is_kept() -> None:
    """Rounding to whole numbers keeps it as near as one record's weight allows."""
    frame = sample(age=np.arange(48.0) ** 1.5)
    whole = {"age": {"integer": True}}
    made = masked(frame, attributes=whole)
    exact = masked(frame)
    w = frame["w"]
    assert (made.table["age"] == made.table["age"].round()).all()
    means = [np.average(table["age"], weights=w) for table in (made.table, exact.table)]
    assert abs(means[0] - means[1]) <= 0.05


def test_each_kind_of_a_job_of_units_and_records_is_masked_as_by_its_own_job() -> None:
    frame = members()
    both = {"units": {"attributes": OF_UNITS}, "privacy": {"k": 3, "scope": "blocks"}}
    one = aggopt.mask(frame, of([*OF_UNITS, "age", "height"], **both), secret=SECRET)
    for names in (OF_UNITS, ["age", "height"]):
        apart = aggopt.mask(frame, of(names), secret=SECRET)
        for name in names:
            assert one.table[name].tolist() == apart.table[name].tolist()
    by = one.table.assign(h=frame["household"]).groupby("h")[OF_UNITS].nunique()
    assert (by == 1).all().all()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_pseudonyms_number_units_from_one_whatever_the_table(kind) -> None:
    frame = members().assign(size="x")
    frame["size"] = frame.groupby("household")["age"].transform("size").astype(str)
    asked = {"attributes": OF_UNITS, "published": "pseudonym"}
    roles = {"quasi-identifier": OF_UNITS, "unit": ["household"], "stratum": ["size"]}
    asked = aggopt.Job(
        roles=roles,
        privacy={"k": 3},
        partition={"method": "mdav"},
        units=asked,
        output={"shuffle": False},
    )
    frame = frame[["household", *OF_UNITS, "size"]]
    numbers, again, other = (
        np.asarray(aggopt.mask(kind(frame), asked, secret=own).table["pseudonym"])
        for own in (SECRET, SECRET, "6" * 32)
    )
    pairs = pd.DataFrame({"h": frame["household"], "p": numbers})
    assert len(pairs.drop_duplicates()) == pairs["h"].nunique() == pairs["p"].nunique()
    assert sorted(set(numbers)) == [*range(1, pairs["h"].nunique() + 1)]
    assert (numbers == again).all()
    assert (numbers != other).any()


def infeasible(x, labels, sizes):
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(c[labels] - x))), [c >= 1, c <= 0])


def test_what_a_model_of_the_users_does_not_solve_releases_nothing() -> None:
    with refused(SolverError, "'age'"):
        aggopt.mask(people(12), job(aggregation={"model": infeasible}))


def test_a_second_look_is_by_what_the_job_says(tmp_path) -> None:
    """Weights, units, pseudonyms, separators, decimals: as the release was audited."""
    frame = members()
    frame["size"] = frame.groupby("household")["age"].transform("size").astype(str)
    frame["w"] = 1.0 + frame["household"] % 3
    frame = frame[["household", *OF_UNITS, "size", "w"]]
    asked = aggopt.Job(
        roles={
            "quasi-identifier": OF_UNITS,
            "unit": ["household"],
            "stratum": ["size"],
        },
        privacy={"k": 3},
        partition={"method": "mdav"},
        units={"attributes": OF_UNITS, "published": "pseudonym"},
        input={"separator": ";", "decimal": ","},
    )
    frame.drop(columns="w").to_csv(
        tmp_path / "in.csv", index=False, sep=";", decimal=","
    )
    release = aggopt.mask(tmp_path / "in.csv", asked, secret=SECRET)
    files = release.write(tmp_path / "out.csv")
    found = assess_release(tmp_path / "in.csv", files.table, asked)
    assert found.audit == release.audit
    assert found.measures.il == pytest.approx(release.measures.il)
    assert release.audit.holds
