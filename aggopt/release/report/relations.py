"""Relations between attributes, before and after: correlations and a regression."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aggopt.core.types import F64
from aggopt.measure.safe_figures import FEW, round_figure
from aggopt.measure.safe_figures import compute_correlations as rounded_correlations
from aggopt.release.report.charts.relations import (
    Interval,
    draw_intervals,
    draw_square,
)
from aggopt.release.report.page import (
    MINUS,
    DataTable,
    Figure,
    format_figure,
    format_share,
    round_share,
)

MOST = 12  # attributes that are related with each other
NAMED = 6  # attributes that name their columns: more have numbers
NORMAL = 1.96  # standard errors of half a 95 % interval
TENTHS = 1  # decimals of standard errors
CORRELATIONS = "Correlations of the originals"


@dataclass(frozen=True, eq=False)
class Related:
    """Attributes by name, before and after, without missing values: (n,) each."""

    before: dict[str, F64]
    after: dict[str, F64]

    @classmethod
    def of(cls, before: dict[str, F64], after: dict[str, F64]) -> "Related":
        """Return the first MOST attributes that vary, of records that miss nothing."""
        names = list(before)[:MOST]
        every = np.array([side[n] for side in (before, after) for n in names])
        is_present = ~np.isnan(every).any(axis=0) if names else np.array([], dtype=bool)
        sides = [{n: side[n][is_present] for n in names} for side in (before, after)]
        varying = [n for n in names if all(_has_variance(side[n]) for side in sides)]
        return cls(*({n: side[n] for n in varying} for side in sides))

    @property
    def names(self) -> list[str]:
        """Which attributes they are."""
        return list(self.before)

    @property
    def n(self) -> int:
        """How many records miss nothing."""
        return len(next(iter(self.before.values()), ()))


def _has_variance(values: F64) -> bool:
    return len(values) > 0 and bool(values.min() < values.max())


def draw_correlations(pair: Related) -> tuple[Figure, Figure] | None:
    """Return the correlations of the originals, and by how much they changed."""
    names = pair.names
    if len(names) < 2 or pair.n < FEW:
        return None
    before, after = (
        rounded_correlations(np.array(list(side.values())).T).tolist()
        for side in (pair.before, pair.after)
    )
    change = [
        [round(b - a, 2) + 0.0 for a, b in zip(*rows, strict=True)]
        for rows in zip(before, after, strict=True)
    ]
    largest = max(abs(v) for row in change for v in row)
    first = draw_square(CORRELATIONS, names, before, _format_two)
    strongest = max(largest, 0.25)
    second = draw_square("Changes", names, change, _format_signed, strongest=strongest)
    caption = f"Released less original; the largest change is {largest:.2f}"
    return (
        Figure(
            first, CORRELATIONS, _draw_square(CORRELATIONS, names, before, _format_two)
        ),
        Figure(second, caption, _draw_square(caption, names, change, _format_signed)),
    )


def _format_two(value: float) -> str:
    """Return a number with two decimals."""
    return f"{value:.2f}".replace("-", MINUS)


def _format_signed(value: float) -> str:
    return "0" if value == 0 else f"{value:+.2f}".replace("-", MINUS)


def _draw_square(
    caption: str,
    names: list[str],
    values: list[list[float]],
    says: Callable[[float], str],
) -> DataTable:
    """Return a square matrix of numbers by attribute as a table of the report."""
    many = len(names) > NAMED
    rows = [
        [
            f"{i + 1} {name}" if many else name,
            *("" if i == j else says(v) for j, v in enumerate(row)),
        ]
        for i, (name, row) in enumerate(zip(names, values, strict=True))
    ]
    head = map(str, range(1, len(names) + 1)) if many else names
    return DataTable(caption, ["attribute", *head], rows, range(1, len(names) + 1))


def draw_regression(outcome: str, y: F64, pair: Related) -> Figure | None:
    """Return the least squares of a published number on masked ones, before and after.

    None if they are collinear, or records are few.
    """
    one, other = (_fit_least_squares(y, side) for side in (pair.before, pair.after))
    if one is None or other is None:
        return None
    (old, error) = one
    (new, spread) = other
    rows = []
    cells = []
    for name, b, s, c, u in zip(pair.names, old, error, new, spread, strict=True):
        ends = (c - NORMAL * u - b) / s, (c + NORMAL * u - b) / s
        common = min(NORMAL, ends[1]) - max(-NORMAL, ends[0])
        overlap = common / (2 * NORMAL) / 2 + common / (ends[1] - ends[0]) / 2
        at = tuple(round(v, TENTHS) for v in ((c - b) / s, *ends))
        fixed = (0.0, -NORMAL, NORMAL)
        rows.append(Interval(name, fixed, (at[0], at[1], at[2]), round_share(overlap)))
        moments = (format_figure(round_figure(v)) for v in (b, s, c, u))
        cells.append([name, *moments, format_share(max(round_share(overlap), 0.0))])
    same = sum((old > 0) == (new > 0))
    caption = (
        f"{outcome} on {', '.join(pair.names)}, least squares, 95 % intervals. "
        f"{same} of {len(rows)} coefficients keep their sign."
    )
    head = ["attribute", "original", "its error", "released", "its error", "overlap"]
    table = DataTable(f"Regression of {outcome}", head, cells, range(1, 6))
    return Figure(draw_intervals(f"Regression of {outcome}", rows), caption, table)


def _fit_least_squares(y: F64, columns: dict[str, F64]) -> tuple[F64, F64] | None:
    """Return coefficients and standard errors (p,), without the constant's."""
    n = len(y)
    p = len(columns) + 1
    if not columns or n < p + FEW:
        return None
    X = np.column_stack([np.ones(n), *columns.values()])
    spread = X.std(axis=0)
    spread[0] = 1.0
    Z = X / spread
    if np.linalg.matrix_rank(Z) < p:
        return None
    coefficients = np.linalg.lstsq(Z, y, rcond=None)[0]
    rest = y - Z @ coefficients
    variance = rest @ rest / (n - p) * np.diag(np.linalg.inv(Z.T @ Z))
    if not variance[1:].all():
        return None
    return (coefficients / spread)[1:], (np.sqrt(variance) / spread)[1:]


def select_complete(outcomes: Mapping[str, F64], pair: Related) -> dict[str, F64]:
    """Return the confidential numbers that vary and are never missing.

    There are none if attributes of the pair are missing in some record.
    """
    return {
        name: values
        for name, values in outcomes.items()
        if pair.n == len(values) and not np.isnan(values).any()
        if _has_variance(values)
    }
