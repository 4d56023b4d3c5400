"""Files of R: data frames, objects of sdcMicro, and files that are made to break."""

import bz2
import csv
import gzip
import lzma
import random
import struct
import tomllib
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused
from tables import smallest

from aggopt.data.readers import r_serialization
from aggopt.data.readers.declared_roles import read_declared_roles
from aggopt.data.readers.r_serialization import DEEPEST
from aggopt.data.readers.read import read_as_text
from aggopt.errors import AggoptError, TableError
from aggopt.inspection.draft import propose_job
from aggopt.job import Input, Job
from aggopt.pipeline.mask import mask

OBJECTS = Path(__file__).parent / "sdcmicro"  # make_objects.R there wrote them
KEYS = ["sex", "education", "age"]
ALL_ROLES = {
    "weight": ["weight"],
    "unit": ["household"],
    "stratum": ["region"],
    "quasi-identifier": [*KEYS, "income", "savings"],
    "confidential": ["illness"],
}
STATED = {  # roles and k of each object, as make_objects.R states them
    "keys": ({"quasi-identifier": KEYS}, None),
    "roles": (ALL_ROLES, None),
    "suppressed": (ALL_ROLES, 4),
    "steps": (ALL_ROLES, 3),
    "missing": (
        {"quasi-identifier": ["sex", "urban", "income"], "confidential": ["illness"]},
        None,
    ),
    "ghosts": (
        {"weight": ["weight"], "quasi-identifier": [*KEYS, "region", "illness"]},
        None,
    ),
    "types": ({"quasi-identifier": ["Région", "sex", "income"]}, None),
    "combinations": (ALL_ROLES, None),
    "uncompressed": ({"quasi-identifier": [*KEYS, "income", "savings"]}, None),
    "version2": ({"unit": ["household"], "quasi-identifier": ["age"]}, None),
}
HEADER = b"X\n" + struct.pack(">iii", 2, 0x40202, 0x20300)
FACTOR, ATTRIBUTES, TAGGED = 1 << 8 | 13, 1 << 9, 1 << 10 | 2


def read(path: Path) -> pa.Table:
    return read_as_text(path, Input())


def write(folder: Path, body: bytes, header: bytes = HEADER) -> Path:
    (folder / "t.rds").write_bytes(header + body)
    return folder / "t.rds"


def text(value: str) -> bytes:
    return struct.pack(">ii", 0x40009, len(value)) + value.encode()


def frame(column: bytes) -> bytes:
    """Return a data frame with one column, `secret`, in R's serialization."""
    names = struct.pack(">i", 16) + struct.pack(">i", 1) + text("secret")
    classes = struct.pack(">ii", 16, 1) + text("data.frame")
    pairs = b"".join(
        struct.pack(">ii", TAGGED, 1) + text(tag) + value
        for tag, value in (("names", names), ("class", classes))
    )
    return struct.pack(">ii", ATTRIBUTES | 1 << 8 | 19, 1) + column + pairs + NULL


NULL = struct.pack(">i", 254)


@pytest.mark.parametrize("name", STATED)
def test_roles_and_k_are_those_of_the_object(name) -> None:
    declared = read_declared_roles(read(OBJECTS / f"{name}.rds"))
    roles: dict[str, list[str]] = {}
    for column, each in declared.columns.items():
        roles.setdefault(each.role, []).append(column)
    assert (roles, declared.k) == STATED[name]


TABLES = {
    "missing": "missing",
    "types": "letters",
    "frame": "letters",
}  # others: people


