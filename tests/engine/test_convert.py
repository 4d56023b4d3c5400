"""CSV files become Parquet files: what `mask` would read, whatever their size."""

import json
import re
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract_rows import rows_of
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt.core import stale_files as leftovers
from aggopt.data.formats import csv as csv_text
from aggopt.data.parsing.parse_text import MISSING
from aggopt.data.readers.read import read_file
from aggopt.engine import convert as module
from aggopt.engine.column_plan import ColumnText
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.errors import AggoptError, JobError, TableError
from aggopt.job import Input, Job

ANYHOW = Input(separator=";")
NUMBERS = tuple(str(i) for i in range(40))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of a few records, so that there are several."""
    monkeypatch.setattr(csv_text, "BLOCK", 64)


def put(folder, *entries, header="id,age", name="in.csv"):
    """Write a CSV file of entries of a second column."""
    lines = [f"r{i},{entry}" for i, entry in enumerate(entries)]
    (folder / name).write_text("\n".join([header, *lines, ""]))
    return folder / name


def job(**attributes):
    """Return a job that masks the second column."""
    roles = {"identifier": ["id"], "quasi-identifier": ["age"]}
    return Job(roles=roles, privacy={"k": 3}, attributes=attributes)


def parts(folder):
    """Return all files of a folder as one table."""
    return pa.concat_tables(map(pq.read_table, sorted(folder.glob("*.parquet"))))


@pytest.mark.parametrize(
    ("entries", "how", "noted"),
    [
        (["01", "2"], {"job": job()}, True),
        (["1", "2"], {"job": job()}, False),
        (["01", "2"], {"job": job(age={"kind": "nominal"})}, False),
        (["01", "2"], {"numbers": ["age"]}, False),
    ],
    ids=["codes", "numbers", "names", "numbers by their name"],
)
def test_codes_that_the_job_masks_as_numbers_are_noted(tmp_path, entries, how, noted):
    found = aggopt.convert(put(tmp_path, *entries), tmp_path / "out", **how)
    assert any("as the job masks it" in note for note in found.notes) is noted


ENTRIES = {
    "numbers": ("1", "-20", "3"),
    "numbers with blanks around": (" 1", "2 ", "\t3"),
    "fractions last": ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10.5"),
    "signs in front": ("+1", "2"),
    "zeros in front": ("01", "2"),
    "powers and infinities": ("1e3", "inf", "-Infinity"),
    "missing": ("1", "NA", "", "2"),
    "nothing": ("", "NA"),
    "TRUE": ("TRUE", "FALSE", "TRUE"),
    "true, some missing": ("true", "", "false"),
    "names": ("a", "b", " a"),
    "names and missing": ("a", "null"),
}
OF_NAMES = [("names", "numeric"), ("names and missing", "numeric")]
READ = [
    pytest.param(entries, kind, id=f"{entries}, {kind or 'nothing said'}")
    for kind in (None, "numeric", "nominal", "date")
    for entries in ENTRIES
    if (entries, kind) not in OF_NAMES
]


@pytest.mark.parametrize(("entries", "kind"), READ)
def test_a_masked_column_is_what_mask_reads(tmp_path, entries, kind):
    path = put(tmp_path, *ENTRIES[entries])
    asked = job() if kind is None else job(age={"kind": kind})
    aggopt.convert(path, tmp_path / "out", job=asked)
    expected = read_file(path, asked.roles, asked.input, asked.attributes)["age"]
    found = parts(tmp_path / "out")["age"]
    assert found.type == expected.type
    assert found.to_pylist() == expected.to_pylist()


UNREADABLE = {
    "a number beyond all floats": ["1e400", "2", "1" * 310],
    "a word among numbers": ["1", "x", "2", "3", "y"],
    "truth values in two ways": ["true", "TRUE"],
    "a truth value among names": ["a", "b", "c", "true"],
}


@pytest.mark.parametrize("entries", UNREADABLE)
def test_a_masked_column_that_mask_refuses_is_refused_in_its_words(
    tmp_path, entries, monkeypatch
):
    monkeypatch.setattr(csv_text, "BLOCK", 1024)  # a record lies in one
    path, asked = put(tmp_path, *UNREADABLE[entries]), job()
    with pytest.raises(TableError) as by_mask:
        read_file(path, asked.roles, asked.input)
    with pytest.raises(TableError) as error:
        aggopt.convert(path, tmp_path / "out", job=asked)
    assert error.value.problem == by_mask.value.problem
    assert error.value.fix == by_mask.value.fix
    assert sorted(tmp_path.iterdir()) == [path]


SPELT = st.sampled_from(
    [
        *MISSING,
        "1",
        "-7",
        "+1",
        "007",
        "1.5",
        "1.50",
        " 1",
        "1,5",
        "1e5",
        "1e+05",
        "100000",
        "x",
        "true",
        "TRUE",
        "False",
    ]
)


@examples(30)
@given(st.lists(SPELT, max_size=8), st.integers(0, 8), st.sampled_from(".,"))
def test_what_blocks_spell_adds_up_to_what_all_spell(entries, cut, decimal):
    how = Input(separator=";", decimal=decimal)
    both = text_of(entries[:cut], how) + text_of(entries[cut:], how)
    all_ = text_of(entries, how)
    kinds = ("present", "words", "truth", "wordy", "mixed", "type", "type_of_names")
    for name in kinds:
        assert getattr(both.spelling, name) == getattr(all_.spelling, name)
    assert (both.type, both.type_as_it_is) == (all_.type, all_.type_as_it_is)
    assert both.other == all_.other


def text_of(entries, how=ANYHOW):
    """Return what entries spell."""
    return ColumnText.of(pa.chunked_array([pa.array(entries, pa.string())]), how)


COME_BACK = {
    "with the fewest digits": "1 2.5 -0.25 100000",
    "as Python has floats": "1.0 2.5 0.30000000000000004 1e-05 1e+16 inf",
    "as C has them": "1 2.5 0.0001 1.5e-07",
    "as R has them": "99999 1e+05 1.5e+08 1e-04 0.00012 -2.5e-05",
    "with two decimals": "1.50 2.25 0.00 -0.10",
    "with ten decimals, some small": "0.0000000012 0.5000000000",
    "powers that Python has and R has not": "1e-05 0.0001",
}
CODES = {
    "zeros at the end of some": "250.1 250.10",
    "powers without a sign": "1E5 10E4",
    "a power in small letters without a sign": "1e5 2.5",
    "zeros in front": "01 2",
    "a sign in front": "+1 2",
    "no zero before the point": ".5 2.5",
    "a point at the end": "1. 2.5",
    "whole numbers in two ways": "1.0 1 2",
    "negative zero": "-0 1",
    "negative zero with decimals": "-0.00 1.00",
    "a power beside its number": "1e+05 100000",
    "a small power beside its number": "1e-05 0.00001",
    "a power that R has beside a number that C has": "0.0001 1e+05",
    "a power that both write out": "1e+03 2.5",
    "a power with a longer mantissa than it needs": "1.50e-07 2.5",
    "a power of three digits that needs two": "1e-007 2.5",
    "more digits than a float has": "0.12345678901234567891 0.5",
    "18 digits beside a fraction": "123456789012345678 0.5",
    "beyond all floats": "1e+400 2.5",
    "infinity in capitals": "INF 2.5",
}


@pytest.mark.parametrize("style", COME_BACK)
def test_numbers_in_one_style_are_numbers(style):
    entries = COME_BACK[style].split()
    assert text_of(entries).type == pa.float64()
    assert all(text_of([one]).comes_back for one in entries)


@pytest.mark.parametrize("why", CODES)
def test_entries_that_do_not_come_back_stay_text(tmp_path, why):
    entries = CODES[why].split()
    aggopt.convert(put(tmp_path, *entries), tmp_path / "out")
    assert parts(tmp_path / "out")["age"].to_pylist() == entries


def test_whole_numbers_in_one_style_are_whole():
    assert text_of(["1", "-20", " NA "]).type == pa.int64()
    assert text_of(["1", "-20", "03"]).type == pa.string()


@pytest.mark.parametrize(
    ("entries", "how", "noted"),
    [
        (["1,5", "2", ""], {}, 1),
        (["1.234,5", "2,5"], {}, 0),
        (["x", "2,5"], {}, 0),
        (["x", "y"], {}, 0),
        (["1,5", "-2,5"], {"job": job(age={"kind": "nominal"})}, 0),
    ],
    ids=["all", "thousands", "words", "words alone", "names by the job"],
)
def test_numbers_by_the_other_decimal_point_are_noted(tmp_path, entries, how, noted):
    path = put(tmp_path, *(f'"{entry}"' for entry in entries))
    column = aggopt.convert(path, tmp_path / "out", **how).columns[1]
    assert (column.type, column.other_point) == ("text", noted)


@pytest.mark.parametrize("entry", [" 1", "1 ", " 1.5", "true\t"])
def test_blanks_around_are_not_dropped(entry):
    text = text_of([entry.strip()]) + text_of([entry])
    assert text_of([entry.strip()]).type != text.type == pa.string()
    assert text_of([" x", entry[:0]]).comes_back


DIGITS = st.from_regex(r"-?[0-9]{0,3}[.]?[0-9]{0,2}(e[+-]?0?[0-6])?", fullmatch=True)
FLOATS = st.floats(allow_nan=False).map(repr) | st.integers(-(10**7), 10**7).map(str)


@examples(60)
@given(st.lists(DIGITS | FLOATS, min_size=1, max_size=4))
def test_no_two_entries_become_one_number(entries):
    text = text_of(entries)
    there = [entry for entry in entries if entry not in MISSING]
    if not pa.types.is_string(text.type):
        column = pa.chunked_array([pa.array(there, pa.string())])
        numbers = text.spelling.read(column, text.type, ANYHOW).to_pylist()
        assert len(set(map(str, numbers))) == len(set(numbers)) == len(set(there))


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@examples(30)
@given(st.lists(FINITE.map(lambda number: repr(number + 0.0)), min_size=1))
def test_what_python_writes_of_floats_is_numbers(entries):
    assert text_of(entries).type == pa.float64()


KEPT = {
    "codes": ["250.1", "250.10", "250.1"],
    "words for what is missing": ["NA", "x", ""],
    "two words for what is missing": ["1", "NA", ""],
    "blanks around": ["1", " 1", "2"],
    "truth with blanks around": ["true", " true"],
}


@pytest.mark.parametrize("what", KEPT)
@pytest.mark.parametrize("role", ["confidential", "other", "stratum"])
def test_what_is_published_as_it_is_stays_as_mask_reads_it(tmp_path, what, role):
    path = put(
        tmp_path, *(f"{i},{e}" for i, e in enumerate(KEPT[what])), header="id,age,code"
    )
    roles = {"identifier": ["id"], "quasi-identifier": ["age"], role: ["code"]}
    asked = Job(roles=roles, privacy={"k": 3})
    made = aggopt.convert(path, tmp_path / "out", job=asked)
    found = parts(tmp_path / "out")["code"]
    in_memory = read_file(path, asked.roles, asked.input)["code"].to_pylist()
    assert found.fill_null("").to_pylist() == in_memory == KEPT[what]
    empty = 0 if role == "stratum" else KEPT[what].count("")
    assert made.columns[2].missing == found.null_count == empty


def test_what_is_published_as_it_is_may_be_numbers_that_come_back(tmp_path):
    path = put(tmp_path, "1,2.50", "2,NA", "3,0.25", header="id,age,pay")
    roles = {"identifier": ["id"], "quasi-identifier": ["age"], "other": ["pay"]}
    made = aggopt.convert(
        path, tmp_path / "out", job=Job(roles=roles, privacy={"k": 3})
    )
    assert parts(tmp_path / "out")["pay"].to_pylist() == [2.5, None, 0.25]
    assert str(made.columns[2]) == "'pay': numbers, 1 missing"


def test_numbers_may_be_said_to_be_such(tmp_path, monkeypatch, aggopt):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "250.1", "250.10", "1E5")
    code, told, _ = aggopt("convert", "in.csv", "out", "--numbers", "age")
    assert (code, "'age': numbers" in told, "Note" in told) == (0, True, False)
    assert parts(tmp_path / "out")["age"].to_pylist() == [250.1, 250.1, 1e5]


def test_what_a_killed_run_has_left_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "_is_alive", lambda pid, born: False)
    own = leftovers.make_folder_prefix()
    for name in (f"{own}1-appearing", f"{own}2"):
        (tmp_path / name).mkdir()
    path = put(tmp_path, *NUMBERS)
    aggopt.convert(path, tmp_path / "out")
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == sorted([f"{own}2", path.name, "out"])


def test_records_keep_their_order_over_files_and_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART", 15)
    monkeypatch.setattr(module, "GROUP", 1)
    put(tmp_path, *NUMBERS, name="b.csv")
    put(tmp_path, "-3", "-2", "-1", name="a.csv")
    told = []
    made = aggopt.convert(
        tmp_path, tmp_path / "out", progress=lambda *step: told.append(step)
    )
    assert len(made.files) > 2
    assert list(made.files) == sorted(p.name for p in (tmp_path / "out").iterdir())
    rows = [pq.read_metadata(tmp_path / "out" / f).num_rows for f in made.files]
    assert min(rows[:-1]) >= 15 > max(rows) - 15
    assert parts(tmp_path / "out")["age"].to_pylist() == [-3, -2, -1, *range(40)]
    assert list(dict.fromkeys(step for step, _ in told)) == ["check", "types", "write"]
    assert told[-1] == ("write", 1.0)


def test_what_is_written_is_for_its_owner_alone(tmp_path):
    aggopt.convert(put(tmp_path, *NUMBERS), tmp_path / "out")
    modes = [path.stat().st_mode for path in (tmp_path / "out").iterdir()]
    assert {stat.S_IMODE(mode) for mode in modes} == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


@pytest.mark.parametrize("step", ["check", "types", "write"])
def test_an_interrupt_leaves_nothing(tmp_path, step):
    def stop(name, share):
        if name == step and share > 0:
            raise KeyboardInterrupt

    paths = put(tmp_path, "1", "2"), put(tmp_path, "3", "4", name="more.csv")
    with pytest.raises(KeyboardInterrupt):
        aggopt.convert(tmp_path, tmp_path / "out", progress=stop)
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_full_disk_leaves_nothing_and_is_said(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    path = put(tmp_path, "1", "2")
    monkeypatch.setattr(module, "write_atomically", full)
    with refused(TableError):
        aggopt.convert(path, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == [path]


def test_an_engine_masks_what_was_converted(tmp_path):
    lines = [f"p{i};{i % 9};{i * i % 50},5" for i in range(60)]
    (tmp_path / "in.csv").write_text("\n".join(["name;age;income", *lines]))
    made = aggopt.convert(tmp_path / "in.csv", tmp_path / "in")
    assert (made.separator, made.decimal) == (";", ",")
    roles = {"identifier": ["name"], "quasi-identifier": ["age", "income"]}
    asked = Job(roles=roles, privacy={"k": 3}, engine={"name": "local", "block": 60})
    release = aggopt.mask(made.path, asked, out=tmp_path / "out")
    assert (release.audit.records, release.audit.holds) == (60, True)


def test_the_command_says_what_columns_became(tmp_path, monkeypatch, aggopt):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, *NUMBERS[:-1], "x")
    code, told, _ = aggopt("convert", "in.csv", "out")
    assert code == 0
    assert told.splitlines() == [
        "40 records, 2 columns, in 1 file",
        "  'id': text",
        "  'age': text",
        "Note: 'age' is text: 1 of 40 entries is no number.",
        "out holds the originals: keep it to yourself.",
    ]
    code, told, _ = aggopt("convert", "in.csv", "again", "--json")
    found = json.loads(told)
    assert (code, found["path"], found["records"]) == (0, "again", 40)
    assert found["columns"][1] == {
        "name": "age",
        "type": "text",
        "missing": 0,
        "words": 1,
        "coded": False,
        "respelled": False,
        "other_point": 0,
    }


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK", 2**10)
    monkeypatch.setattr(module, "GROUP", 2**14)

    def most(n):
        path = put(tmp_path, *range(n), name=f"{n}.csv")
        held = []
        aggopt.convert(
            path,
            tmp_path / f"out-{n}",
            progress=lambda *_: held.append(pa.total_allocated_bytes()),
        )
        return max(held) - held[0]

    few, many = most(3000), most(9000)
    assert many < 1.3 * few


# what comes in, row by row of docs/input-folders.md

TWO = [*NUMBERS[:2], '"a\nb"']


def several(**other):
    def case(folder):
        put(folder, *NUMBERS)
        put(folder, "1", name="more.csv", **other)
        return folder

    return case


def raw(data):
    def case(folder):
        (folder / "in.csv").write_bytes(data)
        return folder / "in.csv"

    return case


def taken(folder):
    (folder / "out").mkdir()
    return put(folder, *NUMBERS)


def mixed(folder):
    put(folder, "1")
    (folder / "in.parquet").touch()
    return folder / "in.*"


def no_role(folder):
    return put(folder, *NUMBERS), {
        "job": Job(roles={"quasi-identifier": ["id"]}, privacy={"k": 3})
    }


def entries(*given, **how):
    return lambda folder: (put(folder, *given), how)


CASES = {
    "a CSV file": entries(*NUMBERS),
    "several of one header": several(),
    "a word after all the numbers": entries(*NUMBERS[:-1], "x"),
    "a word after all the numbers, and the job masks them": entries(
        *NUMBERS[:-1], "x", job=job()
    ),
    "codes with zeros in front": entries(*NUMBERS[:-1], "007"),
    "codes with zeros in front, numbers by the job": entries("007", job=job()),
    "codes with zeros at the end": entries("250.1", "250.10"),
    "codes with zeros at the end, declared as numbers": entries(
        "250.1", "250.10", numbers=["age"]
    ),
    "a column declared as numbers that does not exist": entries("1", numbers=["year"]),
    "words in a column declared as numbers": entries("1", "x", numbers=["age"]),
    "a number beyond all floats": entries("1e400", "2.5"),
    "a number beyond all floats, and the job masks it": entries(
        "1e400", "2.5", "-1E+309", job=job()
    ),
    "codes of more than 18 digits": entries(*NUMBERS[:-1], "1" * 19),
    "whole numbers of more than 15 digits, and a fraction": entries("1" * 16, ".5"),
    "whole numbers of 18 digits alone": entries("1" * 18, "1" * 17 + "2"),
    "numbers with blanks around some": entries(*NUMBERS, " 1"),
    "semicolons and decimal commas": raw(b"id;age\na;1,5\nb;2\n"),
    "decimal commas in one column, points in another": raw(
        b"id;age;cm;pay\na;1,5;9,5;1.5\nb;2;1;2.25\n"
    ),
    "truth values spelled TRUE and FALSE": entries("TRUE", "FALSE"),
    "truth values spelled in two ways": entries("TRUE", "false"),
    "dates": entries("2020-12-31", "2021-01-01"),
    "dates that the job masks": entries("2020-12-31", job=job(age={"kind": "date"})),
    "empty entries, NA and their like": entries(*NUMBERS, "", "NA"),
    "nothing in a column": entries(*[""] * 40),
    "lines of unequal length": entries(*NUMBERS, "1,2"),
    "a quote that is never closed": entries(*NUMBERS, '"1'),
    "entries that span lines": entries(*TWO),
    "entries that span lines, with multiline": entries(*TWO, multiline=True),
    "an encoding other than UTF-8": raw(b"id,age\n\xe4,1\n"),
    "duplicate names of columns": raw(b"age,age\n1,2\n"),
    "a column without a name": raw(b"id,\n1,2\n"),
    "names that are numbers": raw(b"id,7\n1,2\n"),
    "files of other headers": several(header="id,year"),
    "files of more columns": lambda folder: (
        (put(folder, "1"), put(folder, "1,2", header="id,age,year", name="more.csv"))[
            0
        ].parent
    ),
    "a header line alone": raw(b"id,age"),
    "a file that is not there": lambda folder: folder / "none.csv",
    "files that are not CSV": mixed,
    "a folder that exists": taken,
    "a column in no role of the job": no_role,
    "a job, and a separator": entries(*NUMBERS, job=job(), separator=","),
    "an impossible separator": entries(*NUMBERS, separator=":"),
    "a record longer than a block": entries(*NUMBERS, "1" * 300),
}


TABLE = rows_of("Conversion of CSV files")


def test_the_document_and_the_tests_list_the_same_inputs():
    assert list(TABLE) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_contract(name, tmp_path):
    outcome, says = TABLE[name]
    found = CASES[name](tmp_path)
    data, how = found if isinstance(found, tuple) else (found, {})
    before = sorted(tmp_path.iterdir())
    if outcome == "refused":
        with pytest.raises(AggoptError, match=re.escape(says)) as error:
            aggopt.convert(data, tmp_path / "out", **how)
        assert isinstance(error.value, JobError | TableError)
        assert sorted(tmp_path.iterdir()) == before
    else:
        assert outcome == "written"
        assert says in str(aggopt.convert(data, tmp_path / "out", **how))
        assert (tmp_path / "out").is_dir()


UNKNOWN = "__HIVE_DEFAULT_PARTITION__"  # of records without a value


def partitioned(folder, **entries):
    """Write a CSV file for each region, which its folder has in its name."""
    for region, ages in entries.items():
        (folder / "in" / f"region={region}").mkdir(parents=True)
        put(folder / "in" / f"region={region}", *ages)
    return folder / "in"


def test_columns_in_the_names_of_folders_become_columns_of_the_files(tmp_path):
    folder = partitioned(
        tmp_path, **{"01": ["30"], "a%20b": ["40", "50"], UNKNOWN: ["60"]}
    )
    made = aggopt.convert(folder, tmp_path / "out")
    found = parts(tmp_path / "out").to_pydict()
    assert made.records == 4
    assert found["age"] == [30, 60, 40, 50]
    assert found["region"] == ["01", None, "a b", "a b"]


def test_a_folder_of_partitions_is_converted_by_the_roles_of_its_job(tmp_path):
    folder = partitioned(tmp_path, **{"01": ["30"], "02": ["40", "50"]})
    roles = {"identifier": ["id"], "quasi-identifier": ["age"], "stratum": ["region"]}
    aggopt.convert(folder, tmp_path / "out", job=Job(roles=roles, privacy={"k": 3}))
    assert parts(tmp_path / "out")["region"].to_pylist() == ["01", "02", "02"]


def test_folders_with_other_columns_in_their_names_are_refused(tmp_path):
    folder = partitioned(tmp_path, **{"01": ["30"]})
    (folder / "year=2020").mkdir()
    put(folder / "year=2020", "40", name="other.csv")
    with refused(TableError, "other.csv", "in.csv", "NAME"):
        aggopt.convert(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_csv_files_of_partitions_are_refused_with_the_way_to_convert_them(tmp_path):
    folder = partitioned(tmp_path, **{"01": ["30", "40", "50"]})
    with refused(TableError, str(folder)):
        InputFolder.of(folder)
    with refused(TableError, "in.csv"):
        aggopt.mask(folder / "region=01" / "in.csv", job())
