"""Pseudonyms of units: which records are of one, and nothing else."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from households import OF_RECORDS, OF_UNITS, members, of
from refusals import refused

import aggopt
from aggopt import Job
from aggopt.errors import AggoptError, PrivacyError
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.audit import audit_release
from aggopt.release.audit.unprotected_columns import count_linked_units

SECRET = "0123456789abcdef" * 2
UNITS = {"attributes": OF_UNITS, "published": "pseudonym"}


def sized(units=24):
    """Return households with the number of their members, a stratum."""
    frame = members(units)
    size = frame.groupby("household")["income"].transform("size")
    return frame.assign(size=size)


def job(quasi=OF_UNITS, *, stratum=("size",), more=(), **sections):
    made = of(quasi, stratum=list(stratum))
    roles = made.roles.model_copy(
        update={"other": tuple(n for n in (*made.roles.other, *more))}
    )
    plain = {"partition": {"method": "mdav"}, "units": UNITS}
    plain |= {"output": {"digits": "full", "shuffle": False}}
    return Job(**{"roles": roles, "privacy": {"k": 3}, **plain, **sections})


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(sized(), job(), secret=SECRET)


def test_each_unit_has_one_number_of_its_own(release):
    frame, found = sized(), release.table["pseudonym"]
    pairs = {*zip(frame["household"], found, strict=True)}
    assert len(pairs) == frame["household"].nunique() == found.nunique()
    assert sorted(found.unique()) == list(range(1, 25))
    assert found.dtype == np.int64
    assert "household" not in release.table


def test_numbers_come_from_the_secret_alone(release):
    again = aggopt.mask(sized(), job(), secret=SECRET)
    pd.testing.assert_frame_equal(again.table, release.table)
    other = aggopt.mask(sized(), job(), secret=SECRET[::-1])
    assert (other.table["pseudonym"] != release.table["pseudonym"]).any()
    renamed = sized().assign(household=lambda table: 7 * table["household"] - 1e6)
    named = aggopt.mask(renamed, job(), secret=SECRET)
    pd.testing.assert_frame_equal(named.table, release.table)
    order = release.table.groupby(sized()["household"])["pseudonym"].first()
    assert not order.is_monotonic_increasing
    assert not order.is_monotonic_decreasing


def test_k_units_share_what_their_records_have_together(release):
    table = release.table
    rows = table.groupby("pseudonym")[[*OF_UNITS, "size"]]
    together = rows.apply(lambda own: tuple(map(tuple, own.to_numpy().tolist())))
    rarest = together.value_counts().min()
    assert release.audit.linked.rarest == rarest >= 3
    assert release.audit.linked.total == 24
    assert release.audit.linked.what == "unit"
    assert (
        "Pseudonyms tell which records are of one unit; what these have together is "
        f"that of {rarest} units at least." in release.audit.verdict
    )


def test_what_columns_beside_tell_of_whole_units_is_counted(release):
    table = release.table
    known = release.job.roles.other
    names = [*OF_UNITS, "size", "region", *known, *release.job.roles.confidential]
    rows = table.groupby("pseudonym")[names]
    together = rows.apply(lambda own: tuple(sorted(map(tuple, own.to_numpy()))))
    alone = int((together.value_counts() == 1).sum())
    counts = [each.count for each in release.audit.beside if each.count.what == "unit"]
    assert (counts[-1].unique, counts[-1].total) == (alone, 24)
    assert not any("Units are not published" in note for note in release.audit.notes)


def test_a_written_release_is_recounted_and_made_again(tmp_path):
    sized().to_csv(tmp_path / "people.csv", index=False)
    made = aggopt.mask(tmp_path / "people.csv", job(output={"shuffle": True}))
    files = made.write(tmp_path / "masked.csv")
    written = pd.read_csv(files.table)
    assert written.groupby("pseudonym")[OF_UNITS].nunique().max(axis=None) == 1
    stated = json.loads(files.manifest.read_text("utf-8"))
    assert stated["job"]["units"]["published"] == "pseudonym"
    counted = stated["output"]["recounted"]["linked"]
    assert counted["rarest"] == made.audit.linked.rarest
    found = assess_release(tmp_path / "people.csv", files.table, made.job)
    assert found.audit.linked == made.audit.linked
    again = aggopt.repeat(
        files.manifest, tmp_path / "people.csv", tmp_path / "again.csv"
    )
    assert again.table.read_bytes() == files.table.read_bytes()


def test_tables_of_other_libraries_have_them_too(release):
    made = aggopt.mask(pl.from_pandas(sized()), job(), secret=SECRET).table
    assert made["pseudonym"].to_list() == release.table["pseudonym"].tolist()
    frame = sized().set_axis(np.arange(len(sized()))[::-1] + 5)
    turned = aggopt.mask(frame, job(), secret=SECRET).table
    assert turned["pseudonym"].tolist() == release.table["pseudonym"].tolist()
    assert turned.index.equals(frame.index)


def test_nothing_is_published_of_units_unless_it_is_asked_for():
    plain = job(units={"attributes": OF_UNITS})
    assert plain.units.published == "drop"
    assert plain.pseudonym is None
    assert plain.released_roles.unit == ()
    made = aggopt.mask(sized(), plain, secret=SECRET)
    assert "pseudonym" not in made.table
    assert made.audit.linked is None
    assert "Pseudonyms" not in made.audit.verdict
    assert job().released_roles.unit == ("pseudonym",)


def test_units_of_one_record_each_need_no_stratum():
    frame = sized().drop_duplicates("household").drop(columns="size")
    made = aggopt.mask(frame, job(stratum=()))
    assert made.audit.linked.rarest == made.audit.smallest >= 3
    of_records = of(OF_RECORDS, units={"published": "pseudonym"})
    assert aggopt.mask(frame, of_records).audit.linked.rarest >= 3


# --- what the audit refuses


def test_units_are_compared_by_how_often_they_have_what():
    published = np.array([0, 0, 1, 1, 0, 0])
    found = count_linked_units(("age",), published, np.array([5, 5, 3, 3, 9, 7]), 2)
    assert (found.rarest, found.rare, found.unique, found.total) == (1, 2, 2, 4)
    assert (found.combinations, found.attributes) == (3, ("age",))


@pytest.mark.parametrize(("k", "holds"), [(2, True), (3, False)])
def test_pseudonyms_that_tell_units_apart_are_found_in_a_file(k, holds):
    table = pd.DataFrame(
        {"age": [1] * 6 + [2] * 6, "pseudonym": [*"aabbcd", *"efghij"]}
    )
    roles = Job(roles={"quasi-identifier": ["age"]}, privacy={"k": k})
    found = audit_release(table, roles.roles, roles.privacy, pseudonym="pseudonym")
    assert found.smallest == 6
    assert found.linked.rarest == 2
    assert found.holds is holds
    assert ("k = 3 DOES NOT HOLD" in found.verdict) is not holds
    if holds:
        return
    with refused(PrivacyError, "k = 3", "[units]"):
        found.require()


def test_one_unit_that_is_alone_is_said_of_one():
    table = pd.DataFrame(
        {"age": [1] * 5, "pseudonym": list("abcde"), "sex": list("fffmf")}
    )
    roles = {"quasi-identifier": ["age"], "other": ["sex"]}
    asked = Job(roles=roles, privacy={"k": 2})
    found = audit_release(table, asked.roles, asked.privacy, pseudonym="pseudonym")
    assert found.seal.heading == "k = 2 holds, but 1 of 5 records is unique with 'sex'"
    alike = audit_release(
        table.assign(sex="f"), asked.roles, asked.privacy, pseudonym="pseudonym"
    )
    assert alike.seal.state == "green"


# --- what is refused before any work

APART = "the groups that they are of, taken together, tell the unit apart."
DIFFERENT = "Pseudonyms tell how many records a unit has, and 24 units have 4 different"
REFUSED = {
    "attributes of records": (
        sized(),
        job(OF_RECORDS, units={"published": "pseudonym"}),
        "Pseudonyms tell which records are of one unit, and the records of a unit are "
        f"masked each by itself: {APART}",
        "name every quasi-identifier as attributes under [units], if they are the same "
        'within a unit; or set published = "drop" there.',
    ),
    "numbers of records that differ": (
        sized(),
        job(stratum=(), more=("size",)),
        f"{DIFFERENT} numbers of records, by which groups are not made.",
        "add a column with the number of records of each unit to the table, and name "
        'it as stratum under [roles]; or set published = "drop" under [units].',
    ),
    "a stratum that is not of numbers": (
        sized(),
        job(stratum=("region",), more=("size",)),
        f"{DIFFERENT} numbers of records, by which groups are not made.",
        "add a column with the number of records of each unit to the table, and name "
        'it as stratum under [roles]; or set published = "drop" under [units].',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_in_words(case):
    frame, asked, problem, fix = REFUSED[case]
    with pytest.raises(AggoptError) as error:
        aggopt.mask(frame, asked)
    assert (error.value.problem, error.value.fix) == (problem, fix)


def test_a_column_of_that_name_is_refused():
    with refused(AggoptError, "[units]", "'pseudonym'", "[roles]"):
        job(more=("pseudonym",))
    assert job(more=("pseudonym",), units={"attributes": OF_UNITS}).pseudonym is None


def test_the_column_has_the_type_and_the_index_of_the_table(release):
    shifted = sized().set_axis(range(100, 100 + len(sized())), axis=0)
    indexed = aggopt.mask(shifted, job(), secret=SECRET).table
    assert indexed.index.equals(shifted.index)
    assert indexed["pseudonym"].tolist() == release.table["pseudonym"].tolist()
    frame = aggopt.mask(pl.from_pandas(sized()), job(), secret=SECRET).table
    assert frame["pseudonym"].dtype == pl.Int64
    assert frame["pseudonym"].to_list() == release.table["pseudonym"].tolist()
