"""Compiled dynamic program over runs of sorted values.  Importing this imports numba.

Rows are processed in blocks of k.  Every group that ends after t, t + 1, ... or
t + k - 1 values holds the value just before t.  Its cost is the sum of the parts left
and right of that value, measured from that value.  So no digit is lost to values that
are far from zero or outside the group.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inlined, inner
from aggopt.core.types import AnyInt, Floats


@inner
def find_common_node(before: AnyInt, a: int, b: int, horizon: int) -> int:
    """Return the last node that the paths to a and b share; 0 if before `horizon`."""
    while a != b:
        if a > b:
            a = before[a]
        else:
            b = before[b]
        if min(a, b) < horizon:
            return 0
    return a


@compiled
def write_labels(before: AnyInt, labels: AnyInt) -> None:
    """Write the group number of each sorted value (n,) to `labels`."""
    j = len(labels)
    number = 0
    while j > 0:
        j = before[j]
        number = number + 1
    j = len(labels)
    while j > 0:
        number -= 1
        begin = before[j]
        for i in range(begin, j):
            labels[i] = number
        j = begin


SSE, SAE, RANGE, WHOLE = range(4)  # the last: SSE about the best whole number
KINDS = {"sse": SSE, "sae": SAE, "maxdist": RANGE}

SHORT = 5  # up to this k, a row's groups are few enough to be added up for each row
HALVING = 256  # from this k on, rows are halved and not processed in turn
LOSSY = 2.0**16  # costs this many times a group's own cost cover its digits
SIGHT = 16  # paths that do not meet within this many times k are not changed


class RunCosts(NamedTuple):
    """The values, the best costs so far, and one block's surroundings.

    Attributes
    ----------
    x : (n,)
        Values, sorted.
    k, kind
        Smallest group size; which cost.
    cost, step, before : (n + 1,)
        For the best partition of x[:j]: its cost, measured from some node that all
        paths in use share; its last group's cost; the position at which it begins.
    around, own : (3 k + 1,)
        For the values between t and t + p - 2 k, p the place: their mean (SSE) or sum
        (SAE) about x[t - 1], and the cost of these values only.
    inverse, weight : (3 k + 1,)
        1 / m and 1 / (m (m - 1)) for each m, and 0 if that is infinite.
    """

    x: Floats
    k: int
    kind: int
    cost: Floats
    step: Floats
    before: AnyInt
    around: Floats
    loss: Floats
    inverse: Floats
    weight: Floats


@compiled
def solve_runs(work: RunCosts) -> None:
    """Fill in the least cost of groups of x[:j], for every j, and the last group."""
    n = len(work.x)
    k = work.k
    work.cost[:k] = np.inf
    work.step[:k] = 0.0
    work.before[:k] = 0
    work.cost[0] = 0.0
    for t in range(k, n + 1, k):
        first = max(work.before[t - 1], t - 2 * k + 1, 0)
        end = min(t + k, n + 1)
        if work.cost[t - 1] > LOSSY * work.step[t - 1]:
            _reduce_costs(work, t, first)
        if k <= SHORT and work.kind == SSE:
            for j in range(t, end):
                _solve_short_row(work, j)
            continue
        _fill_surroundings(work, t, first, end)
        if k < HALVING:
            for j in range(t, end):
                _solve_row(work, t, j, max(work.before[j - 1], j - 2 * k + 1), j - k)
        else:
            _solve_by_halves(work, t, end, first)


@inlined
def _solve_short_row(work: RunCosts, j: int) -> None:
    """Set the best last group of x[:j] for small k and squared errors."""
    origin = work.x[j - 1]
    total = 0.0
    squares = 0.0
    best = np.inf
    size = float(work.k)
    for m in range(2, work.k):
        y = work.x[j - m] - origin
        total += y
        u = m * y - total
        squares += u * u * work.weight[m]
    for m in range(work.k, min(2 * work.k - 1, j) + 1):
        y = work.x[j - m] - origin
        total += y
        u = m * y - total
        squares += u * u * work.weight[m]
        work.loss[m] = squares
        value = work.cost[j - m] + squares
        better = 1.0 if value < best else 0.0
        size += (m - size) * better
        best = min(value, best)
    work.before[j] = j - int(size)
    work.step[j] = work.loss[int(size)]
    work.cost[j] = best


@inlined
def _solve_row(work: RunCosts, t: int, j: int, first: int, last: int) -> None:
    """Set the best last group of x[:j], which begins from `first` to `last`."""
    if work.kind == SSE:  # each kind known when its loop is compiled
        _search_row(work, SSE, t, j, first, last)
    elif work.kind == SAE:
        _search_row(work, SAE, t, j, first, last)
    elif work.kind == RANGE:
        _search_row(work, RANGE, t, j, first, last)
    else:
        _search_row(work, WHOLE, t, j, first, last)


@inlined
def _search_row(
    work: RunCosts, kind: int, t: int, j: int, first: int, last: int
) -> None:
    """Set the best last group of x[:j] for one kind of cost, known at compilation."""
    centre = 2 * work.k
    q = centre + j - t
    best = np.inf
    begin = first
    for i in range(first, last + 1):
        value = work.cost[i] + _compute_group_cost(work, kind, centre + i - t, q)
        if value <= best:
            best = value
            begin = i
    work.before[j] = begin
    work.step[j] = _compute_group_cost(work, kind, centre + begin - t, q) + work.loss[q]
    work.cost[j] = work.cost[begin] + work.step[j]


@inlined
def _compute_group_cost(work: RunCosts, kind: int, p: int, q: int) -> float:
    """Return the cost of a group from place p to q, less its part right of t."""
    if kind == RANGE:
        return float(work.loss[p])
    if kind == SAE:
        half = (q - p) // 2
        upper = work.around[q] - work.around[q - half]
        return float(upper - (work.around[p + half] - work.around[p]))
    m = 2 * work.k - p
    r = q - 2 * work.k
    apart = work.around[p] - work.around[q]
    squares = work.loss[p] + apart * apart * (m * r * work.inverse[m + r])
    if kind == WHOLE:
        mean = (m * work.around[p] + r * work.around[q]) * work.inverse[m + r]
        squares += (m + r) * (mean - np.rint(mean)) ** 2
    return float(squares)


@inlined
def _fill_surroundings(work: RunCosts, t: int, first: int, end: int) -> None:
    """Set sums or costs of the runs of values that end or begin at position t."""
    if work.kind == RANGE:
        _fill_distances(work, t, first, end)
    elif work.kind == SAE:
        _fill_sums(work, t, first, end)
    else:
        _fill_squares(work, t, -1, t - first)
        _fill_squares(work, t, 1, end - 1 - t)


@inlined
def _fill_squares(work: RunCosts, t: int, side: int, count: int) -> None:
    """Set means and sums of squares of runs on one side of position t."""
    # Youngs and Cramer: only terms that are not negative are added
    origin = work.x[t - 1]
    centre = 2 * work.k
    if work.kind == WHOLE:
        origin = np.floor(origin)
    total = squares = 0.0
    work.around[centre] = work.loss[centre] = 0.0
    for m in range(1, count + 1):
        y = work.x[t - m if side < 0 else t + m - 1] - origin
        total += y
        u = m * y - total
        squares += u * u * work.weight[m]
        work.around[centre + side * m] = total * work.inverse[m]
        work.loss[centre + side * m] = squares


@inlined
def _fill_sums(work: RunCosts, t: int, first: int, end: int) -> None:
    """Set sums of values on both sides of position t, for absolute errors."""
    origin = work.x[t - 1]
    centre = 2 * work.k
    work.around[centre] = 0.0
    for i in range(t - 1, first - 1, -1):
        p = centre + i - t
        work.around[p] = work.around[p + 1] - (work.x[i] - origin)
    for j in range(t + 1, end):
        q = centre + j - t
        work.around[q] = work.around[q - 1] + (work.x[j - 1] - origin)


@inlined
def _fill_distances(work: RunCosts, t: int, first: int, end: int) -> None:
    """Set distances from x[t - 1] on both sides of position t, for ranges."""
    origin = work.x[t - 1]
    centre = 2 * work.k
    for i in range(first, t):
        work.loss[centre + i - t] = origin - work.x[i]
    for j in range(t, end):
        work.loss[centre + j - t] = work.x[j - 1] - origin


@inner
def _solve_by_halves(work: RunCosts, t: int, end: int, first: int) -> None:
    """Set the best last groups of x[:j] for j in t..end - 1, by bisection."""
    rows = [(t, end - 1, first, t - 1)]
    while rows:
        low, high, first, last = rows.pop()
        j = (low + high) // 2
        _solve_row(work, t, j, max(first, j - 2 * work.k + 1), min(last, j - work.k))
        if low < j:
            rows.append((low, j - 1, first, work.before[j]))
        if j < high:
            rows.append((j + 1, high, work.before[j], last))


@inner
def _reduce_costs(work: RunCosts, t: int, first: int) -> None:
    """Subtract a common cost of all open paths, so that costs keep their digits.

    They are added up again from that node.  This restores the digits that larger
    earlier costs had covered.
    """
    meeting = t - 1
    lowest_cost = np.inf
    for i in range(t - 1, first - 1, -1):
        if i <= t - work.k:
            lowest_cost = min(lowest_cost, work.cost[i])
        if work.cost[i] < np.inf and (i > t - work.k or work.cost[i] <= lowest_cost):
            meeting = find_common_node(work.before, meeting, i, t - SIGHT * work.k)
    if meeting <= 0:
        return
    work.cost[meeting] = 0.0
    for i in range(meeting + 1, t):
        i0 = work.before[i]
        work.cost[i] = work.cost[i0] + work.step[i] if i0 >= meeting else np.inf


@compiled
def find_least_gap(x: Floats) -> float:
    """Return the least distance of different sorted values x; inf if all are equal."""
    smallest = np.inf
    for i in range(1, len(x)):
        gap = x[i] - x[i - 1]
        smallest = gap if 0.0 < gap < smallest else smallest
    return smallest
