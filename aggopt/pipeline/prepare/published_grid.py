"""Possible published numbers of an attribute: within bounds, and whole."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf, isinf

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.aggregate.bounds import Bounds
from aggopt.data.table import Table
from aggopt.job import Job, Output

DIGITS = 400  # of a decimal: more than a float's and 15 decimals


def is_asked_whole(job: Job, name: str) -> bool:
    """Whether [attributes.NAME] requires whole numbers of an attribute."""
    return name in job.attributes and job.attributes[name].integer


def is_whole(table: Table, job: Job, name: str) -> bool:
    """Whether published values of an attribute are whole numbers, whatever its digits.

    Whole numbers are requested, or the column's type is integer and is to be kept.
    """
    typed = job.output.round_integers and table.frame[name].dtype.is_integer()
    return typed or is_asked_whole(job, name)


def get_published_limits(job: Job, name: str) -> tuple[float, float]:
    """Return the least and the largest value that may be published, or infinity."""
    if name not in job.attributes:
        return -inf, inf
    section = job.attributes[name]
    lower = -inf if section.lower is None else section.lower
    return lower, inf if section.upper is None else section.upper


def read_bounds(table: Table, job: Job, names: Sequence[str]) -> Bounds:
    """Return the bounds of several attributes, rounded to their column types."""
    ends = [
        round_to_type(table, name, get_published_limits(job, name)) for name in names
    ]
    lower, upper = np.array(ends).reshape(len(ends), 2).T
    return Bounds(lower.copy(), upper.copy())


def round_to_type(
    table: Table, name: str, ends: tuple[float, float]
) -> tuple[float, float]:
    """Return bounds rounded to a column's type, as of 32-bit floats."""
    if table.frame[name].dtype != nw.Float32:
        return ends
    lower, upper = (float(np.float32(end)) for end in ends)
    return lower, upper


def find_published_ends(
    table: Table, job: Job, name: str, place: int | None
) -> tuple[float, float]:
    """Return the least and the largest number of `place` decimals within bounds."""
    if place is None and is_whole(table, job, name):
        place = 0  # its type rounds it
    return find_decimal_ends(*get_published_limits(job, name), place)


def find_decimal_ends(
    lower: float, upper: float, place: int | None
) -> tuple[float, float]:
    """Return the least and the largest number of `place` decimals within bounds.

    Examples
    --------
    >>> find_decimal_ends(0.123, 9.99, 1)
    (0.2, 9.9)
    """
    if place is None:
        return lower, upper
    return _round_end(lower, place, ROUND_CEILING), _round_end(
        upper, place, ROUND_FLOOR
    )


def _round_end(end: float, place: int, rounding: str) -> float:
    """Return a bound rounded to `place` decimals, up or down."""
    if isinf(end):
        return end
    unit = Decimal(1).scaleb(-place)
    exact = Context(prec=DIGITS, rounding=rounding)
    return float(Decimal(repr(end)).quantize(unit, context=exact)) + 0.0


def choose_decimals(spread: float, output: Output) -> int | None:
    """Return the number of decimals of an attribute; None to keep all of them.

    `spread` is its standard deviation.  Significant digits are counted from the first
    digit of the spread.  Six digits of 12.3 are 12.3000, which has four decimals.
    """
    if output.decimals is not None:
        return output.decimals
    digits = output.significant
    return None if digits is None else digits - 1 - math.floor(math.log10(spread))


def find_attribute_decimals(
    table: Table, job: Job, name: str, spread: float
) -> int | None:
    """Return the decimals of an attribute; None if its values are not rounded."""
    output = job.output
    kind = table.frame[name].dtype
    place = choose_decimals(spread, output) if spread > 0 else None
    if is_asked_whole(job, name):
        return 0 if place is None else min(place, 0)
    is_integer = kind.is_integer() or not kind.is_numeric()
    if is_integer and output.round_integers and place is not None and place > 0:
        return None  # rounded once, to its type
    return place
