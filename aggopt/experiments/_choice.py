"""Result of a choice, as text, a table of any kind, a picture or a page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from aggopt.core.equality import EqualByField
from aggopt.core.html import render_html_section, render_html_table, render_text_table
from aggopt.core.plural import plural
from aggopt.core.validation import is_number
from aggopt.errors import JobError, require_known
from aggopt.experiments._cell import Figures
from aggopt.experiments._choice_grid import ChoicePoint, name_point
from aggopt.experiments._picture import find_front
from aggopt.experiments.tidy_rows import TidyRows, Writer, write_files
from aggopt.release.report.charts import scatter
from aggopt.release.report.page import TEMPLATES, DataTable, Figure, fill_template

LOSSES = {"pil": "PIL", "il": "IL"}


@dataclass(frozen=True, eq=False, repr=False)
class Tried:
    """Points of a choice, and the recommended one.

    Attributes
    ----------
    points
        The finished points, in the order of the settings varied.
    asked
        Number of requested points, done or not: an interrupt leaves some out.
    table
        Its path; None for a table in memory.
    at_most
        Maximum share of linked records, which the recommendation respects.
    loss
        "pil" or "il": the loss to minimise.
    """

    points: tuple[ChoicePoint, ...] = field(repr=False)
    asked: int
    table: Path | None
    at_most: float
    loss: str

    @property
    def called(self) -> str:
        """What sentences call the table."""
        return "the table" if self.table is None else self.table.name

    @property
    def placed(self) -> tuple[ChoicePoint, ...]:
        """The points that have a place on the map: linkage and loss."""
        return tuple(
            point
            for point in self.points
            if point.linkage is not None and self.loss_of(point) is not None
        )

    @property
    def front(self) -> tuple[ChoicePoint, ...]:
        """The points that no other beats in linkage and loss, by linkage."""
        placed = self.placed
        return tuple(
            placed[j]
            for j in find_front([self._get_point_coordinates(p) for p in placed])
        )

    def loss_of(self, point: ChoicePoint) -> Any:
        """Return the loss of a point, as `loss` names it."""
        return getattr(point, self.loss)

    def recommended(self, at_most: float | None = None) -> ChoicePoint | None:
        """Return the point with the least loss among points within the maximum linkage.

        None if all link more.  `at_most` is the choice's own when omitted.

        Raises
        ------
        JobError
            `at_most` is not a share.
        """
        limit = self.at_most if at_most is None else read_at_most(at_most)
        within = [
            point
            for point in self.front
            if self._get_point_coordinates(point)[0] <= limit
        ]
        return within[-1] if within else None

    def recommendation(self, at_most: float | None = None) -> str:
        """Describe the recommended point, or the closest one if none qualifies."""
        limit = self.at_most if at_most is None else read_at_most(at_most)
        point = self.recommended(limit)
        condition = f"At most {format_short_percent(limit)} linked"
        if point is not None:
            return (
                f"{condition}, least {LOSSES[self.loss]}: {point.called}. "
                f"{self._describe_figures(point)}"
            )
        if not self.front:
            return f"{condition}: nothing can be recommended, as no point has figures."
        safest = self.front[0]
        return (
            f"{condition}: no point qualifies, and {safest.called} links least. "
            f"{self._describe_figures(safest)} Allow a larger share, or try larger k."
        )

    @property
    def verdict(self) -> str:
        """How many points are done, and how many failed."""
        done = len(self.points)
        failed = sum(p.error is not None for p in self.points)
        some = f"{done} of " if done < self.asked else ""
        return f"Choice: {some}{plural(self.asked, 'point')}, {failed} failed."

    def _get_point_coordinates(self, point: ChoicePoint) -> tuple[float, float]:
        linkage: Any = point.linkage
        return linkage, self.loss_of(point)

    def _describe_figures(self, point: ChoicePoint) -> str:
        linkage, lost = self._get_point_coordinates(point)
        limit: Any = point.linkage_limit
        return (
            f"It links {format_short_percent(linkage)} of the records "
            f"(no linkage exceeds {format_short_percent(limit)}), "
            f"with {LOSSES[self.loss]} {format_short_percent(lost)}."
        )


def format_short_percent(share: float) -> str:
    """Return a share in percent, with a decimal.

    Examples
    --------
    >>> format_short_percent(0.1), format_short_percent(0.0832)
    ('10 %', '8.3 %')
    """
    return f"{round(100 * share, 1):g} %"


def read_at_most(share: object) -> float:
    """Return the largest share of linked records as a number from 0 to 1.

    Raises
    ------
    JobError
        It is none.
    """
    if not is_number(share) or not 0 <= share <= 1:  # type: ignore[operator]
        raise JobError(
            f"at_most = {share}.",
            fix="name a share of the records, 0 to 1: 0.1 is 10 %.",
        )
    return float(share)  # type: ignore[arg-type]


def require_loss(loss: object) -> None:
    """Refuse an unknown loss for a choice; raises `UnknownNameError`."""
    require_known("loss", loss, LOSSES)


if TYPE_CHECKING:
    from aggopt.job import Job

FIGURES = (
    *("holds", "gap of groups, %", "gap of values, %", "IL, %", "PIL, %"),
    *("linked, %", "limit, %", "SI, %", "seconds", "job"),
)
LINKED = FIGURES.index("linked, %")
AXIS = {"pil": "probabilistic information loss PIL", "il": "information loss IL"}


def render_page(choice: Tried) -> str:
    """Return the text of the page."""
    chosen = choice.recommended()
    head, _, rest = choice.recommendation().partition(": ")
    axes = _list_labels(choice.points)
    return fill_template(
        "choice.html",
        script=(TEMPLATES / "choice.js").read_text("utf-8"),
        title=f"Releases of {choice.called} to choose from",
        verdict=choice.verdict,
        axes="; ".join(name_point({n: ", ".join(of)}) for n, of in axes.items()),
        chosen=None if chosen is None else chosen.number,
        advice=(f"{head}{_format_chosen(chosen)}", rest[:1].upper() + rest[1:]),
        limited=f"{format_short_percent(choice.at_most)} linked",
        map=draw_map(choice),
        blocks=_describe_blocks(choice.placed),
        filters=[
            {"name": name, "labels": of, "column": column}
            for column, (name, of) in enumerate(axes.items(), start=1)
        ],
        linked=1 + len(axes) + LINKED,
        points=_list_points(choice.points, list(axes)),
        failed=[point for point in choice.points if point.error is not None],
        jobs=[_render_job(point, choice.table) for point in choice.points],
    )


def _format_chosen(chosen: ChoicePoint | None) -> str:
    return "" if chosen is None else f": point {chosen.number}"


def _list_labels(points: Sequence[ChoicePoint]) -> dict[str, list[str]]:
    """Return the settings varied, by name, with their labels in the table."""
    labels_by_name: dict[str, dict[str, None]] = {}
    for point in points:
        for name, value in point.asked.items():
            labels_by_name.setdefault(name, {})[_make_label(value)] = None
    return {name: list(labels) for name, labels in labels_by_name.items()}


def _make_label(value: Any) -> str:
    return "none" if value is None else str(value)


def _list_points(points: Sequence[ChoicePoint], axes: Sequence[str]) -> DataTable:
    rows = [
        [
            point.number,
            *(_make_label(point.asked[name]) for name in axes),
            *_format_figures(point),
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


def _format_figures(point: ChoicePoint) -> list[str]:
    """Return the cells of `FIGURES`, but for the last."""
    if point.error is not None:
        broken = "NO" if point.holds is False else "failed"
        return [broken, *[""] * (len(FIGURES) - 2)]
    gaps = point.groups_gap, point.gap
    shares = (point.il, point.pil, point.linkage, point.linkage_limit, point.si)
    return [
        f"yes ({point.smallest})",
        *("unproven" if gap is None else _round_share(gap) for gap in gaps),
        *("none" if share is None else _round_share(share) for share in shares),
        f"{point.seconds:.1f}",
    ]


def _round_share(share: float) -> str:
    """Return a share in percent, with one decimal."""
    return f"{100 * share:.1f}"


def draw_map(choice: Tried) -> Figure | None:
    """Return the map of risk and loss; None if no point has a place on it."""
    if not choice.placed:
        return None
    axes = list(_list_labels(choice.points))
    loss = LOSSES[choice.loss]
    best = [point.number for point in choice.front]
    table = DataTable(
        f"Records linked and {loss} of each point",
        ("point", "linked", loss),
        [
            (p.number, *map(format_short_percent, _get_coordinates(choice, p)))
            for p in choice.placed
        ],
        numeric=(1, 2),
    )
    listed = ", ".join(map(str, best))
    caption = f"Points that no other beats in both: {listed}."
    return Figure(_draw_chart(choice, axes, best), caption, table)


def _draw_chart(choice: Tried, axes: Sequence[str], best: Sequence[int]) -> Markup:
    placed = choice.placed
    chosen = choice.recommended()
    names, joined = _list_series([name for name in axes if name != "k"], placed)
    numbers = [point.number for point in placed]
    return scatter.draw_scatter(
        [
            scatter.Point(
                series=_name(names, point),
                label=_label_point(point, best),
                x=_get_coordinates(choice, point)[0],
                y=_get_coordinates(choice, point)[1],
                says=_describe_point(choice, point),
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


def _label_point(point: ChoicePoint, best: Sequence[int]) -> str:
    """Return the label of a point: its number on the front, and k if it varies."""
    number = str(point.number) if point.number in best else ""
    k = f"k = {point.asked['k']}" if "k" in point.asked else ""
    return ", ".join(filter(None, (number, k)))


def _get_coordinates(choice: Tried, point: ChoicePoint) -> tuple[float, float]:
    linkage: Any = point.linkage
    return linkage, choice.loss_of(point)


def _describe_point(choice: Tried, point: ChoicePoint) -> str:
    linked, lost = map(format_short_percent, _get_coordinates(choice, point))
    return f"{point.called}: {linked} linked, {LOSSES[choice.loss]} {lost}"


def _list_series(
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
    return ", ".join(_make_label(point.asked[name]) for name in names) or "all points"


def _describe_blocks(placed: Sequence[ChoicePoint]) -> str:
    """Return the note on linkage in blocks."""
    largest = max((point.linkage_blocks or 1 for point in placed), default=1)
    if largest == 1:
        return ""
    return (
        f"Records were linked in up to {plural(largest, 'block')}, "
        "which mostly gives a "
        "little more than all at once."
    )


def _render_job(point: ChoicePoint, table: Path | None) -> dict[str, Any]:
    """Return the number, command and text of a point's job for the page."""
    return {
        "number": point.number,
        "called": point.called,
        "command": _render_command(point.job, point.number, table),
        "text": point.job.as_text(),
    }


