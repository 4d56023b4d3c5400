"""Value hierarchies as ARX writes them: a line `leaf;level 1;...;*` for each leaf."""

import csv
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from aggopt.core.plural import plural
from aggopt.core.regular_files import require_regular
from aggopt.encoding.domain import ANYTHING
from aggopt.errors import TableError

Way = tuple[str, ...]  # labels from the root down: identity of a node


def read_rows(path: Path) -> list[list[str]]:
    """Return the lines of a hierarchy file, without a header, separated by semicolons.

    Raises
    ------
    TableError
        The file is missing or not text, or its lines differ in length or have empty
        entries.  The message never quotes the file.
    """
    require_regular(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter=";") if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = []  # the original message may quote a line
    if not rows:
        raise _explain_unreadable(
            f" {path}", "cannot be read as lines of UTF-8 text, or has none"
        )
    return check_rows(rows, f" {path}")


def check_rows(rows: Sequence[Any], name: str = "") -> list[list[str]]:
    """Return the lines of a hierarchy, each a list of its entries.

    Raises
    ------
    TableError
        The lines are not lists of text, differ in length, or have empty entries.
    """
    lines = [[*row] if isinstance(row, list | tuple) else [] for row in rows]
    if not all(row and all(isinstance(entry, str) for entry in row) for row in lines):
        raise _explain_unreadable(name, "has lines that are no lists of text")
    lengths = sorted(set(map(len, lines)))
    if len(lengths) > 1:
        raise _explain_unreadable(
            name, f"has lines of {lengths[0]} to {lengths[-1]} entries: fill each up"
        )
    empty = sum(not all(row) for row in lines)
    if empty:
        raise _explain_unreadable(name, f"has empty entries in {plural(empty, 'line')}")
    return lines


def list_ways(rows: Sequence[Sequence[str]]) -> list[Way]:
    """Return the path from the root to each leaf, as the labels on it.

    A label may occur in several branches.  Equal neighbours in a line are padding.  The
    exception is a leaf with the label of a node that has other leaves: the leaf is a
    child of that node.  If lines end in different labels, the root is called "*".

    Raises
    ------
    TableError
        A leaf occurs in more than one line.

    Examples
    --------
    >>> list_ways([["a", "a", "x", "*"], ["b", "y", "x", "*"]])
    [('*', 'x', 'a'), ('*', 'x', 'y', 'b')]
    """
    twice = sum(times > 1 for times in Counter(row[0] for row in rows).values())
    if twice:
        verb = "is" if twice == 1 else "are"
        raise TableError(
            f"{plural(twice, 'value')} of the hierarchy {verb} in more than one line.",
            fix="keep one line for each value.",
        )
    rooted = len(rows[0]) > 1 and len({row[-1] for row in rows}) == 1
    leaves = [_make_way([*row] if rooted else [*row, ANYTHING]) for row in rows]
    inner = {way[:depth] for way in leaves for depth in range(1, len(way))}
    return [(*way, way[-1]) if way in inner or len(way) == 1 else way for way in leaves]


def _make_way(row: list[str]) -> Way:
    """Return the path from the root to the leaf of a line."""
    from_root = row[::-1]
    labels = [from_root[0]]
    labels += [label for above, label in pairwise(from_root) if label != above]
    return tuple(labels)


def build_arx_tree(
    leaves: Sequence[Way], *, complete: bool
) -> tuple[dict[Any, Any], dict[Any, Hashable]]:
    """Return the parent and the name of each node.

    With `complete`, leaves whose names spell whole numbers are these numbers.
    """
    nodes = {way[:depth] for way in leaves for depth in range(1, len(way) + 1)}
    parent = {node: node[:-1] for node in nodes if len(node) > 1}
    name: dict[Any, Hashable] = {node: node[-1] for node in nodes}
    if complete:
        name |= {way: int(way[-1]) for way in leaves if _is_whole(way[-1])}
    return parent, name


def _is_whole(label: str) -> bool:
    return label.removeprefix("-").isdecimal() and str(int(label)) == label


def _explain_unreadable(name: str, shown: str) -> TableError:
    """Return the error of a hierarchy file that cannot be read."""
    return TableError(
        f"The hierarchy{name} {shown}.",
        fix="write a line for each value: the value, then its ancestors, up to *, "
        "separated by semicolons.",
    )
