"""Rounding of published values to one decimal grid for each attribute.

The last bits of a mean are functions of single records, and of no use.  The
grid is the attribute's, not the value's: small values have no more decimals than large
ones, and 1e9 + 1 keeps its 1.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from aggopt.aggregate.aggregation import get_column
from aggopt.core.types import F64, I64, Bool, Floats, Labels
from aggopt.data.table import Table
from aggopt.encoding.clock import Clock
from aggopt.job import Job, Output
from aggopt.models.shared.value_bounds import move_to_bounds
from aggopt.pipeline.prepare.published_grid import (
    choose_decimals,
    find_attribute_decimals,
    find_published_ends,
    is_asked_whole,
    is_whole,
)

ROUNDED = 1e-9  # standard deviations that arithmetic takes a value off a bound
GAIN = 1e-9  # of the largest group: less is rounding


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
