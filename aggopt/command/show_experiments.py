"""Print solvers and experiments, and write the files of a sweep."""

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from aggopt.command import console
from aggopt.command.console import print_command, print_json, print_line, print_table
from aggopt.core.deferred_signals import defer_signals
from aggopt.core.plural import plural
from aggopt.errors import JobError, PlaceError, TableError
from aggopt.experiments.sweep import SweepPoint, select_pareto_points
from aggopt.release.files.staging import Staging, check_places

if TYPE_CHECKING:
    from aggopt.experiments.compare_solvers import Row
    from aggopt.experiments.reproduce import (
        PublishedCell,
        PublishedTable,
        Reproduced,
        Study,
    )
    from aggopt.experiments.sweep import SweepPoint
    from aggopt.solvers import Solver
if TYPE_CHECKING:
    from aggopt.release.figures.figure import Series


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
    from aggopt.command.show_experiments import format_coordinate
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
            {name: _serialise_study(one) for name, one in load_studies().items()}
        )
        return
    for name, one in load_studies().items():
        print_line(f"{name}: {one.citation}", style="bold")
        for number, table in one.tables.items():
            print_line(f"  --table {number}: {table.title}")


def _serialise_study(study: "Study") -> dict[str, Any]:
    tables = {number: table.title for number, table in study.tables.items()}
    return {"citation": study.citation, "tables": tables, "missing": study.missing}


def print_study(name: str, cells: Sequence["Reproduced"], *, json: bool) -> None:
    """Print the tables of a study: figures computed here above the printed ones."""
    from aggopt.experiments.reproduce import load_study

    study = load_study(name)
    tables = dict.fromkeys(cell.table for cell in cells)
    of = {t: [cell for cell in cells if cell.table is t] for t in tables}
    if json:
        print_json(
            {
                "study": name,
                "citation": study.citation,
                "missing": study.missing,
                "tables": {t.number: _serialise_table(t, of[t]) for t in tables},
            }
        )
        return
    print_line(study.citation, style="bold")
    for table in tables:
        _print_published_table(table, of[table])
    if study.missing:
        print_line("In print, and not here", style="bold")
    for sentence in study.missing:
        print_line(sentence)


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
    if table.method == "seconds":
        processor = platform.processor() or platform.machine()
        print_line(f"Seconds of this machine: {processor}, {os.cpu_count()} cores.")
    if table.note:
        print_line(table.note)


def _count_agreements(cells: Iterable["Reproduced"]) -> str:
    """Return how many figures agree with print, and the largest difference.

    If the table compares methods, return how many of ours are better.
    """
    cells = list(cells)
    compared = [cell.is_better for cell in cells if cell.is_better is not None]
    if compared:
        figures = plural(len(compared), "figure")
        return f"Better than print: {sum(compared)} of {figures}."
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
    """Return the entries that determine the row of a published cell."""
    return (cell.data, cell.figure, *([str(cell.k)] if by_t else []))


def _format_cell(reproduced: "Reproduced") -> str:
    printed = reproduced.cell.printed
    return "\n".join(
        filter(None, (reproduced.shown, f"({printed})" if printed else None))
    )


def draw_study(cells: Sequence["Reproduced"], to: Path) -> None:
    """Draw the computed and the published figures of tables as curves, to a file."""
    from aggopt.experiments.published_picture import draw_reproduced

    picture = draw_reproduced(cells)
    with Staging() as staging:
        staging.write(to, lambda aside: picture.savefig(aside, dpi=150))
        staging.commit(to, overwrite=True)


