"""What the command prints of a choice: a table of points and a recommendation."""

from pathlib import Path
from typing import TYPE_CHECKING

from aggopt.command import console
from aggopt.command.console import line, table
from aggopt.command.show_solvers import figure
from aggopt.core.plural import plural

if TYPE_CHECKING:
    from aggopt.experiments.choose import ChoicePoint, Choices

HEADINGS = (
    *("group\ngap %", "value\ngap %", "IL %", "PIL %", "linked\n%", "limit\n%"),
    *("SI %", "seconds"),
)
TITLE = "* no other point has less linkage and less loss"
LEGEND = (
    "holds: whether all requirements hold. Group gap, value gap: the groups, and their "
    "values, are at most so much worse than the best. IL, PIL: information loss. "
    "linked: records that a one-to-one linkage finds; limit: no linkage finds more. "
    "SI: risk and loss together. Lower is better."
)


def chosen(found: "Choices", files: list[Path], *, as_json: bool) -> None:
    """Print the points, why some failed, the recommendation and where the files are."""
    if as_json:
        console.as_json(_plain(found, files))
        return
    _table(found)
    for message, points in _failures(found).items():
        line(f"{', '.join(points)} failed: {message}")
    line(found.verdict)
    line(found.recommendation(), style="bold")
    line(f"The job of each point: {files[0]} (for you alone)")
    line(f"Figures: {files[1]}, {plural(len(found), 'row')}")


def _failures(found: "Choices") -> dict[str, list[str]]:
    """Return the points that failed, by the reason: many have the same one."""
    by_message: dict[str, list[str]] = {}
    for point in found.points:
        if point.error is not None:
            by_message.setdefault(str(point.message), []).append(point.called)
    return by_message


def _table(found: "Choices") -> None:
    settings = tuple(found.points[0].asked)
    header = ("point", *settings, "holds", *HEADINGS)
    best = {point.number for point in found.front}
    rows = []
    for point in found.points:
        number = f"{'* ' if point.number in best else ''}{point.number}"
        asked = ("none" if v is None else str(v) for v in point.asked.values())
        holds = {True: "yes", False: "NO", None: "failed"}[point.holds]
        rows.append((number, *asked, holds, *_figures(point)))
    keys = 1 + len(settings)
    right = {0, *range(keys + 1, len(header))}
    table(header, rows, title=TITLE, right=right, keys=keys)
    line(LEGEND)


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
