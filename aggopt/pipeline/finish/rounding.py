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
from aggopt.pipeline.finish.pseudonyms import add_pseudonyms
from aggopt.pipeline.finish.published_weights import add_weights
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import present_values
from aggopt.pipeline.prepare.published_grid import (
    choose_decimals,
    decimals_of_attribute,
    is_asked_whole,
    is_whole,
    published_ends,
)
from aggopt.release.drift import Drift

TYPED = 1e-6  # of an attribute's range; float32 stays below it
ROUNDED = 1e-9  # standard deviations that arithmetic takes a value off a bound
CAN_BE_SEEN = 1e-15  # standard deviations: less is the float's own rounding


def round_release(given: PartitionedTable, values: Floats) -> Table:
    """Return the table that publishes values (n, d), rounded by the job's settings."""
    rounded = values.copy()
    rounded[:, given.table.places] = _rounded(given, given.of_numbers(values))
    whole = given.job.output.round_integers
    asked = frozenset(n for n in given.names if is_asked_whole(given.job, n))
    made = given.table.with_values(
        rounded, round_integers=whole, integers=asked, steps=_steps(given)
    )
    return add_pseudonyms(given, add_weights(given, made))


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

    The step is 1.  The unit is the coarsest in which all originals are whole.  Parts of
    a second have the decimals of a number whose standard deviation is as many seconds.
    """
    seconds = spread * clock.seconds
    return clock.step(choose_decimals(seconds, output) if seconds else None)


def rounding_drifts(
    given: PartitionedTable, before: Floats, after: Floats
) -> dict[str, Drift]:
    """Return by how much each number that is rounded moved; values (n, p)."""
    spread, places = Scale.of(given.X).spread, _places(given)
    clocks, found = _steps(given), {}
    for j, name in enumerate(given.names):
        place = places[j]
        old, new = present_values(before[:, j]), present_values(after[:, j])
        on_grid = place is not None or name in clocks
        if spread[j] == 0 or (not on_grid and (old == new).all()):
            continue
        x, y = ((v - old[0]) / spread[j] for v in (old, new))
        variance = abs(y.var() / x.var() - 1) if x.var() else 0.0
        step = None if place is None else float(f"1e{-place}")
        if name in clocks:
            step = clocks[name] * given.table.clocks[name].seconds
        found[name] = Drift(step, float(abs((y - x).mean())), float(variance))
    return found


def note_on_rounding(
    given: PartitionedTable, before: Floats, after: Floats, moved: Mapping[str, Drift]
) -> list[str]:
    """Return what rounding did to means, variances and groups; values (n, d)."""
    said = []
    largest = [max(getattr(d, of) for d in moved.values()) for of in _OF if moved]
    if any(moves > CAN_BE_SEEN for moves in largest):
        said.append(
            f"Published values are rounded ({_asked(given)}): means moved "
            f"by at most {_up(largest[0])} standard deviations, variances by at most "
            f"{_up(largest[1])} of themselves; certificates are of the values before "
            "rounding."
        )
    numbers = given.of_numbers(before), given.of_numbers(after)
    said += [*_typed(given, *numbers), *_few(given, *numbers)]
    return [*said, *_collapsed(given, before, after)]


def _up(moved: float) -> str:
    """Return a number in one digit, no less than it is."""
    return f"{float(_UPWARDS.create_decimal(f'{moved:.12g}')):g}"


_OF = ("mean", "variance")
_UPWARDS = Context(prec=1, rounding=ROUND_CEILING)


def _asked(given: PartitionedTable) -> str:
    """Describe how numbers are rounded, and the units of dates and times."""
    names = [name for name in given.names if name not in given.table.clocks]
    numbers = [_of_numbers(given.job.output)] if names else []
    clocks = given.table.clocks
    dates = [
        f"{name!r} to {clocks[name].said(step)}" for name, step in _steps(given).items()
    ]
    asked = (name for name in given.names if is_asked_whole(given.job, name))
    whole = [f"{name!r} to whole numbers" for name in asked]
    return ", ".join([*numbers, *whole, *dates])


def _of_numbers(output: Output) -> str:
    if output.decimals is not None:
        return f"decimals = {output.decimals}"
    if output.significant is None:
        return "to their types"
    return f"{output.significant} digits of the attribute's standard deviation"


def _typed(given: PartitionedTable, before: Floats, after: Floats) -> list[str]:
    X, grid = given.X, _rounded(given, before)
    widths = np.fmax.reduce(X) - np.fmin.reduce(X)
    typed = (np.abs(after - grid) > TYPED * widths).any(axis=0)
    return [
        f"{name!r} was rounded to its type: the certificate is of the values before, "
        "the measures are of those released."
        for name, so in zip(given.names, typed, strict=True)
        if so
    ]


def _few(given: PartitionedTable, before: Floats, after: Floats) -> list[str]:
    said = []
    for j, name in enumerate(given.names):
        old, new = present_values(before[:, j]), present_values(after[:, j])
        if np.ptp(new) == 0 and np.ptp(old) > 0:
            said.append(f"{name!r}: rounding leaves one value of all.")
        elif (same := _most(new)) > max(len(new) / 2, _most(old)):
            said.append(
                f"{name!r}: rounding publishes one and the same value for {same} of "
                f"{len(new)} records: ask for more digits, or cap the values that "
                "make its standard deviation so large."
            )
    return said


def _collapsed(given: PartitionedTable, before: Floats, after: Floats) -> list[str]:
    said, names = [], given.job.roles.quasi_identifier
    before, after = (np.nan_to_num(v, nan=np.inf) for v in (before, after))
    for block in given.blocks:
        first = np.unique(block.labels, return_index=True)[1]
        rows = np.ix_(first, np.array(block.columns))
        lost = len(np.unique(before[rows], axis=0)) - len(
            np.unique(after[rows], axis=0)
        )
        if lost:
            of = ", ".join(repr(names[j]) for j in block.columns)
            said.append(
                f"{of}: rounding makes {lost} of {len(first)} groups publish what "
                "another does."
            )
    return said


def _steps(given: PartitionedTable) -> dict[str, int]:
    """Return the step of each attribute of dates or times, in units of its clock."""
    spreads = zip(given.names, Scale.of(given.X).spread.tolist(), strict=True)
    clocks, output = given.table.clocks, given.job.output
    return {
        name: choose_time_step(clocks[name], spread, output)
        for name, spread in spreads
        if name in clocks
    }


def _most(values: Floats) -> int:
    """Return how many of values (n,) are the most frequent one."""
    return int(np.unique(values, return_counts=True)[1].max())


def _rounded(given: PartitionedTable, values: Floats) -> Floats:
    rounded = values.copy()
    for name, step in _steps(given).items():
        j = given.names.index(name)
        rounded[:, j] = given.table.clocks[name].on_grid(values[:, j], step)
    for j, place in enumerate(_places(given)):
        if place is not None:
            rounded[:, j] = _on_grid(given, j, values[:, j], place)
        rounded[:, j] = _inside(given, j, rounded[:, j], place)
    return rounded


def _on_grid(given: PartitionedTable, j: int, values: Floats, place: int) -> Floats:
    """Return the values (n,) of an attribute, rounded to `place` decimals.

    If whole numbers are requested, they are chosen to keep the mean of all values.
    """
    rows = np.flatnonzero(~np.isnan(values))
    asked = place == 0 and is_asked_whole(given.job, given.names[j])
    if not asked or np.ptp(values[rows]) == 0:
        return round_to_grid(values, place)
    label = get_column(given.labels_of_numbers, j)[rows]
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    sizes = np.bincount(group, None if given.weights is None else given.weights[rows])
    whole = values.copy()
    whole[rows] = round_to_whole_numbers(values[rows][first], sizes.astype(np.float64))[
        group
    ]
    return whole


def _inside(
    given: PartitionedTable, j: int, values: Floats, place: int | None
) -> Floats:
    """Return values (n,), with those that rounding moved out of bounds moved inside.

    A value that is farther out than rounding can move it is unchanged, for the audit to
    find.
    """
    name, table, job = given.names[j], given.table, given.job
    if name not in job.attributes:
        return values
    spread = float(Scale.of(given.X[:, [j]]).spread[0])
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
    return move_to_bounds(values, *published_ends(table, job, name, place), near=near)


def _places(given: PartitionedTable) -> list[int | None]:
    """Return the decimals of each attribute; None if its values are not rounded."""
    spreads = zip(given.names, Scale.of(given.X).spread.tolist(), strict=True)
    return [
        None
        if name in given.table.clocks
        else decimals_of_attribute(given.table, given.job, name, spread)
        for name, spread in spreads
    ]
