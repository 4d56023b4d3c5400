"""The effect of rounding on means, variances and groups: figures and notes."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import Floats
from aggopt.job import Output
from aggopt.pipeline.finish.published_values import round_numbers_of_table
from aggopt.pipeline.finish.rounding import find_time_steps
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.pipeline.prepare.published_grid import (
    find_attribute_decimals,
    is_asked_whole,
)
from aggopt.release.manifest import Drift

TYPED = 1e-6  # of an attribute's range; float32 stays below it
CAN_BE_SEEN = 1e-15  # standard deviations: less is the float's own rounding
_OF = ("mean", "variance")
_UPWARDS = Context(prec=1, rounding=ROUND_CEILING)


def measure_drifts(
    partitioned: PartitionedTable, before: Floats, after: Floats
) -> dict[str, Drift]:
    """Return the change of mean and variance of each number (n, p) by rounding."""
    spread = Scale.of(partitioned.X).spread
    places = _find_decimals(partitioned)
    clocks = _find_time_steps(partitioned)
    drifts = {}
    for j, name in enumerate(partitioned.names):
        place = places[j]
        seconds = None
        if name in clocks:
            seconds = clocks[name] * partitioned.table.clocks[name].seconds
        old = select_present(before[:, j])
        new = select_present(after[:, j])
        on_grid = place is not None or name in clocks
        is_same = name in partitioned.table.spans or (
            not on_grid and bool((old == new).all())
        )
        if spread[j] == 0 or is_same:
            continue
        x, y = ((v - old[0]) / spread[j] for v in (old, new))
        shift = float((y - x).mean())
        drifts[name] = make_drift(place, seconds, shift, x.var(), y.var())
    return drifts


def make_drift(
    place: int | None, seconds: float | None, shift: float, before: float, after: float
) -> Drift:
    """Return the record of a number's change of mean and variance by rounding.

    Parameters
    ----------
    place, seconds
        The published decimals; or the step of dates and times, in seconds.
    shift
        Difference of the means, in standard deviations.
    before, after
        Variance before rounding and after it.
    """
    step = None if place is None else float(f"1e{-place}")
    if seconds is not None:
        step = seconds
    variance = abs(after / before - 1) if before else 0.0
    return Drift(step, abs(float(shift)), float(variance))


def describe_rounding_effects(
    partitioned: PartitionedTable,
    before: Floats,
    after: Floats,
    moved: Mapping[str, Drift],
) -> list[str]:
    """Return notes on the effect of rounding on means, variances and groups."""
    notes = []
    largest = [
        max(getattr(d, moment) for d in moved.values()) for moment in _OF if moved
    ]
    if any(moves > CAN_BE_SEEN for moves in largest):
        notes.append(
            f"Published values are rounded ({_describe_rounding(partitioned)}): means "
            "moved "
            f"by at most {_round_up(largest[0])} standard deviations, variances by at "
            "most "
            f"{_round_up(largest[1])} of themselves; certificates are of the values "
            "before "
            "rounding."
        )
    old = partitioned.of_numbers(before)
    new = partitioned.of_numbers(after)
    notes += [
        *_list_typed_notes(partitioned, old, new),
        *_list_single_value_notes(partitioned, old, new),
    ]
    return [*notes, *_list_equal_group_notes(partitioned, before, after)]


def _round_up(moved: float) -> str:
    """Return the text of a number rounded up to one digit."""
    return f"{float(_UPWARDS.create_decimal(f'{moved:.12g}')):g}"


def _describe_rounding(partitioned: PartitionedTable) -> str:
    """Return the text on the digits of numbers and the units of dates."""
    names = [name for name in partitioned.names if name not in partitioned.table.clocks]
    numbers = [_describe_number_rounding(partitioned.job.output)] if names else []
    clocks = partitioned.table.clocks
    dates = [
        f"{name!r} to {clocks[name].describe_step(step)}"
        for name, step in _find_time_steps(partitioned).items()
    ]
    whole_names = (
        name for name in partitioned.names if is_asked_whole(partitioned.job, name)
    )
    to_whole = [f"{name!r} to whole numbers" for name in whole_names]
    return ", ".join([*numbers, *to_whole, *dates])


def _describe_number_rounding(output: Output) -> str:
    """Return the text on the digits of published numbers."""
    if output.decimals is not None:
        return f"decimals = {output.decimals}"
    if output.significant is None:
        return "to their types"
    return f"{output.significant} digits of the attribute's standard deviation"


def _list_typed_notes(
    partitioned: PartitionedTable, before: Floats, after: Floats
) -> list[str]:
    """Return notes on attributes that were rounded to their column's type."""
    X = partitioned.X
    grid = round_numbers_of_table(partitioned, before)
    widths = np.fmax.reduce(X) - np.fmin.reduce(X)
    typed = (np.abs(after - grid) > TYPED * widths).any(axis=0)
    return [
        f"{name!r} was rounded to its type: the certificate is of the values before, "
        "the measures are of those released."
        for name, so in zip(partitioned.names, typed, strict=True)
        if so
    ]


def _list_single_value_notes(
    partitioned: PartitionedTable, before: Floats, after: Floats
) -> list[str]:
    """Return notes on attributes that rounding gives one or few values."""
    notes = []
    for j, name in enumerate(partitioned.names):
        old = select_present(before[:, j])
        new = select_present(after[:, j])
        if np.ptp(new) == 0 and np.ptp(old) > 0:
            notes.append(f"{name!r}: rounding leaves one value of all.")
        elif (same := _count_most_frequent(new)) > max(
            len(new) / 2, _count_most_frequent(old)
        ):
            notes.append(
                f"{name!r}: rounding publishes one and the same value for {same} of "
                f"{len(new)} records: ask for more digits, or cap the values that "
                "make its standard deviation so large."
            )
    return notes


def _list_equal_group_notes(
    partitioned: PartitionedTable, before: Floats, after: Floats
) -> list[str]:
    """Return notes on groups that publish equal values after rounding."""
    notes = []
    names = partitioned.job.roles.quasi_identifier
    before, after = (np.nan_to_num(v, nan=np.inf) for v in (before, after))
    for block in partitioned.blocks:
        first = np.unique(block.labels, return_index=True)[1]
        rows = np.ix_(first, np.array(block.columns))
        lost = len(np.unique(before[rows], axis=0)) - len(
            np.unique(after[rows], axis=0)
        )
        if lost:
            block_names = ", ".join(repr(names[j]) for j in block.columns)
            notes.append(
                f"{block_names}: rounding makes {lost} of {len(first)} groups publish "
                "what "
                "another does."
            )
    return notes


def _find_time_steps(partitioned: PartitionedTable) -> dict[str, int]:
    """Return the rounding step of each date or time attribute of the table."""
    output = partitioned.job.output
    spreads = Scale.of(partitioned.X).spread
    return find_time_steps(partitioned.table.clocks, partitioned.names, spreads, output)


def _find_decimals(partitioned: PartitionedTable) -> list[int | None]:
    """Return the decimals of each number; None if its values are not rounded."""
    spreads = zip(
        partitioned.names, Scale.of(partitioned.X).spread.tolist(), strict=True
    )
    return [
        None
        if name in partitioned.table.clocks
        else find_attribute_decimals(partitioned.table, partitioned.job, name, spread)
        for name, spread in spreads
    ]


def _count_most_frequent(values: Floats) -> int:
    """Return the number of times that the most frequent of values (n,) occurs."""
    return int(np.unique(values, return_counts=True)[1].max())