@dataclass
class SweepFiles:
    """The points that are done, each on disk at once."""

    table: Path
    picture: Path
    points: list[SweepPoint] = field(default_factory=list)
    is_drawn: bool = False

    def add(self, point: SweepPoint) -> None:
        """Keep one more point: the table is written aside and renamed."""
        frame = pd.DataFrame([p.to_dict() for p in (*self.points, point)])
        with defer_signals():  # the points are those of the table
            with Staging() as staging:
                staging.write(self.table, lambda to: frame.to_csv(to, index=False))
                staging.commit(self.table, overwrite=True)
            self.points.append(point)

    def draw(self) -> None:
        """Draw the points, once."""
        if self.points and not self.is_drawn:
            draw_sweep(self.points, self.picture)
            self.is_drawn = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: the files, and each point."""
        files = {"table": str(self.table), "picture": str(self.picture)}
        return {"files": files, "points": [point.to_dict() for point in self.points]}

    @property
    def files(self) -> list[Path]:
        """Where table and picture are."""
        return [self.table, self.picture]


@contextmanager
def open_sweep_files(
    out: Path, *, overwrite: bool, inputs: tuple[Path, ...] = ()
) -> Iterator[SweepFiles]:
    """Yield the store of points; draw the points that are done, even if interrupted.

    Raises
    ------
    TableError
        The folder does not exist, or a file exists and `overwrite` is not set.
    PlaceError
        Table or picture cannot be written; the message names the file that is kept.
    """
    if not out.name:
        raise TableError(f"{out} is no name for files.", fix="pass --out NAME.")
    stem = out.with_suffix("") if out.suffix in (".csv", ".png") else out
    files = SweepFiles(
        stem.with_name(f"{stem.name}.csv"), stem.with_name(f"{stem.name}.png")
    )
    check_places(*files.files, overwrite=overwrite, inputs=inputs)
    try:
        try:
            yield files
        finally:
            files.draw()
    except PlaceError as error:
        if not files.points:
            raise
        raise PlaceError(
            error.problem,
            fix="make room, or choose a folder that may be written to; points that "
            f"are done are kept in {files.table.name}.",
        ) from None


def draw_sweep(points: Sequence[SweepPoint], to: Path) -> None:
    """Draw loss against linkage, the points that no other beats joined by a line."""
    from aggopt.release.figures.figure import (
        add_series_legend,
        draw_tradeoff,
        label_axes,
        make_panels,
    )

    figure, (panel,) = make_panels(1, wide=6.4, high=4.8)
    best = select_pareto_points(points)
    series = _group_series(points)
    labels = [", ".join(map(format_coordinate, p.at.values())) for p in best]
    shown = draw_tradeoff(panel, series, list(map(_get_percentages, best)), labels)
    if len(series) > 1:
        add_series_legend(panel, [group.name for group in series])
    setting_names = ", ".join(points[0].at)
    label_axes(
        panel,
        x=label_risk_axis(points),
        y="probabilistic information loss PIL, %",
        title=f"A grid of {setting_names}; labels: those of points that no other beats",
    )
    figure.colorbar(shown, label="scoring index SI, %")
    with Staging() as staging:
        staging.write(to, lambda aside: figure.savefig(aside, dpi=150))
        staging.commit(to, overwrite=True)


def _group_series(points: Sequence[SweepPoint]) -> "list[Series]":
    """Return the points by the statistic that is kept, their SI as shades."""
    from aggopt.release.figures.figure import Series

    kinds = dict.fromkeys(p.keep for p in points)
    by_statistic = {
        statistic: [p for p in points if p.keep == statistic] for statistic in kinds
    }
    return [
        Series(
            f"{statistic} kept",
            list(map(_get_percentages, of)),
            [100 * p.si for p in of],
        )
        for statistic, of in by_statistic.items()
    ]


def _get_percentages(point: SweepPoint) -> tuple[float, float]:
    return 100 * point.linkage, 100 * point.pil


def format_coordinate(value: object) -> str:
    """Return a coordinate of a point as text."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def label_risk_axis(points: Sequence[SweepPoint]) -> str:
    """Return the label of the risk axis."""
    blocks = sorted({p.blocks for p in points})
    linked = "records linked by one-to-one assignment, %"
    if blocks == [1]:
        return linked
    many = "-".join(map(str, dict.fromkeys((blocks[0], blocks[-1]))))
    return f"{linked} (in {many} blocks: mostly a little too high)"
