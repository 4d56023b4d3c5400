"""Files in other encodings than UTF-8: read, written, or refused by their bytes."""

import pandas as pd
import pyarrow.parquet as pq
import pytest
from refusals import refused

import aggopt
from aggopt.data.readers.read import read_as_text
from aggopt.engine.convert import convert
from aggopt.errors import JobError, TableError
from aggopt.inspection.draft import propose_job
from aggopt.job import Input
from aggopt.pipeline.review.review_release import assess_release

TOWNS = ["Köln", "Münster", "Orléans", "Århus"]
ROLES = {"quasi-identifier": ["town", "größe"], "other": ["note"]}


def frame(n=40, sign="é"):
    return pd.DataFrame(
        {
            "town": [TOWNS[i % 4] for i in range(n)],
            "größe": [150 + i for i in range(n)],
            "note": [sign * 3] * n,
        }
    )


def job(**sections):
    return aggopt.Job(roles=ROLES, privacy={"k": 4}, **sections)


@pytest.mark.parametrize(
    ("encoding", "sign"), [("cp1252", "€"), ("latin-1", "é"), ("utf-8", "Ж")]
)
def test_a_file_is_read_in_its_encoding_and_the_release_is_utf_8(
    tmp_path, encoding, sign
):
    path = tmp_path / "in.csv"
    frame(sign=sign).to_csv(path, index=False, encoding=encoding)
    assert read_as_text(path, Input(encoding=encoding))["note"][0].as_py() == sign * 3
    release = aggopt.mask(path, job(input={"encoding": encoding}), secret="0" * 32)
    release.write(tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv", encoding="utf-8")
    assert set(out["town"]) <= set(TOWNS)
    assert list(out.columns) == ["town", "größe", "note"]
    known = aggopt.mask(frame(sign=sign), job(), secret="0" * 32)
    assert sorted(out["town"]) == sorted(known.table["town"])
    again = job(input={"encoding": encoding})
    assert assess_release(path, tmp_path / "out.csv", again).audit.holds


def test_a_release_is_written_and_audited_in_the_encoding_of_the_output(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    frame(sign="€").to_csv(path, index=False, encoding="cp1252")
    how = job(input={"encoding": "cp1252"}, output={"encoding": "cp1252"})
    written = aggopt.mask(path, how).write(out)
    assert written.table == out
    assert "Köln".encode("cp1252") in out.read_bytes()
    with pytest.raises(UnicodeDecodeError):
        out.read_text("utf-8")
    assert assess_release(path, out, how).audit.holds


def test_letters_that_the_output_has_not_are_counted_and_nothing_is_written(tmp_path):
    out = tmp_path / "out.csv"
    with refused(TableError, "'note'", "40") as error:
        aggopt.mask(frame(sign="Ж"), job(output={"encoding": "cp1252"})).write(out)
    assert "Ж" not in str(error.value)
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("a,b\n1,ö\n".encode("latin-1"), "utf-8"),
        ("a,b\n1,x\n".encode("utf-16"), "utf-8"),
        ("a,b\n1,x\n".encode("utf-16"), "cp1252"),
        ("a,b\n1,ö\n".encode(), "cp1252"),
        ("a,b\n1,x\n".encode("utf-8-sig"), "latin-1"),
        ("a,b\n1,€\n".encode("cp1252"), "latin-1"),
        (b"a,b\n1,\x81\n", "cp1252"),
    ],
)
def test_bytes_of_another_encoding_are_refused(tmp_path, content, encoding):
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with refused(TableError):
        read_as_text(path, Input(encoding=encoding))


def test_ascii_is_read_alike_in_all_encodings(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n1,x\n")
    known = read_as_text(path, Input())
    for encoding in ("cp1252", "latin-1"):
        assert read_as_text(path, Input(encoding=encoding)).equals(known)


def test_an_entry_of_many_letters_is_read_whole(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b\n1," + "€" * 3_000_000 + "\n", encoding="cp1252")
    found = read_as_text(path, Input(encoding="cp1252"))
    assert found["b"][0].as_py() == "€" * 3_000_000


def test_init_writes_the_encoding_that_it_is_given(tmp_path):
    path = tmp_path / "in.csv"
    frame().to_csv(path, index=False, encoding="cp1252")
    with refused(TableError):
        propose_job(path, tmp_path / "job.toml")
    made = propose_job(path, tmp_path / "job.toml", encoding="cp1252")
    assert 'encoding = "cp1252"' in made.text
    with refused(JobError, "encoding"):
        propose_job(path, tmp_path / "job.toml", encoding="ebcdic")


def test_convert_reads_an_encoding_in_blocks(tmp_path):
    path = tmp_path / "in.csv"
    frame(400).to_csv(path, index=False, encoding="cp1252")
    made = convert(path, tmp_path / "parts", encoding="cp1252")
    assert pq.read_table(made.path / made.files[0])["town"][0].as_py() == "Köln"
    with refused(JobError, "beside it encoding"):
        convert(path, tmp_path / "new", job=job(), encoding="cp1252")
