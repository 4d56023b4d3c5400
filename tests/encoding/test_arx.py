"""Hierarchies in ARX's files: nodes are whole ways from the root."""

from pathlib import Path

import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.encoding import Domain
from aggopt.encoding.arx import list_ways, read_rows
from aggopt.encoding.domain import describe_odd_branches
from aggopt.errors import JobError, TableError


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "tree.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def domain(path: Path, values: list[object]) -> aggopt.encoding.Domain:
    frame = pd.DataFrame({"x": values})
    return aggopt.encode(frame, {"x": {"tree": path}}).attributes[0].domain


def apart(of: aggopt.encoding.Domain, u: object, v: object) -> float:
    at = of.levels.index
    return float(of.distances[at(u), at(v)])


def test_equal_neighbours_are_padding(tmp_path: Path) -> None:
    deep = written(tmp_path, "a;p;q;*\nb;p;q;*\nc;c;c;*\nd;d;q;*\n")
    of = domain(deep, ["a", "b", "c", "d"] * 2)
    assert apart(of, "a", "b") == pytest.approx(1 / 3)
    assert apart(of, "a", "d") == pytest.approx(2 / 3)
    assert apart(of, "a", "c") == 1
    assert len(of.nodes) == 4 + 3


def test_one_label_in_two_branches_is_two_nodes(tmp_path: Path) -> None:
    path = written(tmp_path, "a;other;p;*\nb;other;q;*\nc;r;p;*\nother;s;q;*\n")
    of = domain(path, ["a", "b", "c", "other"] * 2)
    assert of.nodes.count("other") == 3
    assert apart(of, "a", "b") == 1
    assert apart(of, "a", "c") == pytest.approx(2 / 3)


def test_a_leaf_with_the_label_of_a_node_stands_below_it() -> None:
    rows = [["other", "other", "*"], ["b", "other", "*"], ["c", "c", "*"]]
    assert list_ways(rows) == [("*", "other", "other"), ("*", "other", "b"), ("*", "c")]


def test_lines_without_one_label_at_the_end_have_a_root_in_common() -> None:
    assert list_ways([["a", "p"], ["b", "q"]]) == [("*", "p", "a"), ("*", "q", "b")]
    assert list_ways([["a"], ["b"]]) == [("*", "a"), ("*", "b")]
    assert list_ways([["a"]]) == [("*", "a")]


@pytest.mark.parametrize(
    "text", ["*;*\nQQ;*\n", "*;p\nQQ;q\n", "QQ;*;p;*\nb;p;p;*\n", "QQ;p;r;q\nq;p;r;q\n"]
)
def test_no_node_is_called_as_the_root_is(tmp_path: Path, text: str) -> None:
    with refused(JobError) as error:
        domain(written(tmp_path, text), ["QQ", "QQ"])
    assert "QQ" not in str(error.value)


def test_whole_numbers_of_a_column_are_found_in_the_text_of_a_file(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "1;low;*\n2;low;*\n-3;high;*\n")
    assert domain(path, [1, 2, -3] * 2).levels == (-3, 1, 2)
    with refused(TableError):
        domain(written(tmp_path, "01;low;*\n2;low;*\n+3;high;*\n"), [1, 2, 3] * 2)


def test_text_that_spells_numbers_stays_text(tmp_path: Path) -> None:
    path = written(tmp_path, "1;low;*\n2;low;*\n")
    assert domain(path, ["1", "2", "1", "2"]).levels == ("1", "2")


def test_marks_of_order_quotes_and_empty_lines_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbf"a;b";p;*\r\n\r\nc;p;*\r\n')
    assert read_rows(path) == [["a;b", "p", "*"], ["c", "p", "*"]]


def test_a_path_may_be_text(tmp_path: Path) -> None:
    path = written(tmp_path, "a;*\nb;*\n")
    frame = pd.DataFrame({"x": ["a", "b"]})
    assert aggopt.encode(frame, {"x": {"tree": str(path)}}).weights.tolist() == [4]


