"""Assignment of groups to basins at given multipliers, by local search.

By Shapley and Folkman, at the dual optimum all but a few groups have their basin
determined.  Swapping group j from its lowest local minimum to the second costs price_j
and changes the two rows by a_j.  The residual r of the rows then costs about
r' S^-1 r / 2; S is the Hessian of -g with every group fixed in its basin.

Compiled; importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np

from aggopt.algorithms.lagrangian.local_minima import (
    AT,
    CURVATURE,
    LEVEL,
    VALUE,
    evaluate_quartic,
    find_local_minima,
    find_lowest,
    make_workspace,
)
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64, Bool, Floats

# Columns of `TwoLowest`, in addition to AT and LEVEL
LEFT = 1
RIGHT = 2
SAMPLES = 24  # between two minima: the barrier need not be exact


class TwoLowest(NamedTuple):
    """The two lowest local minima of each group at some multipliers.

    A row of `best` and `other` (m, 4) has t, the barriers to its left and right, and u.
    `gap` (m,) is by how much h is higher at `other`; with one local minimum only it is
    inf, and `other` equals `best`.  `response` (m,) is n_j^2 / curvature of the best:
    the derivative of n_j c_j by lambda.
    """

    best: Floats
    other: Floats
    gap: Floats
    response: Floats


def find_two_lowest(program: Separable, box: Box, y: Floats) -> TwoLowest:
    """Return each group's two lowest local minima of the Lagrangian at y."""
    m = len(program.sizes)
    at = TwoLowest(np.empty((m, 4)), np.empty((m, 4)), np.full(m, np.inf), np.zeros(m))
    _find_two_lowest(program, box, y, at)
    return at


@compiled
def _find_two_lowest(program: Separable, box: Box, y: Floats, at: TwoLowest) -> None:
    """Write each group's two lowest local minima of the Lagrangian to `at`."""
    minima = make_workspace(program)
    for j in range(len(program.sizes)):
        low = box.low[j]
        high = box.high[j]
        count = find_local_minima(program, j, low, high, y, minima)
        one, two = _pick_two_lowest(minima, count)
        _write_basin(program, j, low, high, y, minima[:count], one, at.best[j])
        for column in range(4):
            at.other[j, column] = at.best[j, column]
        if count > 1:
            _write_basin(program, j, low, high, y, minima[:count], two, at.other[j])
            at.gap[j] = minima[two, VALUE] - minima[one, VALUE]
        if minima[one, CURVATURE] > 0.0:
            at.response[j] = program.sizes[j] ** 2 / minima[one, CURVATURE]


def compute_excess_outside(
    program: Separable, box: Box, y: Floats, inner: Box
) -> Floats:
    """Return each group's least Lagrangian outside `inner`, less that in the box.

    By exhaustion (`lowest`), since groups are fixed on the strength of it.
    """
    higher = np.full(len(program.sizes), np.inf)
    _lower_excess(program, box, y, inner, higher)
    return higher


@compiled
def _lower_excess(
    program: Separable, box: Box, y: Floats, inner: Box, higher: Floats
) -> None:
    """Lower `higher` (m,) to each group's excess of the Lagrangian outside `inner`."""
    minima = make_workspace(program)
    for j in range(len(higher)):
        low = box.low[j]
        high = box.high[j]
        lowest_value = find_lowest(program, j, low, high, y, minima)[1]
        if low < inner.low[j]:
            left = find_lowest(program, j, low, inner.low[j], y, minima)[1]
            higher[j] = min(higher[j], left - lowest_value)
        if inner.high[j] < high:
            right = find_lowest(program, j, inner.high[j], high, y, minima)[1]
            higher[j] = min(higher[j], right - lowest_value)


@inner
def _pick_two_lowest(minima: Floats, count: int) -> tuple[int, int]:
    """Return the rows of the two lowest minima, -1 if there is no second."""
    one = 0
    two = -1
    for k in range(1, count):
        if minima[k, VALUE] < minima[one, VALUE]:
            one, two = k, one
        elif two < 0 or minima[k, VALUE] < minima[two, VALUE]:
            two = k
    return one, two


@inner
def _write_basin(
    program: Separable,
    j: int,
    low: float,
    high: float,
    y: Floats,
    minima: Floats,
    k: int,
    out: Floats,
) -> None:
    """Write t, barriers and u of group j's k-th local minimum to `out` (4,)."""
    left = low if k == 0 else _find_barrier(program, j, y, minima[k - 1], minima[k])
    last = k == len(minima) - 1
    right = high if last else _find_barrier(program, j, y, minima[k], minima[k + 1])
    out[AT] = minima[k, AT]
    out[LEFT] = left
    out[RIGHT] = right
    out[LEVEL] = minima[k, LEVEL]


