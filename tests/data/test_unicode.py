"""Text that is no Unicode is refused before any work, and never quoted."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import AggoptError, TableError

HALF = "a\ud800b"


def of_bytes(text: bytes) -> pa.Array:
    """Text of these bytes in 40 records, as a file of another program has it."""
    return pa.Array.from_buffers(pa.string(), 40, pa.array([text] * 40).buffers())


def arrow(column) -> pa.Table:
    plain = pa.Table.from_pandas(people(), preserve_index=False)
    return plain.set_column(plain.column_names.index("note"), "note", column)


def pandas(column) -> pd.DataFrame:
    return people().assign(note=pd.Series(column, dtype=object))


def coded() -> pa.Array:
    codes = pa.array(np.zeros(40, np.int32))
    return pa.DictionaryArray.from_arrays(codes, of_bytes(b"A\xdfmann"))


REFUSED = {
    "Arrow": lambda: arrow(of_bytes(b"A\xdfmann")),
    "Arrow, coded": lambda: arrow(coded()),
    "pandas": lambda: pandas([HALF] * 40),
    "pandas, coded": lambda: people().assign(
        note=pd.Categorical(pd.Series([HALF] * 40, dtype=object))
    ),
    "pandas on Arrow": lambda: people().assign(
        note=pd.Series(pd.arrays.ArrowExtensionArray(of_bytes(b"A\xdfmann")))
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_text_that_is_no_unicode_is_refused_and_not_quoted(kind) -> None:
    with refused(TableError, "'note'") as error:
        aggopt.mask(REFUSED[kind](), job())
    assert error.value.__context__ is None


@pytest.mark.parametrize("role", ["name", "illness", "note"])
def test_so_is_that_of_a_file_whatever_its_role(tmp_path, role) -> None:
    table = arrow(pa.array(["x"] * 40))
    wrong = table.column_names.index(role), role, of_bytes(b"A\xdfmann")
    pq.write_table(table.set_column(*wrong), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=f"no Unicode: '{role}'"):
        aggopt.mask(tmp_path / "t.parquet", job())


@pytest.mark.parametrize("entries", [[1, HALF] * 20, [HALF, 1] * 20, [(HALF,)] * 40])
def test_mixed_entries_are_refused_without_being_quoted(tmp_path, entries) -> None:
    with pytest.raises(AggoptError, match=r"no Unicode|no file can hold") as error:
        aggopt.mask(pandas(entries), job()).write(tmp_path / "masked.csv")
    assert HALF not in str(error.value)


def test_unicode_is_taken_in_every_kind_of_column() -> None:
    text = "Aßmann \U0001f600"
    for table in (arrow(of_bytes(text.encode())), pandas([text] * 40)):
        assert list(aggopt.mask(table, job()).table["note"])
