"""The usefulness of a release, and the largest loss that a job allows."""

import json

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import MDAV, people

import aggopt
from aggopt.data.table import Table
from aggopt.errors import AggoptError, PrivacyError
from aggopt.measure import utility
from aggopt.pipeline.review.utility import (
    format_entries,
    measure_utility,
    read_analysis_column,
)

EXTRA = "needs the extra stats: pip install '.[stats]'"
ROLES = {
    "identifier": ["name", "hidden"],
    "quasi-identifier": ["age", "income", "town"],
    "confidential": ["illness", "cost"],
    "other": ["note", "w"],
}
JOB = aggopt.Job(roles=ROLES, privacy={"k": 3}, partition={"method": "mdav"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and its release, in another order."""
    folder = tmp_path_factory.mktemp("useful")
    frame = people(60).assign(
        w=np.linspace(1, 3, 60),
        hidden=np.linspace(3, 1, 60) ** 2,
        town=np.resize(["north", "south", None], 60),
        cost=np.arange(60.0) ** 2 % 37,
    )
    frame["town"] = frame["town"].fillna("none of these")
    frame.to_csv(folder / "people.csv", index=False)
    aggopt.mask(folder / "people.csv", JOB).write(folder / "masked.csv")
    return folder


def test_what_is_no_number_everywhere_is_text() -> None:
    days = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    frame = pd.DataFrame({"a": [1, 2, 3], "day": days, "b": [0.5, None, 2.0]})
    roles = {"quasi-identifier": ["a"], "other": ["day", "b"]}
    job = aggopt.Job(roles=roles, privacy={"k": 3})
    table = Table.of(frame, job.roles)
    one, none, three = read_analysis_column(table, "day", job).tolist()
    assert (type(one), none, type(three)) == (str, None, str)
    assert read_analysis_column(table, "b", job).dtype == np.float64
    assert format_entries([None, 1, "a"]).tolist() == [None, "1", "a"]


def test_dates_have_no_totals_and_durations_have(tmp_path) -> None:
    frame = people(30)[["age"]].assign(
        born=pd.Timestamp("1960-01-01") + pd.to_timedelta(np.arange(30) * 300, "D"),
        stay=pd.to_timedelta(np.arange(30) + 1, "h"),
    )
    frame.to_parquet(tmp_path / "people.parquet")
    job = aggopt.Job(
        roles={"quasi-identifier": list(frame)}, privacy={"k": 3}, partition=MDAV
    )
    release = aggopt.mask(tmp_path / "people.parquet", job)
    release.write(tmp_path / "masked.parquet")
    files = tmp_path / "people.parquet", tmp_path / "masked.parquet"
    assert measure_utility(*files, job).totals.names == ("age", "stay")


def found(folder, **how):
    return measure_utility(folder / "people.csv", folder / "masked.csv", JOB, **how)


def tables(folder):
    return (pd.read_csv(folder / f"{name}.csv") for name in ("people", "masked"))


def test_columns_are_what_their_roles_say(folder) -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    one, other = tables(folder)
    seen = found(folder, model=["cost ~ age + town + w"])
    names = ["age", "income", "town"]
    assert seen.tree == utility.pmse_tree(one[names], other[names])
    assert seen.wasserstein == pytest.approx(
        utility.wasserstein(one[names], other[names])
    )
    kept = [*names, "illness", "cost", "note", "w"]
    expected = utility.contingency(
        one[kept], other[kept], ["town"], ["illness", "cost"]
    )
    assert seen.contingency == pytest.approx(expected)
    (regression,) = seen.regressions
    assert regression.smallest == pytest.approx(
        utility.interval_overlap(
            "cost ~ age + town + w", one[kept], other[kept]
        ).smallest
    )
    assert seen.totals.names == ("age", "income")


def test_strata_are_published_columns_and_no_column_beside(folder) -> None:
    seen = found(folder, strata=["illness"])
    assert set(seen.contingency) == {("town", "illness"), ("town", "cost")}
    assert seen.totals.before.shape == (3, 2)


def test_entries_that_are_read_as_one_number_are_text(tmp_path) -> None:
    frame = people().assign(note=["1.1", "1.10"] * 20)
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = {**ROLES, "identifier": ["name"], "confidential": ["illness"]}
    roles |= {"quasi-identifier": ["age", "income"], "other": ["note"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 3}, partition={"method": "mdav"})
    aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / "masked.csv")
    both = tmp_path / "people.csv", tmp_path / "masked.csv"
    seen = measure_utility(*both, asked, strata=["note"])
    assert seen.totals.before.shape == (2, 2)


def test_strata_of_the_job_are_those_of_totals(folder, tmp_path) -> None:
    roles = {**ROLES, "stratum": ["illness"], "confidential": ["cost"]}
    asked = aggopt.Job(roles=roles, privacy={"k": 3}, partition={"method": "mdav"})
    aggopt.mask(folder / "people.csv", asked).write(tmp_path / "masked.csv")
    seen = measure_utility(folder / "people.csv", tmp_path / "masked.csv", asked)
    assert seen.totals.before.shape == (3, 2)
    assert set(seen.contingency) == {("town", "illness"), ("town", "cost")}


def test_weights_are_those_of_each_record(folder) -> None:
    one, other = tables(folder)
    names = ["age", "income"]
    published = found(folder, weight="w").totals
    expected = utility.totals(
        one[names], other[names], weights=one["w"], released_weights=other["w"]
    )
    assert published.after == pytest.approx(expected.after)
    assert published.before == pytest.approx(expected.before)
    key = pd.read_csv(folder / "masked.private.csv")["released_record"]
    hidden = found(folder, weight="hidden").totals
    after = other[names].iloc[key].to_numpy() * one[["hidden"]].to_numpy()
    assert hidden.after.ravel() == pytest.approx(after.sum(axis=0))


def test_a_weight_that_is_not_published_needs_the_key(folder, tmp_path) -> None:
    for name in ("people.csv", "masked.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert found(tmp_path).totals is not None
    with refused(AggoptError):
        found(tmp_path, weight="hidden")
    assert found(tmp_path, weight="hidden", same_order=True).totals is not None
    keys = tmp_path / "keys"
    keys.mkdir()
    key = "masked.private.csv"
    (keys / key).write_bytes((folder / key).read_bytes())
    elsewhere = found(tmp_path, weight="hidden", private=keys).totals
    assert elsewhere.after == pytest.approx(found(folder, weight="hidden").totals.after)


REFUSED = {
    "a stratum that is masked": (
        {"strata": ["age"]},
        "No column that is published unchanged is called 'age'.",
    ),
    "a weight that is masked": (
        {"weight": "age"},
        "No column that is not masked is called 'age'.",
    ),
    "a weight that is no number": (
        {"weight": "note"},
        "Column 'note': 39 of 60 weights are no numbers.",
    ),
    "a formula with an unknown name": (
        {"model": ["cost ~ wealth"]},
        "No column is called 'wealth'.",
    ),
    "a formula with an identifier": (
        {"model": ["cost ~ hidden"]},
        "No column is called 'hidden'.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_in_words(folder, case) -> None:
    pytest.importorskip("statsmodels", reason=EXTRA)
    asked, problem = REFUSED[case]
    with pytest.raises(AggoptError) as error:
        found(folder, **asked)
    assert error.value.problem == problem


# --- how much a release may lose: a note above 80 %, a refusal if the job says so


NAMES = list("abcdefgh")
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 8)), columns=NAMES)


def job(k=25, **measures):
    sections = {"measures": measures} if measures else {}
    roles = {"quasi-identifier": NAMES}
    return aggopt.Job(roles=roles, privacy={"k": k}, **sections)


def test_a_large_loss_is_noted_with_advice():
    release = aggopt.mask(FRAME, job())
    assert release.measures.il > 0.8
    (note,) = [note for note in release.notes if "(IL)" in note]
    assert note.startswith(
        f"The release loses {100 * release.measures.il:.2f} % of the sum of squares"
    )
    assert "choose a smaller k" in note
    assert note in release.notes[: release.urgent]
    few = aggopt.mask(FRAME, job(k=3))
    assert few.measures.il < 0.8
    assert not [note for note in few.notes if "(IL)" in note]


def test_a_job_may_allow_less_or_more():
    with refused(PrivacyError, "largest_loss = 0.3", "30.00"):
        aggopt.mask(FRAME, job(k=5, largest_loss=0.3))
    release = aggopt.mask(FRAME, job(largest_loss=0.99))
    assert not [note for note in release.notes if "(IL)" in note]


def test_the_limit_is_written_with_the_job_and_with_other_measures(tmp_path):
    def spread(original, released):
        return float(np.ptp(released))

    asked = job(extra=[spread], largest_loss=0.9)
    assert list(asked.measures.own) == ["spread"]
    assert asked.measures.largest_loss == 0.9
    file = tmp_path / "job.toml"
    file.write_text(job(largest_loss=0.9).to_toml())
    assert aggopt.Job.read(file).measures.largest_loss == 0.9
    assert "[measures]" not in job().to_toml()


def test_a_written_release_that_lost_more_does_not_hold(tmp_path, monkeypatch, aggopt):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("people.csv", index=False)
    (tmp_path / "allowed.toml").write_text(job(k=5, largest_loss=0.9).to_toml())
    (tmp_path / "strict.toml").write_text(job(k=5, largest_loss=0.3).to_toml())
    words = ("people.csv", "allowed.toml", "--out", "masked.csv")
    assert aggopt("mask", *words)[0] == 0
    both = ("people.csv", "masked.csv")
    assert aggopt("assess", *both, "allowed.toml")[0] == 0
    code, out, _ = aggopt("assess", *both, "strict.toml")
    assert code == 1
    said = " ".join(out.split())
    assert "WARNING: The release loses" in said
    assert "largest_loss = 0.3 allows 30.00 %." in said
    code, out, _ = aggopt("assess", *both, "strict.toml", "--json")
    assert code == 1
    assert "allows 30.00 %" in json.loads(out)["largest_loss"]
    assert aggopt("risk", *both, "strict.toml")[0] == 1