@pytest.mark.parametrize(
    "text",
    [
        "QQ;p;*\nb;p;*\nQQ;p;*\n",
        "QQ;p;*\nQQ;q;*\n",
        "QQ;p;*\nb;*\n",
        "QQ;;*\nb;p;*\n",
        "",
        b"\xff\xfeQQ",
    ],
)
def test_what_is_no_hierarchy_is_refused(tmp_path: Path, text: str | bytes) -> None:
    with refused(TableError) as error:
        domain(written(tmp_path, text), ["b", "b"])
    assert "QQ" not in str(error.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with refused(TableError, "no file"):
        domain(tmp_path / "none.csv", ["a", "a"])


ROWS = [["a", "other", "p", "*"], ["b", "other", "q", "*"], ["c", "r", "p", "*"]]


def test_lines_are_taken_in_place_of_their_file(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join(";".join(row) for row in ROWS))
    frame = pd.DataFrame({"x": ["a", "b", "c"] * 2})
    for rows in (ROWS, tuple(map(tuple, ROWS))):
        found = aggopt.encode(frame, {"x": {"tree": rows}}).attributes[0].domain
        assert found.nodes == domain(path, ["a", "b", "c"] * 2).nodes
        assert (found.distances == domain(path, ["a", "b", "c"] * 2).distances).all()


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "p"], ["b"]],
        [["a", "p"], ["b", ""]],
        [["a", "p"], "b"],
        [["a", "p"], ["b", 3]],
        [["a", "p"], []],
    ],
)
def test_lines_that_are_no_hierarchy_are_refused(rows: object) -> None:
    with refused(TableError):
        aggopt.encode(pd.DataFrame({"x": ["a", "b"]}), {"x": {"tree": rows}})


# --- what looks odd in a tree is told, with counts and without names


LOOK = ": look whether a name is spelled in two ways."
ONE = "1 branch of the tree has one value only"


def tree(**branches: str) -> Domain:
    """Return branches, by name, of the values in their letters."""
    parent = {value: name for name, values in branches.items() for value in values}
    return Domain.hierarchical(parent | dict.fromkeys(branches, "*"))


@pytest.mark.parametrize(
    ("domain", "note"),
    [
        (tree(Europe="ab", Asia="cd"), ""),
        (tree(Europe="ab", Asia="c"), ONE + LOOK),
        (
            tree(Europe="ab", Europa="c", Asia="de"),
            f"{ONE}; its name and a name beside it differ by a letter or less{LOOK}",
        ),
        (
            tree(Europe="ab", EUROPE="c", Asia="d"),
            "2 branches of the tree have one value only; names of 1 of them and a name "
            f"beside it differ by a letter or less{LOOK}",
        ),
        (
            tree(Europe="ab", Europes="c"),
            f"{ONE}; its name and a name beside it differ by a letter or less{LOOK}",
        ),
        (tree(from10to19="ab", from20to19="c"), ONE + LOOK),
        (tree(level="ab", level2="c"), ONE + LOOK),
        (tree(Europe="ab", Eurasia="c"), ONE + LOOK),
        (tree(Europe="ab", Europeans="c"), ONE + LOOK),
        (Domain.nominal(["Europe", "Europa"]), ""),
        (Domain.ordinal(["Europe", "Europa"]), ""),
    ],
)
def test_branches_of_one_value_are_noted(domain: Domain, note: str) -> None:
    assert describe_odd_branches(domain) == note


def test_names_alike_below_other_nodes_are_none() -> None:
    parent = {"a": "Europe", "b": "Europe", "c": "Europa", "Europe": "x", "e": "y"}
    parent |= {"Europa": "y", "x": "*", "y": "*"}
    assert describe_odd_branches(Domain.hierarchical(parent)) == ONE + LOOK


def test_a_level_at_the_root_is_no_branch() -> None:
    assert describe_odd_branches(Domain.hierarchical({"a": "*", "b": "*"})) == ""


def test_encode_has_the_note() -> None:
    frame = pd.DataFrame({"place": ["a", "b", "c"] * 2})
    types = {"place": {"tree": {"Europe": ["a", "b"], "Asia": ["c"]}}}
    assert aggopt.encode(frame, types).notes == (f"'place': {ONE}{LOOK}",)
