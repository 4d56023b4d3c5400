"""What a release says of itself, note by note."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import aggopt
from aggopt.data.table import Table
from aggopt.encoding.clock import Clock
from aggopt.job import Output
from aggopt.pipeline.finish import notes
from aggopt.pipeline.finish.evaluate import compare_originals
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.release.audit.originals import GRID


def asked(names=("a", "b"), other=(), k=2, **sections):
    return aggopt.Job(
        roles={"quasi-identifier": names, "other": other}, privacy={"k": k}, **sections
    )


def spanning(frame, **how):
    job = asked(["a"], [name for name in frame if name != "a"], input=how)
    return notes.describe_spanning_entries(
        Table.of(frame, job.roles, job.attributes), job
    )


def test_entries_that_span_lines_are_counted_in_text_alone():
    frame = pd.DataFrame(
        {
            "a": [1.0, 2.0, 3.0],
            "plain": ["x", "XX", "z"],
            "one": ["x\ny", "X", "z"],
            "two": pd.Categorical(["x\r\ny", "q", "x\ry"]),
        }
    )
    said = (
        "span several lines: of a CSV file aggopt reads them only with multiline = "
        "true under [input]."
    )
    assert spanning(frame) == [f"'one': 1 entry {said}", f"'two': 2 entries {said}"]
    assert spanning(frame, multiline=True) == []


def test_records_that_are_not_measured_are_counted():
    rows = np.array([True, False, True])
    said = (
        "2 of 3 records of which nothing is missing, before and after; certificates "
        "are of all values that are there."
    )
    what = "Linkage, disclosure, loss and satisfaction are"
    assert notes.describe_incomplete_records(rows | True, None) == []
    assert notes.describe_incomplete_records(rows, SimpleNamespace()) == [
        f"{what} measured on the {said}"
    ]
    assert notes.describe_incomplete_records(rows, None) == [
        f"{what} not measured: there are {said}"
    ]


def masked(frame, **sections):
    return aggopt.mask(frame, asked(**sections)).notes


def test_an_index_is_said_to_be_kept_and_groups_to_be_one(monkeypatch):
    monkeypatch.setattr(notes, "partition_certificates", lambda *_: {})
    given = SimpleNamespace(
        whole=np.zeros((8, 2)),
        job=asked(("a", "b")),
        blocks=(SimpleNamespace(groups=1, columns=(0, 1)),),
        held=(),
        constant=np.array([True, False]),
        table=SimpleNamespace(keeps_index=True),
    )
    constant = "'a' has one value only: kept as it is, weight zero."
    kept = (
        "The index of the pandas table is kept in release.table, with all that it "
        "says of records; written files have none."
    )
    one = "'a', 'b': all 8 records form one group."
    assert notes.describe_certificates(given, {}) == [constant, one]
    assert notes.describe_index(given) == [kept]
    given.table.keeps_index = False
    assert notes.describe_index(given) == []


def test_one_group_is_said_where_originals_differ():
    frame = pd.DataFrame({"a": [1.0, 2, 8], "b": [1.0, 2, 8]})
    few = "All 3 records form one group: there are fewer than 2k."
    assert few in masked(frame)
    blocks = (
        SimpleNamespace(groups=2, columns=(0,)),
        SimpleNamespace(groups=1, columns=(1,)),
        SimpleNamespace(groups=1, columns=(2,)),
    )
    given = SimpleNamespace(
        whole=np.zeros((8, 3)), job=asked(("a", "b", "c")), blocks=blocks, held=()
    )
    constant = np.array([False, False, True])
    assert notes._describe_single_group(given, constant) == [
        "'b': all 8 records form one group."
    ]


def test_a_constant_does_not_differ():
    frame = pd.DataFrame({"a": [1.0] * 4, "b": [1.0, 2, 8, 9]})
    notes = masked(frame)
    assert "'a' has one value only: kept as it is, weight zero." in notes
    assert not any("form one group" in note for note in notes)


def test_values_that_are_there():
    x = np.array([1.0, np.nan, 3.0])
    assert select_present(x).tolist() == [1.0, 3.0]
    whole = np.array([1.0, 2.0])
    assert select_present(whole) is whole  # no copy of a large column


@pytest.mark.parametrize("clocked", [False, True])
def test_a_date_may_move_by_half_of_its_step(clocked):
    clock = Clock(pa.timestamp("ms"), 0, 1)
    x = np.array([[0.0], [6000], [12000], [30000]])
    job = asked(["a"])
    frame = pd.DataFrame({"a": x[:, 0]})
    table = Table.of(frame, job.roles, job.attributes)
    if clocked:
        table = SimpleNamespace(
            places=[0], clocks={"a": clock}, roles=table.roles, types={}, domains={}
        )
    output = Output(digits=2)
    steps = compare_originals(x, x, output, table).step
    assert steps[0] == 500.0  # half a second
    assert compare_originals(x, x, Output(digits="full"), table).step == pytest.approx(
        max(0.5 * clocked, GRID * x.std())
    )
