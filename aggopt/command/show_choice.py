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

HEADINGS = ("groups", "values", "IL", "PIL", "linked", "limit", "SI", "s")
TITLE = (
    "In %: gaps of groups and of values, losses, linkage with its limit\n"
    "* no other point has less linkage and less loss"
)


def chosen(found: "Choices", files: list[Path], *, as_json: bool) -> None:
    """Print the points, why some failed, the recommendation and where the files are."""
    if as_json:
        console.as_json(_plain(found, files))
        return
    out.print(_table(found))
    for point in found.points:
        if point.error is not None:
            line(f"{point.called} failed: {point.message}")
    line(found.verdict)
    line(found.recommendation(), style="bold")
    line(f"The job of each point: {files[0]} (for you alone)")
    line(f"Figures: {files[1]}, {many(len(found), 'row')}")


def _table(found: "Choices") -> Table:
    table = Table(title=TITLE, box=SIMPLE_HEAD, collapse_padding=True)
    table.add_column("point", justify="right")
    for name in found.points[0].asked:
        table.add_column(name, no_wrap=True)
    table.add_column("k holds", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    best = {point.number for point in found.front}
    for point in found.points:
        number = f"{'* ' if point.number in best else ''}{point.number}"
        asked = ("none" if v is None else str(v) for v in point.asked.values())
        holds = {True: "yes", False: "NO", None: "failed"}[point.holds]
        add_row(table, number, *asked, holds, *_figures(point))
    return table


def _figures(point: "ChoicePoint") -> list[str]:
    if point.error is not None:
        return [""] * len(HEADINGS)
    gaps = point.groups_gap, point.gap
    shares = (*gaps, point.il, point.pil, point.linkage, point.linkage_limit, point.si)
    return [
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
