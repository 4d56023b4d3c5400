"""The page of a choice: what its template speaks of."""

from collections.abc import Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from aggopt.core.plural import plural
from aggopt.experiments._choice_grid import words
from aggopt.experiments._choice_point import ChoicePoint
from aggopt.experiments._choice_result import LOSSES, Tried, percent
from aggopt.release.report.charts import scatter
from aggopt.release.report.page import TEMPLATES, page
from aggopt.release.report.parts import DataTable, Figure

if TYPE_CHECKING:
    from aggopt.job import Job

FIGURES = (
    *("k holds", "gap of groups, %", "gap of values, %", "IL, %", "PIL, %"),
    *("linked, %", "limit, %", "SI, %", "seconds", "job"),
)
LINKED = FIGURES.index("linked, %")
AXIS = {"pil": "probabilistic information loss PIL", "il": "information loss IL"}


def page_of(choice: Tried) -> str:
    """Return the text of the page."""
    chosen = choice.recommended()
    head, _, rest = choice.recommendation().partition(": ")
    axes = _labels(choice.points)
    return page(
        "choice.html",
        script=(TEMPLATES / "choice.js").read_text("utf-8"),
        title=f"Releases of {choice.called} to choose from",
        verdict=choice.verdict,
        axes="; ".join(words({n: ", ".join(of)}) for n, of in axes.items()),
        chosen=None if chosen is None else chosen.number,
        advice=(f"{head}{_of(chosen)}", rest[:1].upper() + rest[1:]),
        limited=f"{percent(choice.at_most)} linked",
        map=_map(choice, list(axes)) if choice.placed else None,
        blocks=_blocks(choice.placed),
        filters=[
            {"name": name, "labels": of, "column": column}
            for column, (name, of) in enumerate(axes.items(), start=1)
        ],
        linked=1 + len(axes) + LINKED,
        points=_points(choice.points, list(axes)),
        failed=[point for point in choice.points if point.error is not None],
        jobs=[_job(point, choice.table) for point in choice.points],
    )


def _of(chosen: ChoicePoint | None) -> str:
    return "" if chosen is None else f": point {chosen.number}"


def _labels(points: Sequence[ChoicePoint]) -> dict[str, list[str]]:
    """Return the settings varied, by name, with their labels in the table."""
    found: dict[str, dict[str, None]] = {}
    for point in points:
        for name, value in point.asked.items():
            found.setdefault(name, {})[_label(value)] = None
    return {name: list(labels) for name, labels in found.items()}


def _label(value: Any) -> str:
    return "none" if value is None else str(value)


def _points(points: Sequence[ChoicePoint], axes: Sequence[str]) -> DataTable:
    rows = [
        [
            point.number,
            *(_label(point.asked[name]) for name in axes),
            *_figures(point),
            Markup('<a href="#job-{0}">job {0}</a>').format(point.number),
        ]
        for point in points
    ]
    first = 1 + len(axes)
    return DataTable(
        "All points: what was gone through, and the figures of each release",
        ("point", *axes, *FIGURES),
        rows,
        numeric=range(first + 1, first + len(FIGURES) - 1),
        ids=[f"point-{point.number}" for point in points],
    )


def _figures(point: ChoicePoint) -> list[str]:
    """Return the cells of `FIGURES`, but for the last."""
    if point.error is not None:
        broken = "NO" if point.holds is False else "failed"
        return [broken, *[""] * (len(FIGURES) - 2)]
    gaps = point.groups_gap, point.gap
    shares = (point.il, point.pil, point.linkage, point.linkage_limit, point.si)
    return [
        f"yes ({point.smallest})",
        *("unproven" if gap is None else _hundredths(gap) for gap in gaps),
        *("none" if share is None else _hundredths(share) for share in shares),
        f"{point.seconds:.1f}",
    ]


def _hundredths(share: float) -> str:
    return f"{100 * share:.1f}"