def _render_command(job: "Job", number: int, table: Path | None) -> str:
    """Return the line that makes the release of a point."""
    name = f"point-{number}.toml"
    files = [str(origin.file) for origin in job.code if origin.file is not None]
    trust = list(dict.fromkeys(files))
    if table is None:
        more = f", trust={trust}" if trust else ""
        return f'aggopt.mask(table, "{name}"{more}).write("masked.csv")'
    trust_words = [word for file in trust for word in ("--trust", file)]
    return join(
        ["aggopt", "mask", str(table), name, "--out", "masked.csv", *trust_words]
    )


if TYPE_CHECKING:
    from aggopt.release.figures.figure import Picture

SHOWN = ("holds", "groups_gap", "gap", "il", "pil", "linkage", "linkage_limit", "si")
LAST = ("seconds", "front", "error")


@dataclass(frozen=True, eq=False, repr=False)
class Choices(EqualByField, Tried, TidyRows):
    """The points of a choice; printed, it is a recommendation and a table."""

    @property
    def rows(self) -> tuple[Figures, ...]:
        """A dict for each point: `table`, `point`, settings varied, figures.

        `front` is whether no other point has less linkage and less loss.
        """
        best = {point.number for point in self.front}
        return tuple(
            {
                "table": "table" if self.table is None else self.table.stem,
                **point.row,
                "front": point.number in best,
            }
            for point in self.points
        )

    def plot(self, x: str = "linkage", y: str | None = None) -> "Picture":
        """Return a picture of one column against another; as `Experiment.plot`.

        By default of `loss` against linkage.  Points that differ only in k have one
        colour; a line joins those that no other beats.
        """
        from aggopt.experiments._picture import draw_picture

        rows = [{"seed": None, **row} for row in self.rows]
        names = ("table", *self._axes, "seed")
        return draw_picture(rows, names, x, self.loss if y is None else y)

    def to_html(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a page, mode 0600, and return its path.

        It has the recommendation, the map of risk and loss with its front, all points,
        and the job of each.  It is for the people who choose: it holds no value of a
        record, but figures of jobs that are not released.

        Raises
        ------
        TableError
            The folder does not exist, a file exists and `overwrite` is not set, or
            the disk refuses.
        """
        return write_files({path: self.page_writer()}, overwrite)[0]

    def draw_map(self) -> Figure | None:
        """Return the map of risk and loss; None if no point has both figures."""
        return draw_map(self)

    def page_writer(self) -> Writer:
        """Return a function that writes the page to a file at a path."""
        text = render_page(self)
        return lambda to: to.write_text(text, encoding="utf-8")

    def __repr__(self) -> str:
        return "\n\n".join(
            [self.verdict, self.recommendation(), render_text_table(*self._shown)]
        )

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        text = f"{self.verdict} {self.recommendation()}"
        return render_html_section(text, render_html_table(*self._shown))

    @property
    def _axes(self) -> tuple[str, ...]:
        return tuple(self.points[0].asked) if self.points else ()

    @property
    def _shown(self) -> tuple[Sequence[str], list[list[Any]]]:
        names = ("point", *self._axes, *SHOWN, *LAST)
        return names, [[row[name] for name in names] for row in self.rows]
