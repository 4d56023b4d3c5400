"""Means, standard deviations and totals before and after masking, by weight."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggopt.core.types import F64, Labels
from aggopt.measure.safe_figures import FEW, round_figure
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.report.facts import Facts, ReportedColumn
from aggopt.release.report.page import (
    DataTable,
    format_figure,
    format_share,
    round_share,
)

SHOWN = 20  # rows that are seen at once; the others are folded
FAR = (0.1, 0.25, 0.5, 1.0)  # standard deviations
MOVED = 2  # digits of how far the mean of a stratum moved


@dataclass(frozen=True)
class WeightedMoments:
    """The mean, the standard deviation and the total of values, in their units.

    The deviation is of the population: of n, not of n - 1.
    """

    mean: float
    deviation: float
    total: float

    @classmethod
    def of(cls, values: F64, weights: F64 | None = None) -> "WeightedMoments":
        """Return the moments of values (n,) by their weights (n,).

        Missing values (nan) are left out; all three are nan if no value is left.

        Examples
        --------
        >>> values = np.array([1.0, 3.0, np.nan])
        >>> WeightedMoments.of(values, np.array([3.0, 1.0, 9.0]))
        WeightedMoments(mean=1.5, deviation=0.866..., total=6.0)
        """
        is_present = ~np.isnan(values)
        x = values[is_present]
        if not x.size:
            return cls(np.nan, np.nan, np.nan)
        w = None if weights is None else weights[is_present]
        mean = float(np.average(x, weights=w))
        deviation = float(np.sqrt(np.average((x - mean) ** 2, weights=w)))
        return cls(mean, deviation, mean * (len(x) if w is None else float(w.sum())))


def compute_stratum_means(
    values: F64, strata: Labels, weights: F64 | None = None
) -> tuple[F64, Labels]:
    """Return the mean of values (n,) in each stratum 0..m-1 (m,), and how many it has.

    Missing values (nan) are left out; the mean is nan if no value is left.

    Examples
    --------
    >>> compute_stratum_means(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 1]))
    (array([2., 7.]), array([2, 1]))
    """
    is_present = ~np.isnan(values)
    m = int(strata.max()) + 1
    x = values[is_present]
    stratum = strata[is_present]
    w = np.ones(len(x)) if weights is None else weights[is_present]
    sums = np.bincount(stratum, w * x, m)
    mass = np.bincount(stratum, w, m)
    means = np.divide(sums, mass, out=np.full(m, np.nan), where=mass > 0)
    return means, np.bincount(stratum, minlength=m)


def make_moments_table(
    facts: Facts, columns: list[ReportedColumn]
) -> tuple[DataTable | None, DataTable | None]:
    """Return the moments of these attributes: a table, and a folded one."""
    rows = [_make_row(column, facts.weights) for column in columns]
    shown = _make_table(rows[:SHOWN], facts) if rows else None
    return shown, _make_table(rows[SHOWN:], facts) if rows[SHOWN:] else None


def _make_row(column: ReportedColumn, weights: F64 | None) -> list[str]:
    """Return mean, spread and, by weight, the total, and how far values moved.

    Fewer than ten originals have no moments.
    """
    after = _make_cells(column, WeightedMoments.of(column.after, weights), weights)
    if column.before is None:
        return [column.name, *after]
    few = int((~np.isnan(column.before)).sum()) < FEW
    if few:  # a mean and a spread of two give both away
        before = [""] * len(after)
        moved = [""] * len(FAR)
    else:
        moments = WeightedMoments.of(column.before, weights)
        before = _make_cells(column, moments, weights)
        moved = _count_moved(column, moments)
    pairs = zip(before, after, strict=True)
    return [column.name, *(cell for pair in pairs for cell in pair), *moved]


def _make_cells(
    column: ReportedColumn, moments: WeightedMoments, weights: F64 | None
) -> list[str]:
    """Return the mean, deviation and total of a column as cells of a table."""
    unit = f" {column.unit}" if column.unit else ""
    cells = [
        "" if column.dated else _format_moment(moments.mean),
        f"{spread}{unit}" if (spread := _format_moment(moments.deviation)) else "",
    ]
    total = "" if column.dated else _format_moment(moments.total)
    return cells if weights is None else [*cells, total]


def _format_moment(number: float) -> str:
    return "" if np.isnan(number) else format_figure(round_figure(number))


def _count_moved(column: ReportedColumn, moments: WeightedMoments) -> list[str]:
    """Return the shares of records whose value moved by so much of a deviation."""
    one, other = column.both or (column.after, column.after)
    away = np.abs(one - other) / (moments.deviation or 1.0)
    return [format_share(round_share(float((away <= far).mean()))) for far in FAR]


def _make_table(rows: list[list[str]], facts: Facts) -> DataTable:
    names = ["mean", "sd", *(["total"] if facts.weights is not None else [])]
    head = ["attribute", *names]
    if facts.original is not None:
        head = ["attribute"]
        head += [
            name
            for name_of_moment in names
            for name in (f"{name_of_moment} before", "after")
        ]
        head += [f"moved \N{LESS-THAN OR EQUAL TO} {far:g} sd" for far in FAR]
    caption = "Means and standard deviations, and how far values moved"
    if facts.weights is not None:
        caption = (
            "Means, standard deviations and totals by sampling weight, and how far "
            "values moved, each record counted once"
        )
    elif facts.job.roles.weight:
        caption += "; each record counts once, since the file has no weights"
    return DataTable(caption, head, rows, range(1, len(head)))


def make_stratum_table(facts: Facts, columns: list[ReportedColumn]) -> DataTable | None:
    """Return how the means of numbers moved within strata; None without strata.

    Of more than twenty rows it shows the ones whose mean moved most, as displayed.
    """
    if not facts.audit.strata or facts.original is None:
        return None
    frame = facts.released.frame.select(*facts.audit.strata)
    strata = combine_codes(encode_entries(frame[name]) for name in frame.columns)
    first = np.unique(strata, return_index=True)[1]
    stratum_names = frame[first.tolist()].rows()
    rows = [
        row
        for column in columns
        if column.before is not None and not column.dated
        for row in _iter_rows(column, strata, stratum_names, facts.weights)
    ]
    if not rows:
        return None
    by_weight = "" if facts.weights is None else " by sampling weight"
    caption = f"Means{by_weight} by stratum ({', '.join(frame.columns)})"
    if len(rows) > SHOWN:
        caption += f": the {SHOWN} of {len(rows)} that moved most"
        rows = sorted(rows, key=lambda row: -row[0])[:SHOWN]
    head = ["stratum", "attribute", "mean before", "after", "moved, in sd"]
    return DataTable(caption, head, [cells for _, cells in rows], range(2, 5))


def _iter_rows(
    column: ReportedColumn,
    strata: Labels,
    stratum_names: list[Any],
    weights: F64 | None,
) -> Iterator[tuple[float, list[str]]]:
    """Yield of each stratum how far the mean moved, -1 where unknown, and its cells."""
    if column.before is None:
        return
    before, counts = compute_stratum_means(column.before, strata, weights)
    after, _ = compute_stratum_means(column.after, strata, weights)
    width = round_figure(WeightedMoments.of(column.before, weights).deviation)
    for j, entries in enumerate(stratum_names):
        cells = [", ".join(map(str, entries)), column.name]
        if counts[j] < FEW or np.isnan(after[j]):
            yield -1.0, [*cells, "", _format_moment(after[j]), ""]
            continue
        away = abs(round_figure(after[j]) - round_figure(before[j])) / (width or 1.0)
        away = round_figure(away, MOVED)
        shown = [
            _format_moment(before[j]),
            _format_moment(after[j]),
            format_figure(away, MOVED),
        ]
        yield away, [*cells, *shown]
