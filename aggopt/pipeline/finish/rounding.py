"""Published values on one decimal grid for each attribute, and what that changes.

The last bits of a mean are functions of single records, and of no use.  The
grid is the attribute's, not the value's: small values have no more decimals than large
ones, and 1e9 + 1 keeps its 1.
"""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context

import numpy as np

from aggopt.aggregate.aggregation import get_column
from aggopt.aggregate.whole_numbers import round_to_whole_numbers
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.encoding.clock import Clock
from aggopt.job import Job, Output
from aggopt.models.shared.value_bounds import move_to_bounds
from aggopt.pipeline.finish.added_columns import add_pseudonyms, add_weights
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.pipeline.prepare.published_grid import (
    choose_decimals,
    find_attribute_decimals,
    find_published_ends,
    is_asked_whole,
    is_whole,
)
from aggopt.release.drift import Drift

TYPED = 1e-6  # of an attribute's range; float32 stays below it
ROUNDED = 1e-9  # standard deviations that arithmetic takes a value off a bound
CAN_BE_SEEN = 1e-15  # standard deviations: less is the float's own rounding


def round_release(partitioned: PartitionedTable, values: Floats) -> Table:
    """Return the table that publishes values (n, d), rounded by the job's settings."""
    rounded = values.copy()
    rounded[:, partitioned.table.places] = _round_numbers(
        partitioned, partitioned.of_numbers(values)
    )
    round_integers = partitioned.job.output.round_integers
    whole_names = frozenset(
        n for n in partitioned.names if is_asked_whole(partitioned.job, n)
    )
    released = partitioned.table.with_values(
        rounded,
        round_integers=round_integers,
        integers=whole_names,
        steps=_find_time_steps(partitioned),
    )
    return add_pseudonyms(partitioned, add_weights(partitioned, released))


def round_to_grid(values: Floats, place: int) -> Floats:
    """Return values (n,) as whole multiples of 10^-place, the nearest of each.

    Each is the float nearest to its decimal, so that it is written with no more digits.

    Examples
    --------
    >>> round_to_grid(np.array([42.666666666666664, 1e9 + 1, -0.001]), 2).tolist()
    [42.67, 1000000001.0, 0.0]
    """
    different, where = np.unique(values, return_inverse=True)
    rounded = [round(value, place) + 0.0 for value in different.tolist()]
    return np.asarray(rounded)[where]


def choose_time_step(clock: Clock, spread: float, output: Output) -> int:
    """Return the step of published dates and times, in their unit.

    The step is 1.  The unit is the coarsest that makes all originals whole.  Parts of a
    second have the decimals of a number whose standard deviation is as many seconds.
    """
    seconds = spread * clock.seconds
    return clock.step(choose_decimals(seconds, output) if seconds else None)


def measure_drifts(
    partitioned: PartitionedTable, before: Floats, after: Floats
) -> dict[str, Drift]:
    """Return by how much each number that is rounded moved; values (n, p)."""
    spread, places = Scale.of(partitioned.X).spread, _find_decimals(partitioned)
    clocks, drifts = _find_time_steps(partitioned), {}
    for j, name in enumerate(partitioned.names):
        place, seconds = places[j], None
        if name in clocks:
            seconds = clocks[name] * partitioned.table.clocks[name].seconds
        old, new = select_present(before[:, j]), select_present(after[:, j])
        on_grid = place is not None or name in clocks
        if spread[j] == 0 or (not on_grid and (old == new).all()):
            continue
        x, y = ((v - old[0]) / spread[j] for v in (old, new))
        shift = float((y - x).mean())
        drifts[name] = make_drift(place, seconds, shift, x.var(), y.var())
    return drifts


