"""A release: what it shows, the order of its file, what is recounted of it."""

import html
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import JobError, PrivacyError, TableError
from aggopt.release.audit.audit import recount_file

ONE = {"quasi-identifier": ["x"]}
EIGHT = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6, 7, 8]})


@pytest.fixture(scope="module")
def release():
    """A release with notes."""
    return aggopt.mask(people().assign(age=44), job())


def test_text_and_notebook_show_the_same_in_the_same_order(release) -> None:
    verdict, certificates, notes = repr(release).split("\n\n")
    assert verdict == str(release.audit)
    assert [line.split("  ")[0] for line in certificates.splitlines()[1:]] == [
        "groups of age, income",
        "age",
        "income",
    ]
    assert notes == f"{len(release.notes)} notes: see .notes."
    shown = html.unescape(release._repr_html_())
    parts = [
        "<strong>Release</strong>",
        f"<pre>{verdict}</pre>",
        "<table>",
        "groups of age, income",
        *(f"<li>{note}</li>" for note in release.notes),
        f"<details><summary>Measures</summary><pre>{release.measures}</pre>",
        f"<details><summary>Job</summary><pre>{release.job.to_toml()}</pre>",
    ]
    places = [shown.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_the_order_of_secret_seed_and_table_stays_from_version_to_version(
    tmp_path,
) -> None:
    asked = {"privacy": {"k": 2}, "partition": {"method": "mdav"}}
    seeded = aggopt.Job(roles=ONE, output={"seed": 7}, **asked)
    orders = []
    for secret in ("0" * 32, "1" * 32):
        release = aggopt.mask(EIGHT, seeded, secret=secret)
        files = release.write(tmp_path / f"{secret}.csv")
        orders.append(pd.read_csv(files.private)["released_record"].tolist())
    assert orders[0] == [2, 1, 7, 5, 3, 0, 4, 6]  # or a repetition would fail
    assert orders[1] != orders[0]


def test_what_is_there_stays_unless_asked(tmp_path, release) -> None:
    (tmp_path / "masked.csv").write_text("theirs")
    with refused(TableError, "masked.csv"):
        release.write(tmp_path / "masked.csv")
    with (
        pytest.raises(TableError, match=r"masked\.csv would be overwritten"),
        release.staged(tmp_path / "masked.csv") as commit,
    ):
        commit()
    assert (tmp_path / "masked.csv").read_text() == "theirs"


def test_the_table_is_for_all_that_may_read_the_folder(tmp_path, release) -> None:
    files = release.write(tmp_path / "masked.csv")
    (tmp_path / "plain").touch()
    modes = [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()]
    assert sorted(modes)[:2] == [0o600, 0o600]
    assert files.table.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("text", ["age,income,illness,note\n1,2,flu,x\n", "", "\x00"])
def test_a_file_that_reads_as_other_records_is_refused(tmp_path, text) -> None:
    (tmp_path / "aside.csv").write_text(text)
    with refused(PrivacyError):
        recount_file(tmp_path / "aside.csv", job(), [["age", "income"]], 2)


def test_a_line_break_within_an_entry_is_no_other_record(tmp_path) -> None:
    frame = people().assign(note="two\nlines")
    files = aggopt.mask(frame, job()).write(tmp_path / "masked.csv")
    assert len(pd.read_csv(files.table)) == 40


def test_a_report_is_of_the_release_and_as_asked(release, monkeypatch) -> None:
    asked = []

    def write_report(*of, **how):
        asked.append((of, how))
        return of[1]

    monkeypatch.setattr(
        "aggopt.release.report.release_report.write_report", write_report
    )
    assert release.report("a.html") == "a.html"
    release.report("b.html", private=True, title="Ours", overwrite=True)
    assert [of[1:] for of, _ in asked] == [("a.html",), ("b.html",)]
    assert all(of[0] is release for of, _ in asked)
    with refused(JobError, "originals"):
        release.report("c.html", originals="people.csv")
    assert len(asked) == 2
    assert [how for _, how in asked] == [
        {"private": False, "title": None, "overwrite": False},
        {"private": True, "title": "Ours", "overwrite": True},
    ]


def test_a_release_without_measures_shows_none(release) -> None:
    assert "Measures" not in replace(release, measures=None)._repr_html_()


def test_a_notebook_shortens_names_of_many_attributes():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(20, 60))).add_prefix("attribute ")
    job = aggopt.Job(
        roles={"quasi-identifier": list(wide)},
        privacy={"k": 5},
        partition={"method": "mdav"},
    )
    release = aggopt.mask(wide, job)
    assert max(map(len, repr(release).splitlines())) < 200
    table = html.unescape(release._repr_html_()).split("<details")[0]
    assert "attribute 0, attribute 1" in table
    assert "attribute 4, attribute 5" not in table