@pytest.mark.parametrize("name", [*STATED, "frame"])
def test_entries_are_those_that_r_writes(name) -> None:
    table = read(OBJECTS / f"{name}.rds")
    with (OBJECTS / f"{TABLES.get(name, 'people')}.csv").open(encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    assert set(table.column_names) <= set(records[0])
    for column in table.column_names:
        expected = [record[column] or None for record in records]
        entries = table[column].to_pylist()
        if pa.types.is_boolean(table[column].type):
            entries = [str(entry).upper() for entry in entries]
        elif isinstance(entries[0], int | float):
            entries = [None if entry is None else float(entry) for entry in entries]
            expected = [None if text is None else float(text) for text in expected]
        else:
            entries = [None if entry is None else str(entry) for entry in entries]
        assert entries == expected, column


def test_types_are_those_of_r() -> None:
    table = read(OBJECTS / "frame.rds")
    ranked = table["education"].type
    assert ranked.ordered
    assert table["education"].chunk(0).dictionary.to_pylist() == [
        *("low", "medium", "high")
    ]
    assert not table["sex"].type.ordered
    assert table.select(["age", "income", "born", "asked", "works"]).schema.types == [
        *(pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.bool_())
    ]
    sequences = read(OBJECTS / "sequences.rds").to_pydict()
    assert sequences == {
        "number": list(range(1, 11)),
        "text": [str(number) for number in range(11, 21)],
    }


def test_a_job_is_ready_to_mask(tmp_path) -> None:
    path = OBJECTS / "suppressed.rds"
    draft = propose_job(path, tmp_path / "job.toml")
    assert not draft.undecided
    settings = tomllib.loads(draft.text)
    names = {role: names for role, names in settings["roles"].items() if names}
    assert {role: sorted(columns) for role, columns in names.items()} == {
        role: sorted(columns) for role, columns in ALL_ROLES.items()
    }
    assert settings["privacy"]["k"] == 4
    assert "R has dropped these columns already: person." in draft.text
    release = mask(path, Job(**settings | {"partition": {"method": "mdav"}}))
    files = release.write(tmp_path / "masked.parquet")
    assert smallest(pd.read_parquet(files.table), names["quasi-identifier"]) >= 4
    assert pq.read_schema(files.table).metadata is None


def test_columns_without_a_role_are_published_unless_they_may_name_persons(
    tmp_path,
) -> None:
    draft = propose_job(OBJECTS / "ghosts.rds", tmp_path / "job.toml")
    roles = tomllib.loads(draft.text)["roles"]
    assert roles["identifier"] == ["person"]
    assert [obstacle.column for obstacle in draft.undecided] == [
        *("household", "income", "savings")
    ]
    assert "aggopt has no PRAM" in draft.text
    draft = propose_job(OBJECTS / "missing.rds", tmp_path / "job.toml")
    assert tomllib.loads(draft.text)["roles"]["other"] == ["region", "education", "age"]
    assert "# urban" not in draft.text
    draft = propose_job(OBJECTS / "combinations.rds", tmp_path / "job.toml")
    assert "several k, each for combinations" in draft.text


def sequence(length: float) -> bytes:
    """Return the numbers from 1 to `length` as R writes them: by their ends."""
    return (
        struct.pack(">iii", 238, 2, 1)
        + text("compact_intseq")
        + NULL
        + struct.pack(">iiddd", 14, 3, length, 1.0, 1.0)
        + NULL
    )


WHOLE = {  # a file that is whole, and files that are not, as bytes after the header
    "two records": frame(struct.pack(">iiii", 13, 2, 1, -(2**31))),
    "a length beyond the file": frame(struct.pack(">ii", 13, 2**31 - 1)),
    "a length of two words": frame(struct.pack(">iiii", 13, -1, 2**30, 0)),
    "a negative length": frame(struct.pack(">ii", 13, -7)),
    "a long sequence": frame(sequence(2.0**40)),
    "codes beyond the levels": frame(
        struct.pack(">iii", ATTRIBUTES | FACTOR, 1, 9)
        + struct.pack(">ii", TAGGED, 1)
        + text("class")
        + struct.pack(">ii", 16, 1)
        + text("factor")
        + NULL
    ),
    "deep": struct.pack(">ii", 19, 1) * (DEEPEST + 2) + NULL,
    "a compiled function": frame(struct.pack(">i", 21)),
    "complex numbers": frame(struct.pack(">iidd", 15, 1, 1.0, 1.0)),
    "a list as column": frame(struct.pack(">ii", 19, 0)),
    "a reference to nothing": frame(struct.pack(">i", 255 | 7 << 8)),
    "an unknown type": frame(struct.pack(">i", 99)),
    "no data frame": struct.pack(">iii", 13, 1, 1),
    "bytes after the end": frame(struct.pack(">iii", 13, 1, 1)) + b"Ms Secret",
}


def test_a_frame_that_is_written_by_hand_is_read(tmp_path) -> None:
    table = read(write(tmp_path, WHOLE["two records"]))
    assert table.to_pydict() == {"secret": [1, None]}


@pytest.mark.parametrize("name", list(WHOLE)[1:])
def test_hostile_objects_are_refused(tmp_path, name) -> None:
    with refused(TableError, "t.rds"):
        read(write(tmp_path, WHOLE[name]))


@pytest.mark.parametrize(
    "header",
    [b"RDX3\nX\n", b"A\n3\n", b"X\n" + b"\0" * 12, HEADER[:9]],
    ids=["save", "text", "version 0", "short"],
)
def test_files_of_other_kinds_are_refused(tmp_path, header) -> None:
    with refused(TableError, "t.rds"):
        read(write(tmp_path, b"Ms Secret", header))


@pytest.mark.parametrize(
    "compress",
    [gzip.compress, bz2.compress, lzma.compress],
    ids=["gzip", "bzip2", "xz"],
)
def test_files_that_unpack_to_far_more_than_a_table_are_refused(
    tmp_path, monkeypatch, compress
) -> None:
    whole = write(tmp_path, compress(HEADER + WHOLE["two records"]), b"")
    assert read(whole).num_rows == 2
    with refused(TableError, "t.rds"):
        read(write(tmp_path, whole.read_bytes()[:-9], b""))
    monkeypatch.setattr(r_serialization, "SMALL", 2**20)
    monkeypatch.setattr(r_serialization, "DENSEST", 1)
    with refused(TableError, "t.rds"):
        read(write(tmp_path, compress(HEADER + bytes(2**21)), b""))


@pytest.mark.parametrize(
    "limit",
    [("MOST_NUMBERS", 999), ("MOST_OBJECTS", 5)],
    ids=["numbers", "objects"],
)
def test_a_short_file_of_many_numbers_or_objects_is_refused(
    tmp_path, monkeypatch, limit
) -> None:
    path = write(tmp_path, frame(sequence(1000.0)))
    assert read(path).num_rows == 1000
    monkeypatch.setattr(r_serialization, *limit)
    with refused(TableError, "t.rds"):
        read(path)


def test_a_damaged_file_is_a_table_or_is_refused(tmp_path) -> None:
    whole = (OBJECTS / "uncompressed.rds").read_bytes()
    rng = random.Random(5)
    tables = 0
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 3])):
            damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 2, 19, 238, 255])
        cut = rng.choice([len(damaged), rng.randrange(len(damaged))])
        path = write(tmp_path, bytes(damaged[:cut]), b"")
        with suppress(AggoptError):  # any other error fails
            tables += read(path).num_columns == 10
    assert 0 < tables < 200
