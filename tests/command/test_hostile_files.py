"""Files that are made to break what reads them end in an error that says why."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import ROLES_AND_K, people

NESTED = {
    "brackets": "a = " + "[" * 20_000 + "]" * 20_000,
    "tables": "a = " + "{a=" * 20_000 + "1" + "}" * 20_000,
    "dotted": "[" + "a." * 20_000 + "a]\nb = 1",
}
JOB = '[roles]\nquasi-identifier = ["age", "income"]\n[privacy]\nk = 3\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table, a job, and links to themselves, as working directory."""
    monkeypatch.chdir(tmp_path)
    people()[["age", "income"]].to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    for name in ("loop.csv", "loop.toml", "loop.py"):
        (tmp_path / name).symlink_to(name)
    return tmp_path


@pytest.mark.parametrize("text", NESTED.values(), ids=list(NESTED))
@pytest.mark.parametrize("command", ["mask", "check", "sweep"])
def test_tables_within_tables_without_end_are_no_job(here, aggopt, text, command):
    (here / "deep.toml").write_text(text)
    more = ["--out", "masked.csv"] if command == "mask" else []
    code, out, err = aggopt(command, "people.csv", "deep.toml", *more)
    assert code == 2
    assert "more than 100 levels deep" in out + err


LOOPS = [
    ("mask", "loop.csv", "job.toml", "--out", "masked.csv"),
    ("mask", "people.csv", "loop.toml", "--out", "masked.csv"),
    ("mask", "people.csv", "job.toml", "--out", "loop.csv"),
    ("mask", "people.csv", "job.toml", "--out", "masked.csv", "--trust", "loop.py"),
    ("check", "loop.csv", "job.toml"),
    ("init", "loop.csv", "--out", "new.toml"),
    ("init", "people.csv", "--out", "loop.toml"),
    ("report", "people.csv", "loop.csv", "job.toml", "--out", "page.html"),
]


@pytest.mark.parametrize("words", LOOPS, ids=" ".join)
def test_a_link_to_itself_is_refused_by_name(here, aggopt, words):
    code, out, err = aggopt(*words)
    assert code == 2
    assert "loop." in out + err
    assert "Internal error" not in out + err
    assert not list(here.glob("masked*"))


def test_a_margin_wider_than_any_table_is_refused(here, aggopt):
    (here / "job.toml").write_text(
        f'{JOB}[aggregation]\nmethod = "p3m"\nmargin = 1e12\n'
    )
    code, _, err = aggopt("mask", "people.csv", "job.toml", "--out", "masked.csv")
    assert code == 2
    assert "write a number of at most 100.0" in err


