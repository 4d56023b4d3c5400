"""A second look takes no order for granted that is known to be another."""

import json
from datetime import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused
from tables import ROLES, WIDE, job, people, wide

import aggopt
from aggopt import Job
from aggopt.command import show
from aggopt.errors import AggoptError, JobError, TableError
from aggopt.pipeline.review.repeat import repeat
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


# --- a second look at files: each that is missing, or of others, is refused in words


ORDER = ["low", "middle", "high"]
CODES = {"code": {"kind": "nominal"}, "school": {"order": ORDER}}


@pytest.fixture(scope="module")
def made() -> aggopt.Release:
    return aggopt.mask(people(), job())


@pytest.fixture
def files(made, tmp_path):
    """The files of a release, and people.csv beside them."""
    people().to_csv(tmp_path / "people.csv", index=False)
    return made.write(tmp_path / "masked.csv")


def expect_refusal(files, kind: type[AggoptError] = TableError) -> AggoptError:
    with refused(kind) as caught:
        assess_release(files.table.with_name("people.csv"), files.table, job())
    return caught.value


def test_a_table_of_another_length_is_refused(files) -> None:
    people(39).to_csv(files.table.with_name("people.csv"), index=False)
    expect_refusal(files)


def test_without_its_key_nobody_can_tell_which_record_is_which(files) -> None:
    files.private.unlink()
    why = expect_refusal(files)
    assert why.problem == (
        f"{files.private} is not there, so nobody can tell which record of masked.csv "
        "is which."
    )


def test_a_release_named_first_is_said_to_be_one(tmp_path) -> None:
    table = tmp_path / "people.csv"
    people().to_csv(table, index=False)
    files = aggopt.mask(table, job()).write(tmp_path / "masked.csv")
    with refused(TableError, "masked.csv", "people.csv", "manifest.json"):
        assess_release(files.table, table, job())
    released = job(roles={**ROLES, "identifier": []})
    with refused(TableError, "none.csv"):
        assess_release(files.table, tmp_path / "none.csv", released)
    again = aggopt.mask(files.table, released).write(tmp_path / "again.csv")
    assert assess_release(files.table, again.table, released).audit.holds


@pytest.mark.parametrize("places", [[0] * 40, [*range(39), 40], [*range(1, 41)]])
def test_a_key_that_is_no_order_of_the_records_is_refused(files, places) -> None:
    files.manifest.unlink()
    pd.DataFrame({"released_record": places}).to_csv(files.private, index=False)
    expect_refusal(files)


def test_a_release_is_not_made_again_over_what_it_is_made_from(files) -> None:
    people_csv = files.table.with_name("people.csv")
    before = people_csv.read_bytes()
    with refused(AggoptError, "people"):
        repeat(files.manifest, people_csv, people_csv, overwrite=True)
    assert people_csv.read_bytes() == before


# tables whose columns are read as the job says they are


