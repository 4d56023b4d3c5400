"""Lines on published tables: those that exist, and figures computed again."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aggopt.command import console
from aggopt.command.console import as_json, line
from aggopt.core.plural import plural
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.experiments.reproduce import PublishedCell, PublishedTable, Reproduced


def listed(*, given: bool, json: bool) -> None:
    """Print the studies with their tables; refuse options that are of one study."""
    from aggopt.experiments.reproduce import load_studies

    if given:
        raise JobError(
            "An option needs a study, and none is named.",
            fix="name a study; `aggopt reproduce` without options lists them.",
        )
    if json:
        as_json(
            {
                name: _listed(one.citation, one.tables)
                for name, one in load_studies().items()
            }
        )
        return
    for name, one in load_studies().items():
        line(f"{name}: {one.citation}", style="bold")
        for number, table in one.tables.items():
            line(f"  --table {number}: {table.title}")


def _listed(citation: str, tables: Any) -> dict[str, Any]:
    return {"citation": citation, "tables": {n: t.title for n, t in tables.items()}}


def reproduced(name: str, cells: Sequence["Reproduced"], *, json: bool) -> None:
    """Print the tables of a study: figures computed here above the printed ones."""
    from aggopt.experiments.reproduce import load_study

    tables = dict.fromkeys(cell.table for cell in cells)
    of = {t: [cell for cell in cells if cell.table is t] for t in tables}
    if json:
        as_json(
            {
                "study": name,
                "citation": load_study(name).citation,
                "tables": {t.number: _plain(t, of[t]) for t in tables},
            }
        )
        return
    line(load_study(name).citation, style="bold")
    for table in tables:
        _table(table, of[table])


def _plain(table: "PublishedTable", cells: Iterable["Reproduced"]) -> dict[str, Any]:
    found = [cell.to_dict() for cell in cells]
    return {"title": table.title, "note": table.note, "cells": found}


def _table(table: "PublishedTable", cells: Sequence["Reproduced"]) -> None:
    by_t = table.cells[0].t is not None
    across = dict.fromkeys(_across(each.cell) for each in cells)
    first = ("data", "figure", *(["k"] if by_t else []))
    rows: dict[tuple[str, ...], list[str]] = {}
    for each in cells:
        rows.setdefault(_row(each.cell, by_t=by_t), []).append(_shown(each))
    console.table(
        (*first, *across),
        [(*row, *shown) for row, shown in rows.items()],
        title=f"Table {table.number}: {table.title}\ncomputed here (and as printed)",
        right=range(len(first), len(first) + len(across)),
        keys=len(first),
    )
    said = _beside(cells)
    if said:
        line(said)
    if table.note:
        line(table.note)


def _beside(cells: Iterable["Reproduced"]) -> str:
    """Return how many figures agree with print, and the largest difference."""
    both = [each for each in cells if each.agrees is not None]
    if not both:
        return ""
    same = sum(bool(each.agrees) for each in both)
    apart = [abs(n) for each in both if (n := each.difference) is not None]
    most = f"; the largest difference is {max(apart):.4g}" if apart else ""
    return f"Equal to print: {same} of {plural(len(both), 'figure')}{most}."


def _across(cell: "PublishedCell") -> str:
    return f"k = {cell.k}" if cell.t is None else f"t = {cell.t:g}"


def _row(cell: "PublishedCell", *, by_t: bool) -> tuple[str, ...]:
    return (cell.data, cell.figure, *([str(cell.k)] if by_t else []))


def _shown(each: "Reproduced") -> str:
    printed = each.cell.printed
    return "\n".join(filter(None, (each.shown, f"({printed})" if printed else None)))
