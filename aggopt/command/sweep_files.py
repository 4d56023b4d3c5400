"""What a sweep leaves behind: a table that grows point by point, and a picture."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from aggopt.errors import TableError
from aggopt.experiments.sweep import SweepPoint, pareto
from aggopt.output.staging import Staging, check_places


@dataclass
class SweepFiles:
    """The points that are done, on disk as soon as they are."""

    table: Path
    picture: Path
    points: list[SweepPoint] = field(default_factory=list)

    def add(self, point: SweepPoint) -> None:
        """Keep one more point: the table is written aside and renamed."""
        self.points.append(point)
        frame = pd.DataFrame([p.to_dict() for p in self.points])
        with Staging() as staging:
            staging.write(self.table, lambda to: frame.to_csv(to, index=False))
            staging.commit(self.table, overwrite=True)

    @property
    def files(self) -> list[Path]:
        """Where table and picture are."""
        return [self.table, self.picture]


@contextmanager
def keep(
    out: Path, *, overwrite: bool, inputs: tuple[Path, ...] = ()
) -> Iterator[SweepFiles]:
    """Yield where points are kept; draw those that are done, even if interrupted.

    Raises
    ------
    TableError
        The folder does not exist, or a file is there and `overwrite` is not set.
    """
    if not out.name:
        raise TableError(f"{out} is no name for files.", fix="pass --out NAME.")
    stem = out.with_suffix("") if out.suffix in (".csv", ".png") else out
    kept = SweepFiles(
        stem.with_name(f"{stem.name}.csv"), stem.with_name(f"{stem.name}.png")
    )
    check_places(*kept.files, overwrite=overwrite, inputs=inputs)
    try:
        yield kept
    finally:
        if kept.points:
            draw(kept.points, kept.picture)


def draw(points: Sequence[SweepPoint], to: Path) -> None:
    """Draw loss against linkage, the points that no other beats joined by a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    panel = figure.subplots()
    best = pareto(points)
    shown = _scattered(panel, points)
    named = ", ".join(points[0].at)
    line = [(100 * p.linkage, 100 * p.pil) for p in best]
    panel.plot([x for x, _ in line], [y for _, y in line], color="0.6")
    for p, place in zip(best, line, strict=True):
        panel.annotate(
            ", ".join(map(spelled, p.at.values())),
            place,
            textcoords="offset points",
            xytext=(5, 4),
            fontsize=8,
        )
    panel.set(
        xlabel=risk_axis(points),
        ylabel="probabilistic information loss PIL, %",
        title=f"A grid of {named}; labels: those of points that no other beats",
    )
    figure.colorbar(shown, label="scoring index SI, %")
    with Staging() as staging:
        staging.write(to, lambda aside: figure.savefig(aside, dpi=150))
        staging.commit(to, overwrite=True)


def _scattered(panel: Any, points: Sequence[SweepPoint]) -> Any:
    """Draw the points, in a shape for each statistic that is kept; return one shape."""
    scores = [100 * p.si for p in points]
    shades: dict[str, Any] = {
        "cmap": "viridis",
        "vmin": min(scores),
        "vmax": max(scores),
        "zorder": 2,
    }
    kinds = list(dict.fromkeys(p.keep for p in points))
    for statistic, marker in zip(kinds, _markers(len(kinds)), strict=True):
        own = [p for p in points if p.keep == statistic]
        shown = panel.scatter(
            [100 * p.linkage for p in own],
            [100 * p.pil for p in own],
            c=[100 * p.si for p in own],
            marker=marker,
            label=f"{statistic} kept",
            **shades,
        )
    if len(kinds) > 1:
        panel.legend()
    return shown


def spelled(value: object) -> str:
    """Return what a point says of where it is."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _markers(count: int) -> list[str]:
    """Return a shape for each statistic that is kept."""
    return ["o", "^", "s", "D"][:count]


def risk_axis(points: Sequence[SweepPoint]) -> str:
    """Return what the picture says of its risk."""
    blocks = sorted({p.blocks for p in points})
    linked = "records linked by one-to-one assignment, %"
    if blocks == [1]:
        return linked
    many = "-".join(map(str, dict.fromkeys((blocks[0], blocks[-1]))))
    return f"{linked} (in {many} blocks: mostly a little too high)"
