"""Print the solvers, a comparison of solvers, a sweep, and tables computed again."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggopt.command import console
from aggopt.command.console import print_command, print_json, print_line, print_table
from aggopt.core.plural import plural
from aggopt.errors import JobError

if TYPE_CHECKING:
    from aggopt.experiments.compare_solvers import Row
    from aggopt.experiments.reproduce import PublishedCell, PublishedTable, Reproduced
    from aggopt.experiments.sweep import SweepPoint
    from aggopt.solvers import Solver


SAME_MARGINS = (
    "All solvers have the same secret margins. Each release draws other margins: do "
    "not compare its objective with these."
)
SHARES = "SL: records moved as far as they ask. SI: risk and loss together."
LEGEND = (
    "linkage: records that a one-to-one linkage finds. DR: disclosure risk. PIL, IL: "
    "information loss. SI: risk and loss together. Lower is better. SL: records moved "
    "as far as they ask; higher is better."
)


def print_solvers(solvers: Sequence["Solver"]) -> None:
    """Print the table of solvers, when to use each, and how to install the others."""
    rows = [
        (
            solver.name,
            " ".join(sorted(solver.takes)),
            solver.finds,
            "yes" if solver.installed else f"no: {solver.lacks}",
        )
        for solver in solvers
    ]
    print_table(("name", "takes", "finds", "installed"), rows, title="Solvers")
    print_line("When to use each", style="bold")
    for solver in solvers:
        print_line(f"{solver.name}: {solver.when}.")
    print_line("\nVersions", style="bold")
    for solver in solvers:
        versions = [f"{name} {version}" for name, version in solver.versions.items()]
        if solver.installed and versions:
            print_line(f"{solver.name}: {', '.join(versions)}")
    absent = [solver for solver in solvers if not solver.installed]
    if absent:
        print_line("\nHow to install the others", style="bold")
    for solver in absent:
        print_line(f"{solver.name}:")
        print_command(solver.install)


def describe_solver(solver: "Solver") -> dict[str, Any]:
    """Return the properties of a solver, as plain values."""
    return {
        "name": solver.name,
        "takes": sorted(solver.takes),
        "finds": solver.finds,
        "when": solver.when,
        "installed": solver.installed,
        "versions": solver.versions,
        "install": solver.install,
    }


def print_comparison(rows: Sequence["Row"]) -> None:
    """Print the objective, bound and time of each solver."""
    title = (
        "Over all attributes: sums of objective, bound and seconds; largest gap and "
        "violation"
    )
    headings = ("objective", "bound", "gap", "violation", "SL %", "SI %", "seconds")
    shown = [
        (row.solver, *_format_solver_row(row), _describe_audit(row.holds), row.status)
        for row in rows
        if row.status
    ]
    header = ("solver", *headings, "holds", "status")
    print_table(header, shown, title=title, right=range(1, 1 + len(headings)))
    print_line(f"holds: whether all requirements hold. {SHARES}")
    if any(row.margins for row in rows):
        print_line(SAME_MARGINS)
    for row in rows:
        if row.note:
            print_line(f"{row.solver}: {row.note}")


def _format_solver_row(row: "Row") -> tuple[str, ...]:
    return (
        format_cell(row.objective, ".6g"),
        format_cell(row.bound, ".6g"),
        format_cell(row.gap, ".1e"),
        format_cell(row.violation, ".1e"),
        format_cell(row.sl, ".2%").rstrip("%"),
        format_cell(row.si, ".2%").rstrip("%"),
        format_cell(row.seconds, ".2f"),
    )


def print_sweep(points: Sequence["SweepPoint"], files: Iterable[Path]) -> None:
    """Print the points of a sweep; points that no other beats are marked."""
    from aggopt.command.sweep_files import format_coordinate
    from aggopt.experiments.sweep import select_pareto_points

    best = select_pareto_points(points)
    several = len({p.keep for p in points}) > 1
    settings = (*(["keep"] if several else []), *points[0].at)
    figures = ("linkage %", "PIL %", "SI %", "DR %", "SL %", "IL %", "gap")
    header = ("point", *settings, *figures, "holds", "status")
    rows = []
    for number, p in enumerate(
        points if points[0].settings else sorted(points, key=_get_grid_key), start=1
    ):
        measures = (p.linkage, p.pil, p.si, p.dr, p.sl, p.il)
        shares = (format_cell(None if s is None else 100 * s, ".2f") for s in measures)
        statistic = [p.keep] if several else []
        rows.append(
            (
                f"{'* ' if p in best else ''}{number}",
                *statistic,
                *map(format_coordinate, p.at.values()),
                *shares,
                format_cell(p.gap, ".1e"),
                _describe_audit(p.holds),
                p.status,
            )
        )
    keys = 1 + len(settings)
    print_table(
        header,
        rows,
        title="* no other point has less linkage and less PIL",
        right={0, *range(1 + several, keys + len(figures))},
        keys=keys,
    )
    print_line(f"holds: whether all requirements hold. {LEGEND}")
    print_line(f"Table and picture, for you alone: {', '.join(map(str, files))}")


def _get_grid_key(point: "SweepPoint") -> tuple[Any, ...]:
    return point.keep, point.delta, point.alpha


def _describe_audit(holds: bool | None) -> str:
    """Return in words whether the values satisfy all requirements."""
    return {None: "not audited", True: "yes", False: "NO"}[holds]


def format_cell(value: float | None, form: str) -> str:
    """Return a figure as text, and None as "none"."""
    return "none" if value is None else format(value, form)


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
