"""The private section: points, worst records, notes, seeds."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from aggopt.core.standardise import Scale
from aggopt.release.report.charts import svg
from aggopt.release.report.facts import Facts, Private, ReportedColumn
from aggopt.release.report.page import DataTable, Figure, format_figure
from aggopt.release.report.sections.registry import ReportSection

PANELS = 12
POINTS = 300
WORST = 20
SIDE = 330
EDGE = 34


@dataclass(frozen=True)
class PrivateSection:
    """Content of the section for the office.

    Attributes
    ----------
    points
        Released against original values of each number, some of the records.
    worst
        The records whose published values are nearest to their own.
    notes, made
        Those of the release, and how it was made.
    """

    points: tuple[Figure, ...]
    worst: DataTable | None
    notes: tuple[str, ...]
    made: DataTable


def make_private_section(facts: Facts) -> PrivateSection | None:
    """Return the private part of a report; None in one for the public."""
    private = facts.private
    if private is None:
        return None
    columns = list(facts.columns.values())
    rows = [[name, text] for name, text in private.made.items()]
    return PrivateSection(
        points=tuple(_draw_points(columns[:PANELS])),
        worst=_find_nearest(columns, facts, private),
        notes=private.notes,
        made=DataTable("How the release was made", ["item", "value"], rows),
    )


def _draw_points(columns: list[ReportedColumn]) -> Iterator[Figure]:
    for column in columns:
        both = column.both
        if both is None or not both[0].size:
            continue
        every = -(-len(both[0]) // POINTS)
        before, after = (side[::every] for side in both)
        low = float(min(before.min(), after.min()))
        high = float(max(before.max(), after.max()))
        pairs = list(zip(before.tolist(), after.tolist(), strict=True))
        says = f"{column.name}: released (up) against original (right)"
        rows = [[format_figure(a, 6), format_figure(b, 6)] for a, b in pairs[:WORST]]
        table = DataTable(says, ["original", "released"], rows, (1,))
        yield Figure(_draw_panel(says, pairs, low, high), says, table)


def _draw_panel(
    label: str, pairs: list[tuple[float, float]], low: float, high: float
) -> Markup:
    width = high - low or 1.0

    def at(value: float) -> float:
        return EDGE + (SIDE - 2 * EDGE) * (value - low) / width

    ends = at(low), at(high)
    body = [svg.line(ends[0], SIDE - ends[0], ends[1], SIDE - ends[1], "grid")]
    body += [svg.circle(at(a), SIDE - at(b), 3, "each") for a, b in pairs]
    return svg.canvas(SIDE, SIDE, label, body)


def _find_nearest(
    columns: list[ReportedColumn], facts: Facts, private: Private
) -> DataTable | None:
    """Return the records that moved least, by their row in the input."""
    sides = [(column.before, column.after) for column in columns]
    before = [values for values, _ in sides if values is not None]
    if not before:
        return None
    X = np.array(before).T
    Y = np.array([after for _, after in sides]).T
    scale = Scale.of(X)
    away = np.sqrt(
        np.nansum((scale.standardise(X) - scale.standardise(Y)) ** 2, axis=1)
    )
    rows = np.argsort(away, kind="stable")[:WORST]
    number = rows if private.rows is None else private.rows[rows]
    size = facts.sizes[facts.labels]
    cells = [
        [f"row {n + 1}", format_figure(float(away[row])), int(size[row])]
        for n, row in zip(number.tolist(), rows.tolist(), strict=True)
    ]
    head = ["record of the input", "moved by, in sd", "records that share it"]
    return DataTable("Records that moved least", head, cells, (1, 2))


OFFICE = ReportSection(
    name="office",
    when="points, the records that moved least, notes and the seed",
    rank=100,
    content=make_private_section,
    heading="For the office alone",
    label="Office",
    template="office.html",
)