def make_drift(
    place: int | None, seconds: float | None, shift: float, before: float, after: float
) -> Drift:
    """Return the drift of a number by rounding.

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
    """Return what rounding did to means, variances and groups; values (n, d)."""
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
    numbers = partitioned.of_numbers(before), partitioned.of_numbers(after)
    notes += [
        *_list_typed_notes(partitioned, *numbers),
        *_list_single_value_notes(partitioned, *numbers),
    ]
    return [*notes, *_list_equal_group_notes(partitioned, before, after)]


def _round_up(moved: float) -> str:
    """Return a number in one digit, no less than it is."""
    return f"{float(_UPWARDS.create_decimal(f'{moved:.12g}')):g}"


_OF = ("mean", "variance")
_UPWARDS = Context(prec=1, rounding=ROUND_CEILING)


def _describe_rounding(partitioned: PartitionedTable) -> str:
    """Describe how numbers are rounded, and the units of dates and times."""
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
    if output.decimals is not None:
        return f"decimals = {output.decimals}"
    if output.significant is None:
        return "to their types"
    return f"{output.significant} digits of the attribute's standard deviation"


def _list_typed_notes(
    partitioned: PartitionedTable, before: Floats, after: Floats
) -> list[str]:
    X, grid = partitioned.X, _round_numbers(partitioned, before)
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
    notes = []
    for j, name in enumerate(partitioned.names):
        old, new = select_present(before[:, j]), select_present(after[:, j])
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
    notes, names = [], partitioned.job.roles.quasi_identifier
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
    """Return the step of each attribute of dates or times, in units of its clock."""
    spreads = zip(
        partitioned.names, Scale.of(partitioned.X).spread.tolist(), strict=True
    )
    clocks, output = partitioned.table.clocks, partitioned.job.output
    return {
        name: choose_time_step(clocks[name], spread, output)
        for name, spread in spreads
        if name in clocks
    }


def _count_most_frequent(values: Floats) -> int:
    """Return how many of values (n,) are the most frequent one."""
    return int(np.unique(values, return_counts=True)[1].max())


def _round_numbers(partitioned: PartitionedTable, values: Floats) -> Floats:
    rounded = values.copy()
    for name, step in _find_time_steps(partitioned).items():
        j = partitioned.names.index(name)
        rounded[:, j] = partitioned.table.clocks[name].on_grid(values[:, j], step)
    for j, place in enumerate(_find_decimals(partitioned)):
        if place is not None:
            rounded[:, j] = _round_attribute(partitioned, j, values[:, j], place)
        rounded[:, j] = _move_inside(partitioned, j, rounded[:, j], place)
    return rounded


def _round_attribute(
    partitioned: PartitionedTable, j: int, values: Floats, place: int
) -> Floats:
    """Return the values (n,) of an attribute, rounded to `place` decimals.

    If whole numbers are requested, they are chosen to keep the mean of all values.
    """
    rows = np.flatnonzero(~np.isnan(values))
    is_whole_number = place == 0 and is_asked_whole(
        partitioned.job, partitioned.names[j]
    )
    if not is_whole_number or np.ptp(values[rows]) == 0:
        return round_to_grid(values, place)
    label = get_column(partitioned.labels_of_numbers, j)[rows]
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    sizes = np.bincount(
        group, None if partitioned.weights is None else partitioned.weights[rows]
    )
    rounded = values.copy()
    rounded[rows] = round_to_whole_numbers(
        values[rows][first], sizes.astype(np.float64)
    )[group]
    return rounded


def _move_inside(
    partitioned: PartitionedTable, j: int, values: Floats, place: int | None
) -> Floats:
    """Return values (n,), with those that rounding moved out of bounds moved inside.

    A value that is farther out than rounding can move it is unchanged, for the audit to
    find.
    """
    name, table, job = partitioned.names[j], partitioned.table, partitioned.job
    if name not in job.attributes:
        return values
    spread = float(Scale.of(partitioned.X[:, [j]]).spread[0])
    return move_inside_bounds(values, table, job, name, spread, place)


def move_inside_bounds(
    values: Floats, table: Table, job: Job, name: str, spread: float, place: int | None
) -> Floats:
    """Return values (n,) of an attribute within its bounds, if rounding took them out.

    `spread` is its standard deviation, and `place` how many decimals are published.
    """
    near = ROUNDED * spread
    if is_whole(table, job, name):
        near = 1.0
    if place is not None:
        near = 10.0**-place
    return move_to_bounds(
        values, *find_published_ends(table, job, name, place), near=near
    )


def _find_decimals(partitioned: PartitionedTable) -> list[int | None]:
    """Return the decimals of each attribute; None if its values are not rounded."""
    spreads = zip(
        partitioned.names, Scale.of(partitioned.X).spread.tolist(), strict=True
    )
    return [
        None
        if name in partitioned.table.clocks
        else find_attribute_decimals(partitioned.table, partitioned.job, name, spread)
        for name, spread in spreads
    ]
