"""Published values on one decimal grid for each attribute, and what that changes.

The last bits of a mean are functions of single records, and of no use.  The
grid is the attribute's, not the value's: small values have no more decimals than large
ones, and 1e9 + 1 keeps its 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.aggregate.aggregation import get_column
from aggopt.core.randomness import draw_permutation
from aggopt.core.standardise import Scale
from aggopt.core.types import F64, I64, Bool, Floats, Labels
from aggopt.data.restore_types import replace_values
from aggopt.data.table import Table
from aggopt.encoding.clock import Clock
from aggopt.job import Job, Output
from aggopt.models.shared.value_bounds import move_to_bounds
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.pipeline.prepare.published_grid import (
    choose_decimals,
    find_attribute_decimals,
    find_published_ends,
    is_asked_whole,
    is_whole,
)
from aggopt.release.manifest import Drift

TYPED = 1e-6  # of an attribute's range; float32 stays below it
ROUNDED = 1e-9  # standard deviations that arithmetic takes a value off a bound
CAN_BE_SEEN = 1e-15  # standard deviations: less is the float's own rounding


def round_release(partitioned: PartitionedTable, values: Floats) -> Table:
    """Return the table that publishes values (n, d), rounded by the job's settings."""
    table = partitioned.table
    job = partitioned.job
    sampling = partitioned.sampling
    rounded = values.copy()
    rounded[:, table.places] = _round_numbers(
        partitioned, partitioned.of_numbers(values)
    )
    spreads = Scale.of(partitioned.X).spread
    released = publish_values(table, rounded, partitioned.labels, job, spreads)
    if sampling is not None:
        released = publish_weights(released, partitioned.labels, sampling.values, job)
    return add_pseudonyms(partitioned, released)


def publish_values(
    table: Table,
    values: Floats,
    labels: Labels,
    job: Job,
    spreads: Floats,
    levels: Mapping[str, nw.Series[Any]] = MappingProxyType({}),
) -> Table:
    """Return a copy of the table with published values (n, d), typed and rounded.

    Groups are `labels` (n,) or (n, d), for the statements that are published of them.
    `spreads` (p,) are the standard deviations of its numbers.  `levels` has the entries
    of each category if these records are some of all.
    """
    return table.with_values(
        values,
        round_integers=job.output.round_integers,
        integers=[name for name in table.numeric if is_asked_whole(job, name)],
        levels=levels,
        steps=find_time_steps(table.clocks, table.numeric, spreads, job.output),
        labels=labels,
    )


def publish_weights(
    released: Table, labels: Labels, weights: Floats, job: Job
) -> Table:
    """Return the release with sampling weights (n,) as the job publishes them.

    Weights are the mean of each group, which keeps the sum of weights in it; or they
    are dropped, or unchanged.
    """
    published = job.weights.published
    if published == "as is":
        return released
    (name,) = job.roles.weight
    frame = released.frame
    if published == "drop":
        books = {n: book for n, book in released.codebooks.items() if n != name}
        return replace(
            released, frame=frame.drop(name), roles=job.released_roles, codebooks=books
        )
    means = np.bincount(labels, weights) / np.bincount(labels)
    column = replace_values(frame[name], means[labels], round_integers=False)
    return replace(released, frame=frame.with_columns(column))


def add_pseudonyms(partitioned: PartitionedTable, released: Table) -> Table:
    """Return the release with a pseudonym of each unit, 1..m, if requested.

    The order of the numbers depends only on the secret of the release.  They reveal
    nothing about a unit, and differ from those of any other release.
    """
    name = partitioned.job.pseudonym
    units = partitioned.units
    if name is None or units is None:
        return released
    turn = draw_permutation(partitioned.secret, "pseudonyms of units", units.count)
    frame = released.frame
    column = nw.new_series(
        name, 1 + turn[units.unit_of_record], backend=frame.implementation
    )
    if frame.implementation.is_pandas():
        native = column.to_native()
        native.index = frame.to_native().index
        column = nw.from_native(native, series_only=True)
    return replace(
        released, frame=frame.with_columns(column), roles=partitioned.job.released_roles
    )


def round_to_grid(values: Floats, place: int) -> Floats:
    """Return values (n,) rounded to the nearest multiples of 10^-place.

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
    """Return the rounding step of published dates and times, in clock units.

    The step is 1.  The unit is the coarsest that makes all originals whole.  Parts of a
    second have the decimals of a number whose standard deviation is as many seconds.
    """
    seconds = spread * clock.seconds
    return clock.step(choose_decimals(seconds, output) if seconds else None)


def find_time_steps(
    clocks: Mapping[str, Clock], names: Sequence[str], spreads: Floats, output: Output
) -> dict[str, int]:
    """Return the rounding step of each date or time attribute, in clock units.

    `spreads` (p,) are the standard deviations of the numbers `names`.
    """
    return {
        name: choose_time_step(clocks[name], spread, output)
        for name, spread in zip(names, spreads.tolist(), strict=True)
        if name in clocks
    }


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


_OF = ("mean", "variance")
_UPWARDS = Context(prec=1, rounding=ROUND_CEILING)


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
    grid = _round_numbers(partitioned, before)
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


def _count_most_frequent(values: Floats) -> int:
    """Return the number of times that the most frequent of values (n,) occurs."""
    return int(np.unique(values, return_counts=True)[1].max())


def _round_numbers(partitioned: PartitionedTable, values: Floats) -> Floats:
    """Return values (n, p) of the table's numbers on the grid of each."""
    return round_numbers(
        values,
        partitioned.labels_of_numbers,
        partitioned.weights,
        Scale.of(partitioned.X).spread,
        partitioned.table,
        partitioned.job,
    )


