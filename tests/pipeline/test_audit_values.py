"""What is tried is audited as what is written would be."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from aggopt import Job
from aggopt.data.table import Table
from aggopt.errors import TableError
from aggopt.job import Output
from aggopt.partition import Partition
from aggopt.partition.shared.result import Block
from aggopt.pipeline.finish import audit_values
from aggopt.pipeline.finish.audit_values import audit_before_writing
from aggopt.pipeline.finish.original_comparison import compare_originals
from aggopt.release.audit.originals import GRID
from aggopt.solvers import Certificate, Status

ROLES = {"quasi-identifier": ["age"], "confidential": ["pay"]}
PROVEN = Certificate(Status.LOCAL, 1.0, None, 0.0, "somebody", 0.0)
FRAME = pd.DataFrame({"age": [1.0, 1, 2, 2], "pay": ["1,5", "3", "2,5", "2"]})


def groups_of(labels):
    return Partition(labels, PROVEN)


def tried(**how):
    """Audit two pairs of equal ages with text that may be numbers."""
    privacy = {"k": 2, "t": 0.9, "repair": "merge"}
    job = Job(roles=ROLES, privacy=privacy, partition={"method": "mdav"}, input=how)
    block = Block((0,), groups_of(np.array([0, 0, 1, 1])))
    given = SimpleNamespace(
        job=job, blocks=(block,), units=None, weights_of_values=None
    )
    return audit_before_writing(given, Table.of(FRAME, job.roles))


def test_numbers_among_text_have_the_decimal_point_of_the_job() -> None:
    found = tried(separator=";", decimal=",")
    assert found.holds
    assert [(each.attribute, each.groups) for each in found.promises] == [("pay", 2)]
    with pytest.raises(TableError, match="pay"):
        tried()


def test_blocks_are_counted_by_name() -> None:
    names = {"quasi-identifier": ["age", "pay"]}
    job = Job(roles=names, privacy={"k": 2, "scope": "blocks"})
    labels = np.array([0, 0, 1, 1])
    blocks = Block((1,), groups_of(labels)), Block((0,), groups_of(labels))
    frame = FRAME.assign(pay=[1.5, 3, 1.5, 3])
    given = SimpleNamespace(job=job, blocks=blocks, units=None, weights_of_values=None)
    found = audit_before_writing(given, Table.of(frame, job.roles))
    assert [count.attributes for count in found.blocks] == [("pay",), ("age",)]
    assert (found.smallest, found.combination, found.unchanged) == (2, 1, None)


@pytest.mark.parametrize("of_records", [False, True])
def test_units_and_weights_that_are_dropped_are_what_the_job_says(
    monkeypatch, of_records
) -> None:
    heard = {}
    monkeypatch.setattr(
        audit_values, "audit_release", lambda *_, **how: heard.update(how)
    )
    roles = {**ROLES, "weight": "w"}
    job = Job(roles=roles, privacy={"k": 2}, weights={"published": "drop"})
    units = SimpleNamespace(of="units", records="records" if of_records else None)
    given = SimpleNamespace(job=job, blocks=(), units=units, weights_of_values=None)
    audit_before_writing(given, Table.of(FRAME.assign(w=1.0), job.roles))
    assert heard["units"] == (None if of_records else "units")
    assert heard["dropped"] == ("w",)
    audit_before_writing(
        SimpleNamespace(job=job, blocks=(), units=None, weights_of_values=None),
        Table.of(FRAME.assign(w=1.0), job.roles),
    )
    assert heard["units"] is None


@pytest.mark.parametrize(
    ("output", "steps"),
    [
        (Output(decimals=1), [0.05, 0.05, 0.0]),
        (Output(digits=3), [0.005, 0.5, 0.0]),
        (Output(digits="full"), [GRID, GRID * 200, 0.0]),
    ],
)
def test_the_step_of_rounding_is_half_of_the_grid(output, steps) -> None:
    before = np.array([[0.0, 0, 7], [0, 0, 7], [2, 400, 7], [2, 400, 7]])
    found = compare_originals(before, before + 1, output)
    assert found.step == pytest.approx(steps)
    assert (found.after == before + 1).all()
    assert found.before is before


def test_the_step_of_dates_is_half_of_their_unit() -> None:
    days = pd.Series(pd.date_range("2020", periods=4))
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "born": days, "stay": days - days[0]})
    roles = {"quasi-identifier": ["stay", "age", "born"]}
    job = Job(roles=roles, privacy={"k": 2}, output={"decimals": 1})
    table = Table.of(frame.assign(age=["a", "a", "b", "b"]), job.roles)
    found = compare_originals(table.matrix(), table.matrix(), job.output, table)
    assert found.step.tolist() == [0.5, 0.0, 0.5]
    assert (found.numeric, found.dates, found.durations) == ((0, 2), (2,), (0,))
    numbers = Table.of(frame, job.roles)
    found = compare_originals(numbers.matrix(), numbers.matrix(), job.output, numbers)
    assert found.step.tolist() == [0.5, 0.05, 0.5]
    assert found.numeric == (0, 1, 2)


def test_with_the_originals_it_is_said_what_is_unchanged() -> None:
    job = Job(roles={"quasi-identifier": ["age"]}, privacy={"k": 2})
    given = SimpleNamespace(
        job=job,
        blocks=(Block((0,), groups_of(np.array([0, 0, 1, 1]))),),
        units=None,
        weights_of_values=None,
    )
    tried = Table.of(FRAME[["age"]], job.roles)
    both = compare_originals(tried.matrix(), tried.matrix(), job.output)
    assert audit_before_writing(given, tried, both).unchanged.records == 4