def coded(decimal: str, folder: Path) -> tuple[Path, Job]:
    """Return a file of categories, or of numbers with this mark, and its job."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "code": rng.choice(["01", "1", "2"], 40),
            "school": rng.choice(ORDER, 40),
            "height": rng.normal(170, 9, 40).round(1),
        }
    )
    names = list(frame)[:2] if decimal == "." else list(frame)
    path = folder / "people.csv"
    frame[names].to_csv(path, index=False, sep=";", decimal=decimal)
    roles = {"quasi-identifier": names}
    read = {"separator": ";", "decimal": decimal}
    return path, Job(roles=roles, privacy={"k": 4}, attributes=CODES, input=read)


@pytest.mark.parametrize("decimal", [".", ","])
def test_what_is_read_again_is_read_as_the_job_says(decimal, tmp_path) -> None:
    path, asked = coded(decimal, tmp_path)
    release = aggopt.mask(path, asked)
    files = release.write(tmp_path / "masked.csv")
    found = assess_release(path, files.table, asked)
    assert found.audit.unchanged == release.audit.unchanged
    assert found.audit.combination == release.audit.combination
    assert found.measures == release.measures
    assert found.to_dict()["audit"] == found.audit.to_dict()


def test_what_cannot_be_measured_is_said_to_be_nothing(tmp_path) -> None:
    frame = pd.DataFrame({"a": [1.0] * 6})
    frame.to_csv(tmp_path / "t.csv", index=False)
    one = Job(roles={"quasi-identifier": ["a"]}, privacy={"k": 2})
    found = assess_release(tmp_path / "t.csv", tmp_path / "t.csv", one, same_order=True)
    assert found.measures is None
    assert found.warning is None
    assert found.to_dict() == {
        "audit": found.audit.to_dict(),
        "measures": None,
        "warning": None,
    }


def test_names_have_no_correlation_to_make_blocks_of(tmp_path) -> None:
    frame = wide()[list(WIDE)].assign(sex=["f", "m"] * 30)
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = Job(
        roles={"quasi-identifier": list(frame)},
        privacy={"k": 3, "scope": "blocks"},
        partition={"method": "mdav", "attributes": {"correlation": 0.6}},
    )
    both = tmp_path / "people.csv", tmp_path / "people.csv"
    with refused(JobError):
        assess_release(*both, asked, same_order=True)


@pytest.mark.parametrize("name", ["at", "long", "b"])
def test_types_that_a_text_file_has_not_are_read_as_the_original_has_them(
    name, tmp_path
) -> None:
    at = [time(12, 0, second) for second in range(6)]
    long = pd.to_timedelta(range(6), unit="D")
    levels = pd.Categorical(["1.50", "2.50", "3.50"] * 2)
    frame = pd.DataFrame({"at": at, "long": long, "b": levels})[[name]]
    frame.to_parquet(tmp_path / "people.parquet")
    asked = Job(roles={"quasi-identifier": [name]}, privacy={"k": 2})
    release = aggopt.mask(tmp_path / "people.parquet", asked)
    files = release.write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.parquet", files.table, asked)
    assert found.audit.unchanged == release.audit.unchanged
    assert found.measures == release.measures


def test_what_is_not_measured_is_of_the_order_that_was_said(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "x\ny\n" * 3)
    (tmp_path / "m.csv").write_text("a\n" + "z\n" * 6)
    both = tmp_path / "t.csv", tmp_path / "m.csv"
    asked = Job(roles={"quasi-identifier": ["a"]}, privacy={"k": 2})
    found = assess_release(*both, asked, same_order=True)
    assert found.measures is None
    assert found.same_order is True
    assert found.warning.startswith("Nothing but equal records was measured. ")


@pytest.mark.parametrize("counted", [True, False])
def test_what_a_release_may_equal_is_counted_again_if_asked(counted, tmp_path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 1.0, None, None]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    missing = {"policy": "patterns", "report_compatible": counted}
    roles = {"quasi-identifier": ["a", "b"]}
    how = {"privacy": {"k": 2}, "partition": {"method": "mdav"}}
    asked = Job(roles=roles, missing=missing, **how)
    files = aggopt.mask(tmp_path / "t.csv", asked).write(tmp_path / "m.csv")
    found = assess_release(tmp_path / "t.csv", files.table, asked)
    assert found.audit.missing.compatible == (2 if counted else None)


def test_confidential_numbers_are_read_again_with_their_decimal_comma(tmp_path) -> None:
    lines = [f"{age};{age % 4},5" for age in range(20, 32)]
    (tmp_path / "t.csv").write_text("\n".join(["age;pay", *lines, ""]))
    asked = Job(
        roles={"quasi-identifier": ["age"], "confidential": ["pay"]},
        privacy={"k": 4, "t": 0.3, "repair": "merge"},
        input={"decimal": ",", "separator": ";"},
    )
    release = aggopt.mask(tmp_path / "t.csv", asked)
    files = release.write(tmp_path / "m.csv")
    found = assess_release(tmp_path / "t.csv", files.table, asked)
    assert found.audit.promises == release.audit.promises
    assert found.audit.holds
