"""Distribution of a quasi-identifier of a table before and after masking."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from aggopt.core.types import F64, I64
from aggopt.data.parsing.categories import find_missing_entries, find_nodes
from aggopt.data.parsing.numbers import read_moments
from aggopt.data.table import Table
from aggopt.encoding.clock import SECOND, Clock, count_nanoseconds
from aggopt.errors import require_known
from aggopt.measure.safe_figures import (
    BINS,
    MIDDLE,
    Density,
    Shares,
    compute_level_shares,
    estimate_density,
)

LONG = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}


@dataclass(frozen=True)
class Distribution:
    """Publishable distribution of an attribute's originals, and that of their release.

    Attributes
    ----------
    name
        Of the attribute.
    what
        Shares in bins, of numbers, dates and times; or at levels, of categories.
    ticks
        Label of each edge of a bin, or of each level.  A name is spelled as in the
        table: escape it for a page.
    unit
        Unit of the edges: "" for numbers and dates, which have none.
    """

    name: str
    what: Density | Shares
    ticks: tuple[str, ...]
    unit: str = ""


def make_distribution(
    original: Table, released: Table, name: str
) -> Distribution | None:
    """Return the distribution of a quasi-identifier in two tables of equal records.

    Of dates, edges are days since 1970.  None if fewer than ten originals are present,
    or nothing is released.

    Raises
    ------
    UnknownNameError
        The table has no quasi-identifier of this name.
    """
    names = original.roles.quasi_identifier
    require_known("quasi-identifier of the release", name, names)
    if name in original.domains:
        both = (read_nodes(table, name) for table in (original, released))
        before, after = (codes[codes >= 0] for codes in both)
        shares = compute_level_shares(before, after, list_level_names(original, name))
        return None if shares is None else Distribution(name, shares, shares.levels)
    if name in original.clocks:
        return _make_from_moments(original, released, name)
    return _make_from_numbers(
        name, read_plain_numbers(original, name), read_plain_numbers(released, name)
    )


def read_plain_numbers(table: Table, name: str) -> F64:
    """Return a quasi-identifier that is not a category (n,): of moments, their seconds.

    Seconds of dates count from 1970, not from the first of them; nan is missing.
    """
    if name not in table.clocks:
        return table.numbers(name)
    clock = table.clocks[name]
    moments = read_moments(table.frame, name, table.clocks)
    seconds = moments.counts * (count_nanoseconds(clock.type) / SECOND)
    return np.where(moments.absent, np.nan, seconds)


def counts_dates(clock: Clock) -> bool:
    """Return whether a clock counts dates, and not lengths or times of day."""
    return bool(pa.types.is_date(clock.type) or pa.types.is_timestamp(clock.type))


def _make_from_numbers(
    name: str, before: F64, after: F64, unit: str = ""
) -> Distribution | None:
    density = estimate_density(before, after)
    if density is None:
        return None
    return Distribution(name, density, tuple(f"{e:.12g}" for e in density.edges), unit)


def _make_from_moments(
    original: Table, released: Table, name: str
) -> Distribution | None:
    """Return the distribution of dates in calendar bins, of lengths in round ones."""
    before = read_plain_numbers(original, name)
    after = read_plain_numbers(released, name)
    if np.isnan(after).all():
        return None
    if not counts_dates(original.clocks[name]):
        unit = choose_unit(after)
        return _make_from_numbers(name, before / LONG[unit], after / LONG[unit], unit)
    density = estimate_density(
        before, after, compute_calendar_edges(after[~np.isnan(after)])
    )
    if density is None:
        return None
    ticks = format_moments(density.edges)
    days = LONG["days"]
    in_days = tuple(edge / days for edge in density.edges)
    reach = (
        None
        if density.reach is None
        else (density.reach[0] / days, density.reach[1] / days)
    )
    what = replace(density, edges=in_days, reach=reach)
    return Distribution(name, what, ticks)


def choose_unit(seconds: F64) -> str:
    """Return the longest unit that most lengths have one of."""
    middle = float(np.nanmedian(np.abs(seconds)))
    return next((unit for unit, length in LONG.items() if middle >= length), "seconds")


def read_nodes(table: Table, name: str) -> I64:
    """Return the node of a category's domain that each record has (n,); -1 missing."""
    column = table.frame[name]
    indices = find_nodes(column, table.domains[name])
    return np.where(
        find_missing_entries(column) & (name in table.kept_missing), -1, indices
    )


def list_level_names(table: Table, name: str) -> tuple[str, ...]:
    """Return the labels of the nodes of a category's domain."""
    levels = table.domains[name].nodes
    return tuple("missing" if node is None else str(node) for node in levels)


STEPS = (
    *(("s", times) for times in (1, 5, 15)),
    *(("m", times) for times in (1, 5, 15)),
    *(("h", times) for times in (1, 6)),
    *(("D", times) for times in (1, 7)),
    *(("M", times) for times in (1, 3)),
    *(("Y", times) for times in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
LENGTH = {"s": 1, "m": 60, "h": 3600, "D": 86400, "M": 30 * 86400, "Y": 365 * 86400}


def compute_calendar_edges(released: F64) -> F64:
    """Return the ends of bins, in seconds, for dates (n,) in seconds since 1970.

    >>> format_moments(compute_calendar_edges(np.array([0.0, 1e9])))
    ('1970', '1975', '1980', '1985', '1990', '1995', '2000', '2005')
    """
    low, high = np.floor(np.quantile(released, MIDDLE)).astype(np.int64).tolist()
    unit, times = next(
        (u, t) for u, t in STEPS if (high - low) <= (BINS - 1) * LENGTH[u] * t
    )
    outer = np.array([low, high]).astype("M8[s]").astype(f"M8[{unit}]")
    first, last = (outer.astype(np.int64) // times).tolist()
    ends = np.arange(first, last + 2) * times
    return ends.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64).astype(float)


def format_moments(edges: Sequence[float] | F64) -> tuple[str, ...]:
    """Return moments in seconds since 1970, as short as all of them can be spelled.

    >>> format_moments([0.0, 31536000.0])
    ('1970', '1971')
    """
    moments = np.array(edges).astype(np.int64).astype("M8[s]")
    rounded = (moments.astype(f"M8[{unit}]") for unit in ("Y", "M", "D", "h", "m", "s"))
    shortest = next(
        spelling for spelling in rounded if (spelling.astype("M8[s]") == moments).all()
    )
    return tuple(map(str, shortest))
