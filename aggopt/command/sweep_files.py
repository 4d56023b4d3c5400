"""The files of a sweep: a table that grows point by point, and a picture."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from aggopt.core.deferred_signals import defer_signals
from aggopt.errors import PlaceError, TableError
from aggopt.experiments.sweep import SweepPoint, select_pareto_points
from aggopt.release.files.staging import Staging, check_places

if TYPE_CHECKING:
    from aggopt.release.figures.figure import Series


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
