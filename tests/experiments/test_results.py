"""What an experiment found, as tables, files, text and a picture."""

import stat

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import ROLES, people

from aggopt import experiment
from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.experiments._picture import find_front
from aggopt.experiments.experiment import Experiment

GRID = {
    "k": [3, 99],
    "partition": ["mdav", "cbfs"],
    "output": [{"digits": 3}, {"digits": "full"}],
}


@pytest.fixture(scope="module")
def found():
    tables = {"a <b>": people(24), "c": people(20, 1)}
    return experiment(tables, GRID, roles=ROLES, on_error="row")


def test_every_row_has_a_place_in_each_table(found):
    frame = found.to_pandas()
    assert tuple(frame.columns) == found.columns == tuple(found.to_arrow().column_names)
    assert len(frame) == len(found) == len(list(found)) == 2 * (4 * 2 + 4)
    for name in ("objective", "gap", "pil", "il"):
        expected = [row.get(name) for row in found]
        assert np.array_equal(frame[name], np.array(expected, float), equal_nan=True)
    assert frame["k"].dtype == np.int64
    assert list(frame["error"].dropna().unique()) == ["InfeasibleInputError"]
    assert found.columns[-2:] == ("error", "message")


def test_columns_of_settings_are_text_where_they_are_no_numbers(found):
    assert sorted(found.to_pandas()["output.digits"].unique()) == ["3", "full"]
    rows = tuple(
        {"table": "t", "seed": 1, "asked": asked, "error": None}
        for asked in (None, 0.5, {"column": "far"})
    )
    asked = Experiment(rows).to_arrow()["asked"].to_pylist()
    assert asked == [None, "0.5", '{"column": "far"}']


def test_what_nothing_is_known_of_keeps_its_type(found):
    kinds = Experiment(found.failures).to_arrow().schema
    assert str(kinds.field("seed").type) == "double"
    assert str(kinds.field("message").type) == "string"
    plain = experiment(people(20), {"k": 3}, roles=ROLES).to_arrow().schema
    assert str(plain.field("error").type) == "string"


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_read_as_what_was_found(found, tmp_path, ending):
    read = {"parquet": pd.read_parquet, "csv": pd.read_csv}[ending]
    write = getattr(found, f"to_{ending}")
    path = write(tmp_path / f"found.{ending}")
    back = read(path)[["table", "k", "attribute", "objective", "error"]]
    expected = found.to_pandas()[back.columns]
    pd.testing.assert_frame_equal(back, expected, check_dtype=False)
    with refused(TableError, "would be overwritten"):
        write(path)
    assert write(path, overwrite=True) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with refused(TableError, "no folder"):
        write(tmp_path / "none" / path.name)
    with refused(TableError):
        write("")


def test_it_prints_its_first_rows_and_how_many_are_left(found):
    text = repr(found).split("\n")
    assert text[0] == "Experiment: 24 rows, 8 cells failed."
    head = "table k partition aggregation output.digits attribute status objective gap"
    assert text[2].split() == [*head.split(), "linkage", "pil", "error"]
    assert text[3].startswith("a <b>")
    assert len(text) == 3 + 20 + 2
    assert text[-1] == "4 rows more: see .to_pandas()."
    html = found._repr_html_()
    assert "a &lt;b&gt;" in html
    assert "4 rows more" in html
    few = repr(Experiment(found.rows[:2]))
    assert few.startswith("Experiment: 2 rows, 0 cells failed.")
    assert "more" not in few


def test_the_picture_has_a_panel_for_each_table_and_a_point_for_each_cell(found):
    figure = found.plot()
    left, right = figure.axes
    assert [panel.get_title() for panel in (left, right)] == ["a <b>", "c"]
    assert (left.get_xlabel(), left.get_ylabel()) == ("linkage", "pil")
    drawn = [len(points.get_offsets()) for points in left.collections]
    assert drawn == [1, 1, 1, 1]
    labels = [text.get_text() for text in right.get_legend().get_texts()]
    assert labels == [f"{m}, mean, {d}" for m in ("mdav", "cbfs") for d in (3, "full")]
    own = [row for row in found if row["table"] == "c" and row["error"] is None]
    pairs = [(row["linkage"], row["pil"]) for row in own]
    best = list(zip(*right.lines[0].get_data(), strict=True))
    for x, y in pairs:
        assert any(a <= x and b <= y for a, b in best)
    assert set(best) <= set(pairs)


def test_any_columns_of_numbers_can_be_drawn(found):
    (panel, _) = found.plot("k", "sl").axes
    assert panel.get_ylabel() == "sl"
    with refused(UnknownNameError, "'linkage'"):
        found.plot("linkge")
    with refused(JobError, "'table'"):
        found.plot("table")


def test_the_front_has_what_no_other_beats():
    points = [(3.0, 1.0), (1.0, 2.0), (2.0, 2.0), (1.0, 2.0), (1.0, 3.0), (4.0, 1.0)]
    assert find_front(points) == [1, 0]
    assert find_front([]) == []
