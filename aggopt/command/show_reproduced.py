"""Lines on published tables: those that exist, and figures computed again."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aggopt.command import console
from aggopt.command.console import print_json, print_line
from aggopt.core.plural import plural
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.experiments.reproduce import PublishedCell, PublishedTable, Reproduced


def print_studies(*, has_options: bool, json: bool) -> None:
    """Print the studies with their tables; refuse options that are of one study."""
    from aggopt.experiments.reproduce import load_studies

    if has_options:
        raise JobError(
            "An option needs a study, and none is named.",
            fix="name a study; `aggopt reproduce` without options lists them.",
        )
    if json:
        print_json(
            {
                name: _serialise_study(one.citation, one.tables)
                for name, one in load_studies().items()
            }
        )
        return
    for name, one in load_studies().items():
        print_line(f"{name}: {one.citation}", style="bold")
        for number, table in one.tables.items():
            print_line(f"  --table {number}: {table.title}")


def _serialise_study(citation: str, tables: Any) -> dict[str, Any]:
    return {"citation": citation, "tables": {n: t.title for n, t in tables.items()}}


def print_study(name: str, cells: Sequence["Reproduced"], *, json: bool) -> None:
    """Print the tables of a study: figures computed here above the printed ones."""
    from aggopt.experiments.reproduce import load_study

    tables = dict.fromkeys(cell.table for cell in cells)
    of = {t: [cell for cell in cells if cell.table is t] for t in tables}
    if json:
        print_json(
            {
                "study": name,
                "citation": load_study(name).citation,
                "tables": {t.number: _serialise_table(t, of[t]) for t in tables},
            }
        )
        return
    print_line(load_study(name).citation, style="bold")
    for table in tables:
        _print_published_table(table, of[table])


def _serialise_table(
    table: "PublishedTable", cells: Iterable["Reproduced"]
) -> dict[str, Any]:
    plain_cells = [cell.to_dict() for cell in cells]
    return {"title": table.title, "note": table.note, "cells": plain_cells}


def _print_published_table(
    table: "PublishedTable", cells: Sequence["Reproduced"]
) -> None:
    by_t = table.cells[0].t is not None
    across = dict.fromkeys(_format_requirement(cell.cell) for cell in cells)
    first = ("data", "figure", *(["k"] if by_t else []))
    rows: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        rows.setdefault(_list_row_keys(cell.cell, by_t=by_t), []).append(
            _format_cell(cell)
        )
    console.print_table(
        (*first, *across),
        [(*row, *shown) for row, shown in rows.items()],
        title=f"Table {table.number}: {table.title}\ncomputed here (and as printed)",
        right=range(len(first), len(first) + len(across)),
        keys=len(first),
    )
    agreement = _count_agreements(cells)
    if agreement:
        print_line(agreement)
    if table.note:
        print_line(table.note)


def _count_agreements(cells: Iterable["Reproduced"]) -> str:
    """Return how many figures agree with print, and the largest difference."""
    both = [cell for cell in cells if cell.agrees is not None]
    if not both:
        return ""
    same = sum(bool(cell.agrees) for cell in both)
    apart = [abs(n) for cell in both if (n := cell.difference) is not None]
    largest = f"; the largest difference is {max(apart):.4g}" if apart else ""
    return f"Equal to print: {same} of {plural(len(both), 'figure')}{largest}."


def _format_requirement(cell: "PublishedCell") -> str:
    return f"k = {cell.k}" if cell.t is None else f"t = {cell.t:g}"


def _list_row_keys(cell: "PublishedCell", *, by_t: bool) -> tuple[str, ...]:
    return (cell.data, cell.figure, *([str(cell.k)] if by_t else []))


def _format_cell(reproduced: "Reproduced") -> str:
    printed = reproduced.cell.printed
    return "\n".join(
        filter(None, (reproduced.shown, f"({printed})" if printed else None))
    )
