"""What the command prints of solvers, one by one, compared and over a grid."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from aggopt.command.console import add_row, line, out

if TYPE_CHECKING:
    from aggopt.experiments._solver_rows import Row
    from aggopt.experiments.sweep import SweepPoint
    from aggopt.solvers import Solver


def solvers(solvers: Sequence["Solver"]) -> None:
    """Print the table of solvers, when to use each, and how to get those not here."""
    table = Table(title="Solvers", box=SIMPLE_HEAD)
    for heading in ("name", "takes", "finds", "here"):
        table.add_column(heading, no_wrap=True)
    for solver in solvers:
        takes = " ".join(sorted(solver.takes))
        here = "yes" if solver.installed else f"no: {solver.lacks}"
        add_row(table, solver.name, takes, solver.finds, here)
    out.print(table)
    for solver in solvers:
        line(f"{solver.name}: {solver.when}.")
    for solver in solvers:
        versions = [f"{name} {version}" for name, version in solver.versions.items()]
        if solver.installed and versions:
            line(f"{solver.name}: {', '.join(versions)}")
    for solver in solvers:
        if not solver.installed:
            line(f"{solver.name}: {solver.install}")


def solver_facts(solver: "Solver") -> dict[str, Any]:
    """Return what a user may ask of a solver, as plain values."""
    return {
        "name": solver.name,
        "takes": sorted(solver.takes),
        "finds": solver.finds,
        "when": solver.when,
        "installed": solver.installed,
        "versions": solver.versions,
        "install": solver.install,
    }


def compared(rows: Sequence["Row"]) -> None:
    """Print what each solver found, proved and took."""
    title = "Sums over attributes; gap and violation are the largest"
    table = Table(title=title, box=SIMPLE_HEAD)
    headings = ("objective", "bound", "gap", "violation", "SL %", "SI %", "seconds")
    table.add_column("solver", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("promises")
    table.add_column("status")
    for row in rows:
        if row.status:
            add_row(table, row.solver, *_figures(row), _says(row.holds), row.status)
    out.print(table)
    for row in rows:
        if row.note:
            line(f"{row.solver}: {row.note}")


def _figures(row: "Row") -> tuple[str, ...]:
    return (
        figure(row.objective, ".6g"),
        figure(row.bound, ".6g"),
        figure(row.gap, ".1e"),
        figure(row.violation, ".1e"),
        figure(row.sl, ".2%").rstrip("%"),
        figure(row.si, ".2%").rstrip("%"),
        figure(row.seconds, ".2f"),
    )


def swept(points: Sequence["SweepPoint"], files: Iterable[Path]) -> None:
    """Print the points of a sweep, those that no other beats marked."""
    from aggopt.command.sweep_files import spelled
    from aggopt.experiments.sweep import pareto

    best = pareto(points)
    table = Table(title="* no other point has less risk and less loss")
    several = len({p.keep for p in points}) > 1
    if several:
        table.add_column("keep", no_wrap=True)
    for heading in (*points[0].at, "linkage %", "PIL %", "SI %", "DR %", "SL %"):
        table.add_column(heading, justify="right")
    for heading in ("IL %", "gap"):
        table.add_column(heading, justify="right")
    table.add_column("promises")
    table.add_column("")
    table.add_column("status")
    for p in points if points[0].settings else sorted(points, key=_in_grid):
        found = (p.linkage, p.pil, p.si, p.dr, p.sl, p.il)
        shares = (figure(None if s is None else 100 * s, ".2f") for s in found)
        gap, mark = figure(p.gap, ".1e"), "*" if p in best else ""
        figures = (*map(spelled, p.at.values()), *shares, gap)
        kept = [p.keep] if several else []
        add_row(table, *kept, *figures, _says(p.holds), mark, p.status)
    out.print(table)
    for path in files:
        line(str(path))


def _in_grid(point: "SweepPoint") -> tuple[Any, ...]:
    return point.keep, point.delta, point.alpha


def _says(holds: bool | None) -> str:
    """Say what the audit of values that were tried found; of no values, nothing."""
    return {None: "not audited", True: "kept", False: "BROKEN"}[holds]


def figure(value: float | None, form: str) -> str:
    """Return a figure as text, and none as such."""
    return "none" if value is None else format(value, form)
