"""A second look takes no order for granted that is known to be another."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt import Job
from aggopt.command import show
from aggopt.errors import TableError
from aggopt.pipeline.review.review_release import assess_release

ONE = Job(roles={"quasi-identifier": ["a"]}, privacy={"k": 2})


@pytest.fixture
def written(tmp_path):
    """A shuffled release, its private files in a folder of their own."""
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "private").mkdir()
    release = aggopt.mask(tmp_path / "people.csv", job())
    return release.write(tmp_path / "masked.csv", private=tmp_path / "private")


def looked(files, **how):
    asked = files.table.with_name("people.csv"), files.table, job()
    return assess_release(*asked, private=files.private.parent, same_order=True, **how)


def test_a_shuffled_release_is_not_taken_to_be_in_the_same_order(written) -> None:
    with refused(TableError):
        looked(written)
    for text in ("no JSON", "[]", "{}"):
        written.manifest.write_text(text)
        with refused(TableError, "private.csv"):
            looked(written)
    written.manifest.unlink()
    with refused(TableError, "private.csv"):
        looked(written)


def test_a_release_in_the_order_of_the_input_may_be_said_to_be(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    asked = job(output={"shuffle": False})
    release = aggopt.mask(tmp_path / "people.csv", asked)
    files = release.write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.csv", files.table, asked, same_order=True)
    assert found.measures == release.measures
    assert found.warning is None
    assert json.loads(files.manifest.read_text())["order"] == "as in the input"


def test_orders_that_can_hardly_be_the_same_are_loud(written, capsys) -> None:
    for path in (written.manifest, written.private):
        path.unlink()
    found = looked(written)
    assert found.measures.il > 1
    assert found.warning.startswith(f"The loss is {100 * found.measures.il:.0f} % of")
    assert found.to_dict()["warning"] == found.warning
    show.print_review(found)
    assert "WARNING: The loss is" in capsys.readouterr().out


def assessed(tmp_path, entries):
    """Return what is found of a file with these entries, written by others."""
    before = np.arange(len(entries)) % 7
    pd.DataFrame({"a": before}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "m.csv").write_text("\n".join(["a", *entries, ""]))
    return assess_release(tmp_path / "t.csv", tmp_path / "m.csv", ONE, same_order=True)


@pytest.mark.parametrize(
    "entries",
    [["0", "-0", "0", "-0", *["1"] * 16], ["5", "5.0", "5e0", "+5"] * 3 + ["05"]],
)
def test_risks_count_what_the_audit_counts(tmp_path, entries) -> None:
    found = assessed(tmp_path, entries)
    sizes = pd.Series(entries).value_counts()
    assert found.audit.combination == sizes.min()
    assert found.measures.highest_risk == 1 / sizes.min()
    assert found.measures.average_risk == len(sizes) / len(entries)
    assert found.measures.reidentifications == len(sizes)


def test_a_release_says_one_thing_of_its_groups(tmp_path) -> None:
    release = aggopt.mask(people(), job())
    audit, measures = release.audit, release.measures
    assert measures.highest_risk == 1 / audit.combination
    assert measures.reidentifications == audit.groups
    key = pd.read_csv(release.write(tmp_path / "masked.csv").private)
    shared = release.table.groupby(["age", "income"])["age"].transform("size")
    np.testing.assert_array_equal(key["risk"], 1 / shared)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_no_number_and_nothing_are_two_entries_in_memory_and_file(
    tmp_path, ending
) -> None:
    other = [float("nan"), *[None] * 4, *[1.0] * 55]
    frame = pl.DataFrame({"a": np.repeat(np.arange(12.0), 5), "o": other})
    roles = {"quasi-identifier": ["a"], "other": ["o"]}
    release = aggopt.mask(frame, Job(roles=roles, privacy={"k": 5}))
    assert [each.count.unique for each in release.audit.beside] == [1]
    files = release.write(tmp_path / f"m.{ending}")
    stated = json.loads(files.manifest.read_text())["output"]["recounted"]
    assert [each["count"]["unique"] for each in stated["beside"]] == [1]


def test_a_second_look_takes_what_the_records_ask_for(tmp_path) -> None:
    asked = job(
        roles={**ROLES, "wish": ["distance"]},
        aggregation={"method": "p3m", "solver": "uno", "delta": {"column": "distance"}},
    )
    frame = people().assign(distance=np.linspace(0, 1, 40))
    frame.to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", asked)
    files = release.write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.csv", files.table, asked)
    assert found.measures == release.measures
    unasked = job(roles={**ROLES, "identifier": ["name", "distance"]})
    plain = assess_release(tmp_path / "people.csv", files.table, unasked)
    assert plain.measures.sl != found.measures.sl


def test_a_release_of_a_table_in_memory_can_be_looked_at(tmp_path) -> None:
    release = aggopt.mask(people(), job())
    files = release.write(tmp_path / "masked.csv")
    people().to_csv(tmp_path / "people.csv", index=False)
    found = assess_release(tmp_path / "people.csv", files.table, job())
    assert found.measures == release.measures
