"""Print a choice: a table of points and a recommendation."""

from pathlib import Path
from typing import TYPE_CHECKING

from aggopt.command import console
from aggopt.command.console import print_line, print_table
from aggopt.command.show_experiments import format_cell
from aggopt.core.plural import plural

if TYPE_CHECKING:
    from aggopt.experiments.choose import ChoicePoint, Choices

CHOICE_HEADINGS = (
    *("group\ngap %", "value\ngap %", "IL %", "PIL %", "linked\n%", "limit\n%"),
    *("SI %", "seconds"),
)
CHOICE_TITLE = "* no other point has less linkage and less loss"
LEGEND = (
    "holds: whether all requirements hold. Group gap, value gap: the groups, and their "
    "values, are at most so much worse than the best. IL, PIL: information loss. "
    "linked: records that a one-to-one linkage finds; limit: no linkage finds more. "
    "SI: risk and loss together. Lower is better."
)


def print_choices(choices: "Choices", files: list[Path], *, as_json: bool) -> None:
    """Print the points, the reasons of failures, the recommendation and the files."""
    if as_json:
        console.print_json(_serialise_choices(choices, files))
        return
    _print_points(choices)
    for message, points in _failures(choices).items():
        print_line(f"{', '.join(points)} failed: {message}")
    print_line(choices.verdict)
    print_line(choices.recommendation(), style="bold")
    print_line(f"The job of each point: {files[0]} (for you alone)")
    print_line(f"Figures: {files[1]}, {plural(len(choices), 'row')}")


def _failures(found: "Choices") -> dict[str, list[str]]:
    """Return the points that failed, by the reason: many share one."""
    by_message: dict[str, list[str]] = {}
    for point in found.points:
        if point.error is not None:
            by_message.setdefault(str(point.message), []).append(point.called)
    return by_message


def _print_points(choices: "Choices") -> None:
    settings = tuple(choices.points[0].asked)
    header = ("point", *settings, "holds", *CHOICE_HEADINGS)
    best = {point.number for point in choices.front}
    rows = []
    for point in choices.points:
        number = f"{'* ' if point.number in best else ''}{point.number}"
        values = ("none" if v is None else str(v) for v in point.asked.values())
        holds = {True: "yes", False: "NO", None: "failed"}[point.holds]
        rows.append((number, *values, holds, *_format_point(point)))
    keys = 1 + len(settings)
    right = {0, *range(keys + 1, len(header))}
    print_table(header, rows, title=CHOICE_TITLE, right=right, keys=keys)
    print_line(LEGEND)


def _format_point(point: "ChoicePoint") -> list[str]:
    if point.error is not None:
        return [""] * len(CHOICE_HEADINGS)
    gaps = point.groups_gap, point.gap
    shares = (*gaps, point.il, point.pil, point.linkage, point.linkage_limit, point.si)
    return [
        *(format_cell(None if s is None else 100 * s, ".1f") for s in shares),
        format_cell(point.seconds, ".1f"),
    ]


def _serialise_choices(choices: "Choices", files: list[Path]) -> dict[str, object]:
    best = choices.recommended()
    jobs = [point.job.as_text() for point in choices.points]
    rows = zip(choices.rows, jobs, strict=True)
    return {
        "recommended": None if best is None else best.number,
        "recommendation": choices.recommendation(),
        "points": [{**row, "job": job} for row, job in rows],
        "files": list(map(str, files)),
    }