def _map(choice: Tried, axes: Sequence[str]) -> Figure:
    """Return the map of points that have a place on it."""
    loss, best = LOSSES[choice.loss], [point.number for point in choice.front]
    table = DataTable(
        f"Records linked and {loss} of each point",
        ("point", "linked", loss),
        [(p.number, *map(percent, _place(choice, p))) for p in choice.placed],
        numeric=(1, 2),
    )
    listed = ", ".join(map(str, best))
    caption = f"Points that no other beats in both: {listed}."
    return Figure(_chart(choice, axes, best), caption, table)


def _chart(choice: Tried, axes: Sequence[str], best: Sequence[int]) -> Markup:
    placed, chosen = choice.placed, choice.recommended()
    names, joined = _series([name for name in axes if name != "k"], placed)
    numbers = [point.number for point in placed]
    return scatter.scatter(
        [
            scatter.Point(
                series=_name(names, point),
                label=_mark(point, best),
                x=_place(choice, point)[0],
                y=_place(choice, point)[1],
                says=_says(choice, point),
                href=f"#job-{point.number}",
            )
            for point in placed
        ],
        title=f"Records linked against {LOSSES[choice.loss]}, of each point",
        x="records linked by one-to-one assignment",
        y=AXIS[choice.loss],
        chosen=None if chosen is None else numbers.index(chosen.number),
        mark="recommended",
        joined=joined,
        front=[numbers.index(number) for number in best],
        limit=choice.at_most,
    )


def _mark(point: ChoicePoint, best: Sequence[int]) -> str:
    """Return the label of a point: its number on the front, and k if it varies."""
    number = str(point.number) if point.number in best else ""
    k = f"k = {point.asked['k']}" if "k" in point.asked else ""
    return ", ".join(filter(None, (number, k)))


def _place(choice: Tried, point: ChoicePoint) -> tuple[float, float]:
    linkage: Any = point.linkage
    return linkage, choice.loss_of(point)


def _says(choice: Tried, point: ChoicePoint) -> str:
    linked, lost = map(percent, _place(choice, point))
    return f"{point.called}: {linked} linked, {LOSSES[choice.loss]} {lost}"


def _series(
    axes: Sequence[str], points: Sequence[ChoicePoint]
) -> tuple[Sequence[str], bool]:
    """Return the settings that distinguish the series, and whether only k remains.

    They are the first settings, as many as the number of series styles allows.
    """
    for count in range(len(axes), 0, -1):
        names = axes[:count]
        if len({_name(names, point) for point in points}) <= scatter.MARKS:
            return names, count == len(axes)
    return (), not axes


def _name(names: Sequence[str], point: ChoicePoint) -> str:
    """Return the name of a series."""
    return ", ".join(_label(point.asked[name]) for name in names) or "all points"


def _blocks(placed: Sequence[ChoicePoint]) -> str:
    """Return the note on linkage in blocks."""
    most = max((point.linkage_blocks or 1 for point in placed), default=1)
    if most == 1:
        return ""
    return (
        f"Records were linked in up to {plural(most, 'block')}, which mostly gives a "
        "little more than all at once."
    )


def _job(point: ChoicePoint, table: Path | None) -> dict[str, Any]:
    return {
        "number": point.number,
        "called": point.called,
        "command": _command(point.job, point.number, table),
        "text": point.job.as_text(),
    }


def _command(job: "Job", number: int, table: Path | None) -> str:
    """Return the line that makes the release of a point."""
    name = f"point-{number}.toml"
    files = [str(origin.file) for origin in job.code if origin.file is not None]
    trust = list(dict.fromkeys(files))
    if table is None:
        more = f", trust={trust}" if trust else ""
        return f'aggopt.mask(table, "{name}"{more}).write("masked.csv")'
    named = [word for file in trust for word in ("--trust", file)]
    return join(["aggopt", "mask", str(table), name, "--out", "masked.csv", *named])
