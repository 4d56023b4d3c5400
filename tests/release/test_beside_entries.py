"""A release says nothing of the originals beside its entries."""

import io
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import job, people

import aggopt

SAID = "max income 99999, name Person 7"


def test_attributes_of_a_pandas_table_stay_behind() -> None:
    frame = people()
    frame.attrs = {"seen": SAID}
    frame.columns.name = SAID
    table = aggopt.mask(frame, job()).table
    assert table.attrs == {}
    assert table.columns.name is None
    assert SAID.encode() not in pickle.dumps(table)
    assert frame.attrs == {"seen": SAID}
    assert frame.columns.name == SAID
    written = io.BytesIO()
    table.to_parquet(written)
    assert SAID.encode() not in written.getvalue()


def test_metadata_of_an_arrow_table_stay_behind() -> None:
    table = pa.Table.from_pandas(people())
    nested = pa.struct([pa.field("part", pa.int64(), metadata={"seen": SAID})])
    notes = pa.array([{"part": i} for i in range(40)], type=nested)
    table = table.set_column(4, pa.field("note", nested), notes)
    fields = [field.with_metadata({"seen": SAID}) for field in table.schema]
    table = table.cast(pa.schema(fields, metadata={"seen": SAID}))
    released = aggopt.mask(table, job()).table
    assert released.schema.metadata is None
    assert all(field.metadata is None for field in released.schema)
    written = io.BytesIO()
    pq.write_table(released, written)
    assert SAID.encode() not in written.getvalue()
    assert released["note"].to_pylist() == notes.to_pylist()


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (None, False),
        (np.arange(40), False),
        (np.arange(40)[::-1], True),
        ([f"Person {i}" for i in range(40)], True),
        (pd.RangeIndex(40, name="row"), True),
        (pd.RangeIndex(1, 41), True),
    ],
)
def test_an_index_that_is_no_plain_range_gets_a_note(index, said) -> None:
    frame = people() if index is None else people().set_index(pd.Index(index))
    release = aggopt.mask(frame, job())
    assert any("index of the pandas table" in note for note in release.notes) == said
    assert list(release.table.index) == list(frame.index)
