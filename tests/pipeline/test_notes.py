"""Notes of a release, and its comparison with the originals."""

import numpy as np
import pandas as pd
import pytest
from tables import MDAV

import aggopt
from aggopt import Job
from aggopt.data.table import Table
from aggopt.job import Output
from aggopt.pipeline.finish.evaluate import compare_originals
from aggopt.release.audit.originals import GRID

TREE = {"below": ["low", "middle"], "above": ["high"]}


def notes(frame, publish="ancestor", **sections):
    """Return the notes on the release of a table with a tree."""
    job = aggopt.Job(
        roles={"quasi-identifier": ["age", "level"], "other": ["note"]},
        attributes={
            "age": {"weight": 100.0},  # which decides the groups
            "level": {"tree": TREE, "publish": publish},
        },
        privacy={"k": 3},
        partition=MDAV,
        **sections,
    )
    return aggopt.mask(frame, job).notes


def persons(apart, n=12):
    """Four groups of three by age, of which so many have leaves that are far apart."""
    groups = [["low", "middle", "high"]] * apart + [["low", "low", "middle"]] * 4
    levels = [level for group in groups[:4] for level in group]
    ages = [100 * (i // 3) + i % 3 for i in range(n)]
    return pd.DataFrame({"age": ages, "level": levels, "note": ["as it is"] * n})


def roots(found):
    return [note for note in found if "root of the tree" in note]


@pytest.mark.parametrize(("apart", "said"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_half_of_the_values_that_are_roots_are_said(apart, said):
    assert len(roots(notes(persons(apart)))) == said


def test_it_is_said_how_many_are_published_as_the_root():
    (said,) = roots(notes(persons(3)))
    assert said == (
        "'level': 9 of 12 values (75%) are published as the root of the tree, which "
        'says nothing: choose publish = "node" or "leaf", a smaller k, or fewer '
        "quasi-identifiers."
    )
    assert roots(notes(persons(3), "leaf")) == []


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_entries_that_span_lines_are_counted_by_column(end):
    frame = persons(0).assign(note=[f"a{end}b"] * 2 + ["c"] * 10)
    spans = [note for note in notes(frame) if "span" in note]
    assert spans == [
        "'note': 2 entries span several lines: of a CSV file aggopt reads them only "
        "with multiline = true under [input]."
    ]
    coded = frame.assign(note=frame["note"].astype("category"))
    assert [note for note in notes(coded) if "span" in note] == spans
    assert not any("span" in n for n in notes(frame, input={"multiline": True}))
    assert not any("span" in note for note in notes(persons(0)))


def test_what_is_written_so_is_read_so(tmp_path):
    frame = persons(0).assign(note=["a\nb"] * 12)
    job = aggopt.Job(
        roles={"quasi-identifier": ["age"], "other": ["note", "level"]},
        privacy={"k": 3},
        input={"multiline": True},
    )
    aggopt.mask(frame, job).write(tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["note"].eq("a\nb").all()


# --- tables of few values


def masked(frame):
    roles = {"quasi-identifier": ["a", "b"]}
    return aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 2})).notes


def test_fewer_records_than_two_groups_need_are_one():
    frame = pd.DataFrame({"a": [1.0, 2, 8], "b": [1.0, 2, 8]})
    assert "All 3 records form one group: there are fewer than 2k." in masked(frame)


def test_a_constant_does_not_differ():
    notes = masked(pd.DataFrame({"a": [1.0] * 4, "b": [1.0, 2, 8, 9]}))
    assert "'a' has one value only: kept as it is, weight zero." in notes
    assert not any("form one group" in note for note in notes)


# --- how far rounding may move a value of each attribute


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
