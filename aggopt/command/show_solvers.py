"""Print the solvers, a comparison of solvers, and a sweep."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggopt.command.console import print_command, print_line, print_table

if TYPE_CHECKING:
    from aggopt.experiments.compare_solvers import Row
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
        format_figure(row.objective, ".6g"),
        format_figure(row.bound, ".6g"),
        format_figure(row.gap, ".1e"),
        format_figure(row.violation, ".1e"),
        format_figure(row.sl, ".2%").rstrip("%"),
        format_figure(row.si, ".2%").rstrip("%"),
        format_figure(row.seconds, ".2f"),
    )


def print_sweep(points: Sequence["SweepPoint"], files: Iterable[Path]) -> None:
    """Print the points of a sweep, those that no other beats marked."""
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
        shares = (
            format_figure(None if s is None else 100 * s, ".2f") for s in measures
        )
        statistic = [p.keep] if several else []
        rows.append(
            (
                f"{'* ' if p in best else ''}{number}",
                *statistic,
                *map(format_coordinate, p.at.values()),
                *shares,
                format_figure(p.gap, ".1e"),
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


def format_figure(value: float | None, form: str) -> str:
    """Return a figure as text, and none as such."""
    return "none" if value is None else format(value, form)
