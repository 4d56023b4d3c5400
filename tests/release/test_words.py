"""What is said of files that cannot be written, or are not what they should be."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import job, people, promising, salaried

import aggopt
from aggopt.errors import AggoptError, PrivacyError
from aggopt.job import Privacy
from aggopt.job.roles import Roles
from aggopt.pipeline.review.review_release import assess_release
from aggopt.privacy.requirement import Check
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.audit.counts import Count, combine_codes
from aggopt.release.audit.missing import MissingValues
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.files.staging import check_places, compute_sha256, make_folder


def found(k=2, **other):
    """An audit of three records that are all unique, but for what is named."""
    kept = {"scope": "combination", "identifiers": (), "promises": ()}
    kept["blocks"] = Count(("age",), 2, 2, 0, 0), Count(("pay", "debt"), 3, 1, 3, 3)
    whole = other.pop("whole", Count(("age", "pay", "debt"), 3, 1, 3, 3, 3))
    return Audit(records=3, k=k, whole=whole, **(kept | other))


KEPT = Count(("age",), 1, 3, 0, 0)


def promise(name, asked, worst, holds=False, **said):
    return Check("pay", name, asked, worst, holds, groups=4, broken=1, worst=3, **said)


DIVERSE = promise("distinct l", 3, 2.0, keeps="l of at most 2")
CLOSE = promise(
    "t (ordered)", 0.1, 0.1234567, sign="<=", keeps="t of at least 0.123457, rounded up"
)
REFUSED = {
    "identifiers": found(identifiers=("name", "number")),
    "a rare combination": found(),
    "a rare combination of a block": found(scope="blocks"),
    "a value of too few records": found(
        whole=KEPT, missing=MissingValues(1, 1, least=1)
    ),
    "values that are not diverse": found(promises=(DIVERSE,), whole=KEPT),
    "values that are not close": found(promises=(CLOSE, DIVERSE), whole=KEPT),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_release_that_breaks_a_promise_is_refused_in_full(case):
    with refused(PrivacyError) as raised:
        REFUSED[case].require()
    assert str(raised.value) == str(REFUSED[case].refusal)


def test_a_release_that_keeps_its_promises_is_not_refused():
    assert found(whole=KEPT, promises=(promise("t", 1, 0, True),)).refusal is None
    assert found(k=1).refusal is None
    assert found(k=1, scope="blocks").refusal is None


def test_a_promise_that_is_broken_is_named_though_another_holds():
    holding = promise("entropy l", 2, 2.5, True)
    assert not found(promises=(holding, CLOSE), whole=KEPT).holds
    error = found(promises=(holding, CLOSE), whole=KEPT).refusal
    assert error.problem.startswith("t (ordered) <= 0.1 DOES NOT HOLD")


def test_blocks_count_only_where_the_promise_is_of_blocks():
    pairs = (Count(("age",), 1, 3, 0, 0), Count(("pay",), 1, 3, 0, 0))
    asked = found(blocks=pairs)
    assert (asked.smallest, asked.holds) == (1, False)
    assert asked.verdict.startswith("k = 2 DOES NOT HOLD: 3 records, 3 published")
    asked = found(blocks=pairs, scope="blocks")
    assert (asked.smallest, asked.holds) == (3, True)


@pytest.mark.parametrize(
    ("parts", "alone"),
    [
        ([[0, 0, 1], [0, 1, 0]], 3),  # a pair that the last column parts
        ([[0, 0, 1], [0, 0, 1]], 2),
        ([[0, 1, 2], [0, 0, 0]], 3),
        ([[0, 0, 0], [0, 1, 0], [1, 0, 0]], 3),
    ],
)
def test_each_column_parts_what_it_tells_apart(parts, alone):
    assert len(set(combine_codes(map(np.array, parts)).tolist())) == alone


def test_the_verdict_of_k_says_what_k_does():
    # a broken promise of closeness has a line of its own: k holds all the same
    said = found(promises=(CLOSE,), whole=KEPT).verdict.splitlines()
    assert said[0].startswith("k = 2 holds: 3 records, 1 published combination")
    assert said[1].startswith("t (ordered) <= 0.1 DOES NOT HOLD for 'pay'")


# --- files


def do_refused(folder, case):
    """Do what is refused in this folder."""
    table, none = folder / "t.csv", folder / "none" / "t.csv"
    table.write_text("age\n1\n")
    (folder / "folder.csv").mkdir()
    {
        "the input itself": lambda: check_places(
            table, overwrite=True, inputs=(table,)
        ),
        "no folder": lambda: check_places(none, overwrite=True),
        "a folder": lambda: check_places(folder / "folder.csv", overwrite=True),
        "a file that is there": lambda: check_places(table, overwrite=False),
        "a name too long": lambda: check_places(
            folder / ("x" * 300), folder / "b.csv", overwrite=True
        ),
        "a file in place of a folder": lambda: make_folder(table),
        "no name": lambda: ReleaseFiles.of_table(Path("/")),
        **releases(folder, table),
    }[case]()


def releases(folder, table):
    """What is refused of the places of a release, as `do_refused`."""

    def of_another():
        for end in ("manifest.json", "private.csv"):
            (folder / f"t.{end}").touch()
        ReleaseFiles.of_table(folder / "t.parquet").check(overwrite=True)

    def stays():
        (folder / "t.private.csv").touch()
        ReleaseFiles.of_table(table, folder / "folder.csv").check(overwrite=True)

    def two():
        (folder / "u.csv").touch()
        check_places(table, folder / "u.csv", overwrite=False)

    def two_odd():
        (folder / "link.csv").symlink_to(table)
        check_places(folder / "folder.csv", folder / "link.csv", overwrite=True)

    return {
        "the table that was masked": lambda: ReleaseFiles.of_table(table).check(
            overwrite=True, masked=compute_sha256(table)
        ),
        "manifest and key of another table": of_another,
        "a key that would stay beside": stays,
        "two files that are there": two,
        "two that are no plain files": two_odd,
    }


@pytest.mark.parametrize(
    "case",
    [
        "the input itself",
        "no folder",
        "a folder",
        "a file that is there",
        "a name too long",
        "a file in place of a folder",
        "no name",
        "the table that was masked",
        "manifest and key of another table",
        "a key that would stay beside",
        "two files that are there",
        "two that are no plain files",
    ],
)
def test_a_place_is_refused_in_full(tmp_path, case):
    with refused(AggoptError):
        do_refused(tmp_path, case)


def test_folders_are_made_with_those_above_and_once(tmp_path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


# --- a second look


@pytest.fixture
def written(tmp_path):
    """A release and the table that it was made from, in files."""
    people().to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", job())
    return release, release.write(tmp_path / "masked.csv")


def looked(files, table="people.csv", **how):
    return assess_release(files.table.with_name(table), files.table, job(), **how)


def test_a_second_look_in_the_same_order_needs_no_key(written):
    release, files = written
    ordered = release.masked.frame.to_pandas().to_csv(index=False)
    files.table.write_text(ordered)
    files.manifest.unlink()
    files.private.write_text("a key of another table\n")
    again = looked(files, same_order=True)
    assert again.measures.sse == release.measures.sse
    assert again.to_dict() == {
        "audit": again.audit.to_dict(),
        "measures": again.measures.to_dict(),
        "warning": None,
    }


def spoil(files, case):
    if case == "another number of records":
        people(39).to_csv(files.table.with_name("people.csv"), index=False)
        return
    if case == "no key":
        files.private.unlink()
    if case == "another file than the manifest's":
        return files.table.write_bytes(files.table.read_bytes() + b"\n")
    files.manifest.unlink()
    if case == "a key of another column":
        files.private.write_text("place\n0\n")
    if case == "a key that is no table":
        files.private.write_bytes(b"")
    if case == "a key of fewer records":
        files.private.write_text("released_record\n0\n")


@pytest.mark.parametrize(
    "case",
    [
        "another number of records",
        "no key",
        "another file than the manifest's",
        "a key of another column",
        "a key that is no table",
        "a key of fewer records",
    ],
)
def test_files_that_do_not_belong_together_are_refused_in_full(written, case):
    _, files = written
    spoil(files, case)
    with refused(AggoptError):
        looked(files)


def test_a_second_look_reads_the_decimal_comma(tmp_path):
    comma = {"separator": ";", "decimal": ","}
    asked = promising(t=0.3, repair="merge", input=comma)
    salaried().to_csv(tmp_path / "people.csv", index=False, sep=";", decimal=",")
    release = aggopt.mask(tmp_path / "people.csv", asked)
    files = release.write(tmp_path / "masked.csv")
    assert (
        assess_release(tmp_path / "people.csv", files.table, asked).audit
        == release.audit
    )


def test_an_audit_shows_in_a_notebook_what_it_says():
    roles = Roles(**{"quasi-identifier": ["age"], "other": ["name"]})
    shown = audit_release(people(4).assign(age=1), roles, Privacy(k=3))
    html = shown._repr_html_()
    assert ">Audit<" in html
    assert "k = 3 holds, but 4 of 4 records are unique with &#x27;name&#x27;" in html
    assert "(other) differs in every record" in html


PAID = Roles(**{"quasi-identifier": ["age"], "confidential": ["pay"]})


def test_an_audit_counts_what_is_promised_of_confidential_values():
    table = pd.DataFrame({"age": [1, 1, 2, 2], "pay": ["1.5", "2", "3", "3"]})
    kept = audit_release(table, PAID, Privacy(k=2, t=0.9, repair="merge")).promises
    assert [(each.attribute, each.holds, each.groups) for each in kept] == [
        ("pay", True, 2)
    ]
    found = audit_release(table, PAID, Privacy(k=2, l=2, repair="merge"))
    assert [each.found for each in found.promises] == [1]
    assert not found.holds


def test_the_warning_of_a_broken_block_ends_with_its_counts():
    both = found(scope="blocks")
    assert both.warning.endswith("3 of 3 records are unique.")


def test_an_audit_refuses_blocks_that_leave_an_attribute_out():
    table = pd.DataFrame({"age": [1, 1], "pay": [2, 2]})
    roles = Roles(**{"quasi-identifier": ["age", "pay"]})
    with refused(AggoptError, "quasi-identifier") as error:
        audit_release(table, roles, Privacy(k=2), [["age"]])
    assert "None" not in str(error.value)