def test_too_little_memory_is_said_and_no_defect(here, aggopt, monkeypatch):
    def too_much(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 480000000 failed: Ms Secret")

    people()[["age", "income"]].to_parquet("people.parquet")
    monkeypatch.setattr("pyarrow.parquet.read_table", too_much)
    words = ("mask", "people.parquet", "job.toml", "--out", "masked.csv")
    code, _, err = aggopt(*words)
    assert code == 3
    assert "There is not enough memory" in err
    assert 'name = "local"' in err
    assert "Secret" not in err


@pytest.mark.parametrize("command", ["mask", "check", "risk"])
@pytest.mark.parametrize("table", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("left", [1, 4_000])
def test_a_table_that_does_not_fit_is_refused_before_the_work(
    here, aggopt, monkeypatch, no_work, command, table, left
):
    people()[["age", "income"]].to_parquet("people.parquet")
    monkeypatch.setattr("aggopt.core.memory.find_available_memory", lambda: left)
    more = ["--out", "masked.csv"] if command == "mask" else []
    code, out, err = aggopt(command, table, "job.toml", *more)
    assert (code, out) == (3, "")
    seen = f"The table in {table}" if left == 1 else "A table of 40 records with 2"
    assert f"Error: {seen}" in err
    assert "of memory, and" in err
    assert "`aggopt convert`" in err
    assert not list(here.glob("masked*"))


def test_groups_that_do_not_fit_are_refused_before_the_work(
    here, aggopt, monkeypatch, no_work
):
    (here / "job.toml").write_text(f'{JOB}[partition]\nmethod = "blocked"\n')
    monkeypatch.setattr("aggopt.core.memory.find_available_memory", lambda: 20_000)
    code, _, err = aggopt("mask", "people.csv", "job.toml", "--out", "masked.csv")
    assert code == 3
    assert "A table of 40 records with 2 quasi-identifiers needs about 28.9 KiB" in err


def test_init_and_convert_need_no_memory_for_the_whole_table(here, aggopt, monkeypatch):
    monkeypatch.setattr("aggopt.data.readers.read.MOST", 20)
    monkeypatch.setattr("aggopt.data.readers.read.RUN", 10)
    monkeypatch.setattr("aggopt.core.memory.find_available_memory", lambda: 1)
    assert aggopt("init", "people.csv", "--out", "new.toml")[0] == 0
    assert aggopt("convert", "people.csv", "made")[0] == 0


def test_init_refuses_a_table_of_too_many_columns_at_once(here, aggopt):
    names = ",".join(f"x{j}" for j in range(2_001))
    (here / "wide.csv").write_text(f"{names}\n{','.join(['1'] * 2_001)}\n")
    code, _, err = aggopt("init", "wide.csv", "--out", "new.toml")
    assert code == 2
    assert "has 2001 columns, and init looks at 2000 at most" in err
    assert not (here / "new.toml").exists()


@pytest.mark.parametrize(("name", "noted"), [("m.csv", True), ("m.parquet", False)])
def test_formulas_of_a_spreadsheet_are_noted_of_a_csv_file_alone(
    here, aggopt, name, noted
):
    people().assign(note="=HYPERLINK(A1)").to_csv("people.csv", index=False)
    (here / "job.toml").write_text(ROLES_AND_K)
    code, out, _ = aggopt("mask", "people.csv", "job.toml", "--out", name)
    assert code == 0
    manifest = (here / "m.manifest.json").read_text()
    note = "'note': 40 entries may be run as a formula by a spreadsheet"
    assert (note in " ".join(out.split())) == (note in manifest) == noted
    assert "HYPERLINK" not in out + manifest


@pytest.mark.parametrize("command", ["mask", "check", "init"])
@pytest.mark.parametrize("bomb", ["cell", "records", "dictionary", "prefix"])
def test_a_parquet_file_that_unpacks_to_far_more_is_not_read(
    here, aggopt, command, bomb, monkeypatch
):
    monkeypatch.setattr("aggopt.data.formats.parquet.SMALL", 2**20)
    n, length = {"cell": (3, 2**23), "records": (2**20, 0)}.get(bomb, (2**13, 2**11))
    text = "Secret" + "x" * length
    entries = [text] * 3 if bomb == "cell" else pa.repeat(text, n)
    table = pa.table({"age": pa.repeat(1.0, n), "income": entries})
    how = {"use_dictionary": False, "column_encoding": {"income": "DELTA_BYTE_ARRAY"}}
    how = how if bomb == "prefix" else {}
    pq.write_table(table, "bomb.parquet", compression="zstd", **how)
    more = {"mask": ["job.toml", "--out", "m.csv"], "check": ["job.toml"]}
    code, out, err = aggopt(
        command, "bomb.parquet", *more.get(command, ["--out", "new.toml"])
    )
    assert code == 2
    assert "times as much: no table unpacks to more than 1000 times" in out + err
    assert "Secret" not in out + err
    assert not (here / "m.csv").exists()


def test_a_parquet_file_of_long_words_that_few_records_have_is_read(
    here, aggopt, monkeypatch
):
    monkeypatch.setattr("aggopt.data.formats.parquet.SMALL", 2**20)
    frame = pa.Table.from_pandas(people()[["age", "income"]])
    words = ["x" * 60_000] + ["short"] * (len(frame) - 1)
    pq.write_table(frame.append_column("note", [words]), "long.parquet")
    (here / "job.toml").write_text(
        JOB.replace("[privacy]", 'other = ["note"]\n[privacy]')
    )
    code, _, err = aggopt("mask", "long.parquet", "job.toml", "--out", "m.parquet")
    assert (code, err) == (0, "")