@inner
def _find_barrier(
    program: Separable, j: int, y: Floats, start: Floats, stop: Floats
) -> float:
    """Return the point between two local minima of group j that separates them."""
    if start[LEVEL] != stop[LEVEL]:
        for p in range(program.first[j], program.first[j + 1]):
            if program.level[p] == stop[LEVEL]:
                return float(max(program.low[p], start[AT]))
    top = -np.inf
    where = 0.5 * (start[AT] + stop[AT])
    n = program.sizes[j]
    centre = program.centres[j]
    for i in range(1, SAMPLES):
        t = start[AT] + (stop[AT] - start[AT]) * i / SAMPLES
        c = centre + t
        h = compute_group_cost(program, j, t) - n * c * (y[0] + y[1] * c)
        if top < h < np.inf:
            top = h
            where = t
    return float(where)


@inner
def compute_group_cost(program: Separable, j: int, t: float) -> float:
    """Return the cost f_j of group j at t, inf if no piece contains t."""
    lowest = np.inf
    for p in range(program.first[j], program.first[j + 1]):
        if program.low[p] <= t <= program.high[p]:
            q = program.quartic[p]
            lowest = min(lowest, evaluate_quartic((q[0], q[1], q[2], q[3], q[4]), t))
    return lowest


@compiled
def sum_costs(program: Separable, t: Floats) -> float:
    """Return the total cost of all groups, sum_j f_j(t_j)."""
    total = 0.0
    for j in range(len(t)):
        total += compute_group_cost(program, j, t[j])
    return total


PAIRS = 160  # groups nearest to a tie that are swapped two at a time
TRIPLES = 20  # and three at a time: 40^3 / 6 triples take milliseconds


class BasinSwaps(NamedTuple):
    """Cost and effect of swapping each of some groups to its other basin.

    `groups` (k,) start with the nearest tie; `price` (m,), `change` (m, 2); `metric`
    is S^-1 / 2; `residual` (2,) is r, and `swapped` (m,) marks the swapped groups.
    """

    groups: I64
    price: Floats
    change: Floats
    metric: tuple[float, float, float]
    residual: Floats
    swapped: Bool


@compiled
def swap_basins(swaps: BasinSwaps) -> float:
    """Swap groups' basins while that lowers the cost; return the estimated cost.

    That is relative to all groups at their best, at multipliers lambda and mu.  A local
    search: one group at a time, then two among the `PAIRS` nearest to a tie, then three
    among the nearest `TRIPLES`.
    """
    _swap_singles(swaps)
    _swap_pairs(swaps)
    while _swap_best_triple(swaps):
        _swap_pairs(swaps)
    paid = 0.0
    for j in swaps.groups:
        if swaps.swapped[j]:
            paid += swaps.price[j]
    return paid + _compute_penalty(swaps, swaps.residual[0], swaps.residual[1])


def list_basin_swaps(program: Separable, at: TwoLowest, nu: float) -> BasinSwaps:
    """Return the cost and effect of swapping each group's basin."""
    n = program.sizes
    c = program.centres + at.best[:, AT]
    c2 = program.centres + at.other[:, AT]
    change = np.stack([n * (c2 - c), n * (c2 - c) * (c2 + c)], axis=1)
    residual = np.array([program.total - n @ c, program.squares - n @ (c * c)])
    s11 = at.response.sum()
    s12 = at.response @ (2 * c)
    s22 = at.response @ (4 * c * c)
    ridge = 1e-9 * (s11 + s22) + 1e-30
    s11 = s11 + ridge
    s22 = s22 + ridge
    twice = 2 * (s11 * s22 - s12 * s12)
    metric = (float(s22 / twice), float(-s12 / twice), float(s11 / twice))
    groups = np.argsort(at.gap)[: np.sum(at.gap < np.inf)]
    price = at.gap + nu * (at.other[:, LEVEL] - at.best[:, LEVEL])
    return BasinSwaps(
        groups, price, change, metric, residual, np.zeros(len(c), np.bool_)
    )


@inner
def _compute_penalty(swaps: BasinSwaps, r1: float, r2: float) -> float:
    """Return the estimated cost r' S^-1 r / 2 of row residuals r."""
    w11, w12, w22 = swaps.metric
    return w11 * r1 * r1 + 2.0 * w12 * r1 * r2 + w22 * r2 * r2


@inner
def _get_sign(swaps: BasinSwaps, j: int) -> float:
    """Return 1.0 if a swap of group j is to be made, -1.0 if undone."""
    return -1.0 if swaps.swapped[j] else 1.0


