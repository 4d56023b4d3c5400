"""How far rounding may move a value of each attribute."""

import numpy as np
import pandas as pd
import pytest

from aggopt import Job
from aggopt.data.table import Table
from aggopt.job import Output
from aggopt.pipeline.finish.evaluate import compare_originals
from aggopt.release.audit.originals import GRID


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