def round_numbers(
    values: Floats,
    labels: Labels,
    weights: Floats | None,
    spreads: Floats,
    table: Table,
    job: Job,
) -> Floats:
    """Return values (n, p) of a table's numbers on the grid of each, within bounds.

    Groups are `labels` (n,) or (n, p), and `weights` are of records, (n,), or of the
    values of each attribute, (n, p).  `spreads` (p,) are standard deviations.  Required
    whole numbers keep the mean of all values.  A value that is farther out of bounds
    than rounding can move it is unchanged, for the audit to find.
    """
    rounded = values.copy()
    names = table.numeric
    steps = find_time_steps(table.clocks, names, spreads, job.output)
    for j, name in enumerate(names):
        if name in table.spans:
            continue
        if name in steps:
            rounded[:, j] = table.clocks[name].on_grid(values[:, j], steps[name])
            continue
        spread = float(spreads[j])
        place = find_attribute_decimals(table, job, name, spread)
        if place == 0 and is_asked_whole(job, name):
            weights_of_values = None if weights is None else get_column(weights, j)
            label = get_column(labels, j)
            rounded[:, j] = _round_whole(values[:, j], label, weights_of_values)
        elif place is not None:
            rounded[:, j] = round_to_grid(values[:, j], place)
        if name in job.attributes:
            rounded[:, j] = move_inside_bounds(
                rounded[:, j], table, job, name, spread, place
            )
    return rounded


def _round_whole(values: Floats, labels: Labels, weights: Floats | None) -> Floats:
    """Return values (n,) of groups as whole numbers that keep their mean."""
    rows = np.flatnonzero(~np.isnan(values))
    if not len(rows) or np.ptp(values[rows]) == 0:
        return round_to_grid(values, 0)
    _, first, group = np.unique(labels[rows], return_index=True, return_inverse=True)
    sizes = np.bincount(group, None if weights is None else weights[rows])
    rounded = values.copy()
    rounded[rows] = round_to_whole_numbers(
        values[rows][first], sizes.astype(np.float64)
    )[group]
    return rounded


def move_inside_bounds(
    values: Floats, table: Table, job: Job, name: str, spread: float, place: int | None
) -> Floats:
    """Return values (n,) moved to a bound that rounding has exceeded.

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


GAIN = 1e-9  # of the largest group: less is rounding


def round_to_whole_numbers(c: F64, sizes: F64) -> F64:
    """Return a whole number next to each of c (m,), with sum_j n_j c_j nearly kept.

    Values with the largest remainders are rounded up (Hamilton's method), as many as
    bring the sum nearest to the original.  Then one further group is rounded up or
    down, or one each, as long as the sum becomes nearer.  If sizes differ, it is mostly
    met exactly.

    Examples
    --------
    >>> centroids, sizes = np.array([1.4, 2.4, 3.4]), np.array([5.0, 5.0, 5.0])
    >>> round_to_whole_numbers(centroids, sizes).tolist()
    [2.0, 2.0, 3.0]
    """
    low = np.floor(c)
    share = c - low
    some = np.flatnonzero(share > 0)
    order = some[np.argsort(-share[some], kind="stable")]
    missing = np.sum(sizes * share) - np.concatenate([[0.0], np.cumsum(sizes[order])])
    count = int(np.argmin(np.abs(missing)))
    up = np.zeros(len(c), dtype=bool)
    left = float(missing[count])
    up[order[:count]] = True
    while (changed := _find_exchange(share, sizes, up, left)).size:
        left += float(np.sum(np.where(up, sizes, -sizes)[changed]))
        up[changed] = ~up[changed]
    return low + up + 0.0


def _find_exchange(share: F64, sizes: F64, up: Bool, left: float) -> I64:
    """Return one or two groups to round the other way for a nearer sum; else none."""
    rising = _pick_first_by_size(np.flatnonzero((share > 0) & ~up), -share, sizes)
    falling = _pick_first_by_size(np.flatnonzero(up), share, sizes)
    more = np.concatenate([[0.0], sizes[rising]])
    less = np.concatenate([[0.0], sizes[falling]])
    after = np.abs(left - more[:, None] + less)
    one, other = np.unravel_index(int(np.argmin(after)), after.shape)
    if after[one, other] >= abs(left) - GAIN * sizes.max():
        return np.empty(0, np.int64)
    return np.concatenate([rising[:one][-1:], falling[:other][-1:]])


def _pick_first_by_size(groups: I64, rank: F64, sizes: F64) -> I64:
    """Return the first of some groups, by rank, for each distinct size."""
    ordered = groups[np.argsort(rank[groups], kind="stable")]
    return ordered[np.unique(sizes[ordered], return_index=True)[1]]