@inner
def _swap_group(swaps: BasinSwaps, j: int) -> None:
    """Swap group j's basin, or undo its swap, and update the residual."""
    swaps.residual[0] -= _get_sign(swaps, j) * swaps.change[j, 0]
    swaps.residual[1] -= _get_sign(swaps, j) * swaps.change[j, 1]
    swaps.swapped[j] = not swaps.swapped[j]


@inner
def _swap_singles(swaps: BasinSwaps) -> None:
    """Swap the basins of single groups while that lowers the cost."""
    better = True
    while better:
        better = False
        now = _compute_penalty(swaps, swaps.residual[0], swaps.residual[1])
        for j in swaps.groups:
            s = _get_sign(swaps, j)
            r1 = swaps.residual[0] - s * swaps.change[j, 0]
            r2 = swaps.residual[1] - s * swaps.change[j, 1]
            penalty = _compute_penalty(swaps, r1, r2)
            if penalty + s * swaps.price[j] < now * (1.0 - 1e-9):
                _swap_group(swaps, j)
                now = penalty
                better = True


@inner
def _swap_pairs(swaps: BasinSwaps) -> None:
    """Swap the basins of the best pair of groups while that lowers the cost."""
    near = _select_near_ties(swaps)
    for _ in range(PAIRS):
        one, two = _find_best_pair(swaps, near)
        if one < 0:
            return
        _swap_group(swaps, one)
        if two != one:
            _swap_group(swaps, two)


@inner
def _select_near_ties(swaps: BasinSwaps) -> I64:
    """Return up to `PAIRS` groups whose two basins cost nearly the same."""
    plain = min(len(swaps.groups), PAIRS // 2)
    near_ties = swaps.groups[:PAIRS].copy()
    count = plain
    for j in swaps.groups[plain:]:
        if count == len(near_ties):
            break
        a = abs(swaps.change[j, 0])
        new = True
        for k in range(count):
            if abs(abs(swaps.change[near_ties[k], 0]) - a) < 0.02 * a:
                new = False
                break
        if new:
            near_ties[count] = j
            count += 1
    return near_ties[:count]


@inner
def _find_best_pair(swaps: BasinSwaps, near: I64) -> tuple[int, int]:
    """Return the two groups whose swaps lower the cost most, or (-1, -1)."""
    r1, r2 = swaps.residual
    now = _compute_penalty(swaps, r1, r2)
    best_change = -1e-9 * now
    one = -1
    two = -1
    for i in range(len(near)):
        j = near[i]
        s = _get_sign(swaps, near[i])
        p1 = r1 - s * swaps.change[j, 0]
        p2 = r2 - s * swaps.change[j, 1]
        paid = s * swaps.price[j] - now
        alone = paid + _compute_penalty(swaps, p1, p2)
        if alone < best_change:
            best_change = alone
            one = j
            two = j
        for k in range(i):
            o = near[k]
            s = _get_sign(swaps, near[k])
            q1 = p1 - s * swaps.change[o, 0]
            q2 = p2 - s * swaps.change[o, 1]
            cost = paid + s * swaps.price[o] + _compute_penalty(swaps, q1, q2)
            if cost < best_change:
                best_change = cost
                one = j
                two = o
    return one, two


@inner
def _swap_best_triple(swaps: BasinSwaps) -> bool:
    """Swap the basins of the best three groups; return whether the cost falls."""
    near = _select_near_ties(swaps)
    if len(near) > 2 * TRIPLES:
        near = np.concatenate((near[:TRIPLES], near[-TRIPLES:]))
    r1, r2 = swaps.residual
    now = _compute_penalty(swaps, r1, r2)
    best_change = -1e-9 * now
    best = (-1, -1, -1)
    for i in range(len(near)):
        a = near[i]
        s = _get_sign(swaps, near[i])
        p1 = r1 - s * swaps.change[a, 0]
        p2 = r2 - s * swaps.change[a, 1]
        paid = s * swaps.price[a] - now
        for k in range(i):
            b = near[k]
            s = _get_sign(swaps, near[k])
            q1 = p1 - s * swaps.change[b, 0]
            q2 = p2 - s * swaps.change[b, 1]
            cost = paid + s * swaps.price[b]
            for o in range(k):
                c = near[o]
                s = _get_sign(swaps, near[o])
                z1 = q1 - s * swaps.change[c, 0]
                z2 = q2 - s * swaps.change[c, 1]
                all3 = cost + s * swaps.price[c] + _compute_penalty(swaps, z1, z2)
                if all3 < best_change:
                    best_change = all3
                    best = (a, b, c)
    if best[0] < 0:
        return False
    for j in best:
        _swap_group(swaps, j)
    return True
