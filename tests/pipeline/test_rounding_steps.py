"""How each number is rounded: to decimals, to whole numbers, and within its bounds."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.data.table import Table
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.finish.rounding import (
    _asked,
    _inside,
    _on_grid,
    _steps,
    round_release,
)
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.published_grid import decimals_of_attribute
from aggopt.solvers import Certificate, Status

PROVEN = Certificate(Status.LOCAL, 1.0, None, 0.0, "somebody", 0.0)
PAIRS = np.repeat([0, 1, 2, 3], 2)
FRAME = pd.DataFrame(
    {
        "a": [0.0, 1, 0, 1, 2, 3, 2, 3],
        "day": pd.date_range("2020-01-01", periods=8),
        "n": [0, 1, 0, 1, 2, 3, 2, 3],
        "f": np.arange(8.0),
    }
)
WHOLE = {"integer": True}


def given(attributes=None, **output):
    job = aggopt.Job(
        roles={"quasi-identifier": list(FRAME)},
        privacy={"k": 2},
        attributes=attributes or {},
        output=output,
    )
    table = Table.of(FRAME, job.roles, job.attributes)
    X = table.matrix()
    blocks = (Block((0, 1, 2, 3), Partition(PAIRS, PROVEN)),)
    return PartitionedTable(job, table, None, X, X, blocks, {})


def test_a_table_is_told_what_is_whole_and_in_which_steps(monkeypatch) -> None:
    heard = []

    def masked(table, rounded, **how):
        heard.append(how)
        return table

    monkeypatch.setattr(Table, "masked", masked)
    table = given({"n": WHOLE}, round_integers=True)
    round_release(table, table.X)
    (how,) = heard
    assert how == {
        "round_integers": True,
        "integers": frozenset("n"),
        "steps": _steps(table),
    }
    assert [*how["steps"]] == ["day"]


def test_whole_numbers_that_are_asked_for_keep_the_mean() -> None:
    halves = np.repeat([0.5, 0.5, 2.5, 2.5], 2)
    table = given({"n": WHOLE})
    plain = _on_grid(table, 0, halves, 0)
    assert plain.tolist() == [0.0] * 4 + [2.0] * 4
    assert _on_grid(table, 2, halves, 1).tolist() == halves.tolist()
    found = _on_grid(table, 2, halves, 0)
    assert (found == np.rint(found)).all()
    assert found.mean() == halves.mean() == 1.5
    assert np.abs(found - halves).max() == 0.5
    assert (found[::2] == found[1::2]).all()  # records of a group publish the same


def test_whole_numbers_of_groups_of_which_some_have_no_value() -> None:
    table = given({"n": WHOLE})
    holed = np.array([0.5, np.nan, np.nan, 0.5, 2.5, np.nan, 2.5, 2.5])
    found = _on_grid(table, 2, holed, 0)
    assert np.isnan(found).tolist() == np.isnan(holed).tolist()
    there = ~np.isnan(holed)
    assert (found[there] == np.rint(found[there])).all()
    assert found[6] == found[7]
    assert abs(found[there].mean() - holed[there].mean()) <= 0.1
    same = np.where(there, 2.5, np.nan)
    assert _on_grid(table, 2, same, 0)[there].tolist() == [2.0] * 5


@pytest.mark.parametrize(
    ("attributes", "output", "said"),
    [
        ({}, {}, "6 digits of the attribute's standard deviation, 'day' to days"),
        ({}, {"decimals": 2}, "decimals = 2, 'day' to days"),
        (
            {"n": WHOLE, "f": WHOLE},
            {"decimals": 2},
            "decimals = 2, 'n' to whole numbers, 'f' to whole numbers, 'day' to days",
        ),
    ],
)
def test_it_is_said_how_each_number_is_rounded(attributes, output, said) -> None:
    assert _asked(given(attributes, **output)) == said


@pytest.mark.parametrize(
    ("name", "spread", "attributes", "output", "place"),
    [
        ("a", 1.0, {}, {}, 5),
        ("a", 0.0, {}, {"decimals": 2}, None),
        ("a", 1.0, {}, {"digits": "full"}, None),
        ("a", 1.0, {"a": WHOLE}, {}, 0),
        ("a", 1.0, {"a": WHOLE}, {"digits": "full"}, 0),
        ("a", 1.0, {"a": WHOLE}, {"decimals": -1}, -1),
        ("n", 1.0, {}, {}, 5),
        ("n", 1.0, {}, {"round_integers": True}, None),
        ("n", 1.0, {}, {"round_integers": True, "decimals": 0}, 0),
        ("n", 0.0, {}, {"round_integers": True, "decimals": 1}, None),
        ("a", 1.0, {}, {"round_integers": True}, 5),
    ],
)
def test_the_decimals_of_an_attribute(name, spread, attributes, output, place) -> None:
    table = given(attributes, **output)
    assert decimals_of_attribute(table.table, table.job, name, spread) == place


def test_what_rounding_took_out_of_the_bounds_is_put_on_the_nearest_within() -> None:
    bounds = {"lower": 0.25, "upper": 6.75}
    values = np.array([0.2, 0.25, 6.8, 7.5, -3.0, np.nan, 3.0, 0.3])
    table = given({"f": bounds})
    inside = _inside(table, 3, values, 1)
    assert inside[:5].tolist() == [0.3, 0.3, 6.7, 7.5, -3.0]
    assert inside[6:].tolist() == [3.0, 0.3]
    assert np.isnan(inside[5])
    assert _inside(table, 0, values, 1) is values
    nearly = values.copy()
    nearly[1] -= 1e-10 * FRAME["f"].std()
    exact = _inside(table, 3, nearly, None)
    assert exact[:5].tolist() == values[:5].tolist()
    whole = _inside(given({"f": {**bounds, "integer": True}}), 3, values, 0)
    assert whole[:5].tolist() == [1.0, 1.0, 6.0, 7.5, -3.0]
    typed = given({"n": {"lower": -1, "upper": 2}}, round_integers=True)
    near = np.array([-1.5, -2.5, 2.75, 4.0, 0.5, 0, 0, 0])
    assert _inside(typed, 2, near, None)[:5].tolist() == [-1.0, -2.5, 2.0, 4.0, 0.5]


def test_what_is_released_is_rounded_within_its_bounds_and_whole_where_asked() -> None:
    values = np.repeat([0.5, 2.5], 4)[:, None] * np.ones(4)
    found = round_release(
        given({"n": WHOLE, "f": {"lower": 0, "upper": 7}}), values
    ).frame
    kinds = [str(found[name].dtype) for name in ("a", "n", "f")]
    assert kinds == ["Float64", "Int64", "Float64"]
    table = given({"f": {"lower": 0.75, "upper": 7}}, decimals=0)
    cut = round_release(table, values)
    assert cut.frame["f"].to_list() == [1.0] * 4 + [2.0] * 4
    assert cut.frame["a"].to_list() == [0.0] * 4 + [2.0] * 4


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(None, [1, 1, 2, 2]), ([0.25, 0.25, 1.75, 1.75], [0, 0, 3, 3])],
)
@pytest.mark.parametrize("blocks", [1, 2])
def test_whole_numbers_keep_the_mean_by_weight(weights, expected, blocks):
    labels = np.array([0, 0, 1, 1])
    given = SimpleNamespace(
        job=SimpleNamespace(attributes={"a": SimpleNamespace(integer=True)}),
        names=["a"],
        labels_of_numbers=labels if blocks == 1 else np.stack([labels, 0 * labels], 1),
        weights=None if weights is None else np.array(weights),
    )
    values = np.array([0.7, 0.7, 2.6, 2.6])
    assert _on_grid(given, 0, values, 0).tolist() == expected
    assert values.tolist() == [0.7, 0.7, 2.6, 2.6]


def test_whole_numbers_are_weighed_by_records_that_have_a_value():
    given = SimpleNamespace(
        job=SimpleNamespace(attributes={"a": SimpleNamespace(integer=True)}),
        names=["a"],
        labels_of_numbers=np.array([1, 0, 0, 1, 1]),
        weights=np.array([9.0, 0.25, 0.25, 1.75, 1.75]),
    )
    found = _on_grid(given, 0, np.array([np.nan, 0.7, 0.7, 2.6, 2.6]), 0)
    assert np.isnan(found[0])
    assert found[1:].tolist() == [0.0, 0.0, 3.0, 3.0]
