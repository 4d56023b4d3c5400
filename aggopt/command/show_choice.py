"""What the command prints of a choice: a table of points and a recommendation."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from aggopt.command import console
from aggopt.command.console import add_row, line, out
from aggopt.command.show_solvers import figure
from aggopt.core.plural import many

if TYPE_CHECKING:
    from aggopt.experiments.choose import ChoicePoint, Choices

HEADINGS = ("gap", "groups' gap", "IL %", "PIL %", "linked %", "limit %", "SI %", "s")


def chosen(found: "Choices", files: list[Path], *, as_json: bool) -> None:
    """Print the points, why some failed, the recommendation and where the files are."""
    if as_json:
        console.as_json(_plain(found, files))
        return
    best = {point.number for point in found.front}
    table = Table(title="* no other point has less linkage and less loss")
    table.box = SIMPLE_HEAD
    table.add_column("point", justify="right")
    for name in found.points[0].asked:
        table.add_column(name, overflow="fold")
    table.add_column("k holds")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    table.add_column("")
    for point in found.points:
        mark = "*" if point.number in best else ""
        asked = ("none" if v is None else str(v) for v in point.asked.values())
        holds = {True: "yes", False: "NO", None: "failed"}[point.holds]
        add_row(table, str(point.number), *asked, holds, *_figures(point), mark)
    out.print(table)
    for point in found.points:
        if point.error is not None:
            line(f"{point.called} failed: {point.message}")
    line(found.verdict)
    line(found.recommendation(), style="bold")
    line(f"Its job, and that of each point: {files[0]} (for you alone)")
    line(f"Figures: {files[1]}, {many(len(found), 'row')}")


def _figures(point: "ChoicePoint") -> list[str]:
    shares = (point.il, point.pil, point.linkage, point.linkage_limit, point.si)
    return [
        figure(point.gap, ".1e"),
        figure(point.groups_gap, ".1e"),
        *(figure(None if s is None else 100 * s, ".1f") for s in shares),
        figure(point.seconds, ".1f"),
    ]


def _plain(found: "Choices", files: list[Path]) -> dict[str, object]:
    best = found.recommended()
    jobs = [point.job.as_text() for point in found.points]
    rows = zip(found.rows, jobs, strict=True)
    return {
        "recommended": None if best is None else best.number,
        "recommendation": found.recommendation(),
        "points": [{**row, "job": job} for row, job in rows],
        "files": list(map(str, files)),
    }
