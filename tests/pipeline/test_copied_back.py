"""What is masked of units is that of each record: groups, wishes, holes, strata."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable
from aggopt.pipeline.aggregate.units_and_records import copy_to_records
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.solvers import Certificate, Status

PROVEN = Certificate(Status.LOCAL, 1.0, None, 0.0, "somebody", 0.0)
OF = np.array([0, 1, 1, 0, 2])
JOB = aggopt.Job(roles={"quasi-identifier": ["a", "b"]}, privacy={"k": 2})
RECORDS = pd.DataFrame({"a": OF + 0.5, "b": OF * 2.0})
MASKED = AggregatedTable(
    np.array([[1.0, 2], [3, 4], [5, 6]]), {"a": PROVEN}, ("a note",)
)


def given(units, **others):
    first = [0, 1, 4]
    table = Table.of(RECORDS.iloc[first], JOB.roles)
    blocks = tuple(
        Block((j,), Partition(np.array(labels), PROVEN))
        for j, labels in enumerate(([0, 1, 1], [1, 0, 1]))
    )
    X, asked = table.matrix(), {"delta": np.arange(6.0).reshape(3, 2)}
    of = (JOB, table, SimpleNamespace(), X, X, blocks, asked)
    return PartitionedTable(*of, units=units, **others)


@pytest.mark.parametrize("units", [None, RecordUnits(OF)])
def test_what_is_masked_of_records_stays_as_it_is(units) -> None:
    table = given(units)
    found, masked = copy_to_records(table, MASKED)
    assert (found is table, masked is MASKED) == (True, True)


def test_what_is_masked_of_units_is_that_of_each_of_their_records() -> None:
    records = Table.of(RECORDS, JOB.roles)
    kept = np.array([[True, True], [False, True], [True, False]])
    strata = RecordStrata(np.array([0, 0, 1]), small=2, records=3)
    table = given(RecordUnits(OF, records), kept=kept, strata=strata)
    found, masked = copy_to_records(table, MASKED)
    assert found.table is records
    assert found.whole.tolist() == RECORDS.to_numpy().tolist()
    assert found.labels.tolist() == table.labels[OF].tolist()
    assert [block.certificate for block in found.blocks] == [PROVEN, PROVEN]
    assert found.asked["delta"].tolist() == table.asked["delta"][OF].tolist()
    assert found.kept.tolist() == kept[OF].tolist()
    assert found.strata.labels.tolist() == [0, 0, 0, 0, 1]
    assert (found.strata.small, found.strata.records) == (2, 3)
    assert (found.units.unit_of_record.tolist(), found.units.records) == (
        OF.tolist(),
        None,
    )
    assert (found.job, found.secret) == (JOB, table.secret)
    assert masked.values.tolist() == MASKED.values[OF].tolist()
    assert (masked.certificates, masked.notes) == ({"a": PROVEN}, ("a note",))


def test_units_need_no_strata_and_no_holes() -> None:
    records = Table.of(RECORDS, JOB.roles)
    found, _ = copy_to_records(given(RecordUnits(OF, records)), MASKED)
    assert (found.kept, found.strata) == (None, None)
