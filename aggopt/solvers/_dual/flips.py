"""Which well each group takes, once the multipliers are known.

By Shapley and Folkman, at the dual's maximum all but a few groups know their well.
Moving group j from its lowest well to the next costs some price_j and changes the two
rows by a_j; what is then still missing of the rows, r, costs about r' S^-1 r / 2, where
S is the second derivative of -g with every group fixed in its well.

Compiled; importing this imports numba: do so late.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled
from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.solvers._dual.choices import Choices
from aggopt.solvers._dual.program import Program

PAIRS = 160  # so many groups, those nearest to a tie, are tried two at a time
TRIPLES = 20  # and so many three at a time


class Flips(NamedTuple):
    """What moving each of some groups to its other well costs and changes.

    `groups` (k,) come nearest to a tie first; `price` (m,), `change` (m, 2); `metric`
    is S^-1 / 2; `missing` (2,) is r, and `flipped` (m,) says which have been moved.
    """

    groups: I64
    price: Floats
    change: Floats
    metric: tuple[float, float, float]
    missing: Floats
    flipped: Bool


@compiled
def settle(flips: Flips) -> float:
    """Flip groups where that saves, and return about what the wells then cost.

    That is over all best wells, at multipliers lambda and mu.  A local search: one
    group at a time, then two among the `PAIRS` nearest to a tie, then three among the
    nearest `TRIPLES`.
    """
    _one_by_one(flips)
    _two_by_two(flips)
    while _three(flips):
        _two_by_two(flips)
    paid = 0.0
    for j in flips.groups:
        if flips.flipped[j]:
            paid += flips.price[j]
    return paid + _penalty(flips, flips.missing[0], flips.missing[1])


def flips_of(program: Program, at: Choices, nu: float) -> Flips:
    """Return the flips there are where the multiplier of the count row is nu."""
    n = program.sizes
    c, c2 = program.centres + at.best[:, 0], program.centres + at.other[:, 0]
    change = np.stack([n * (c2 - c), n * (c2 - c) * (c2 + c)], axis=1)
    missing = np.array([program.total - n @ c, program.squares - n @ (c * c)])
    s11, s12 = at.slide.sum(), at.slide @ (2 * c)
    s22 = at.slide @ (4 * c * c)
    ridge = 1e-9 * (s11 + s22) + 1e-30
    s11, s22 = s11 + ridge, s22 + ridge
    twice = 2 * (s11 * s22 - s12 * s12)
    metric = (float(s22 / twice), float(-s12 / twice), float(s11 / twice))
    groups = np.argsort(at.gap)[: np.sum(at.gap < np.inf)]
    price = at.gap + nu * (at.other[:, 3] - at.best[:, 3])
    return Flips(groups, price, change, metric, missing, np.zeros(len(c), np.bool_))


@compiled
def _penalty(flips: Flips, r1: float, r2: float) -> float:
    w11, w12, w22 = flips.metric
    return w11 * r1 * r1 + 2.0 * w12 * r1 * r2 + w22 * r2 * r2


@compiled
def _sign(flips: Flips, j: int) -> float:
    return -1.0 if flips.flipped[j] else 1.0


@compiled
def _flip(flips: Flips, j: int) -> None:
    flips.missing[0] -= _sign(flips, j) * flips.change[j, 0]
    flips.missing[1] -= _sign(flips, j) * flips.change[j, 1]
    flips.flipped[j] = not flips.flipped[j]


@compiled
def _one_by_one(flips: Flips) -> None:
    better = True
    while better:
        better = False
        now = _penalty(flips, flips.missing[0], flips.missing[1])
        for j in flips.groups:
            s = _sign(flips, j)
            r1 = flips.missing[0] - s * flips.change[j, 0]
            r2 = flips.missing[1] - s * flips.change[j, 1]
            then = _penalty(flips, r1, r2)
            if then + s * flips.price[j] < now * (1.0 - 1e-9):
                _flip(flips, j)
                now, better = then, True


@compiled
def _two_by_two(flips: Flips) -> None:
    near = _mixed(flips)
    for _ in range(PAIRS):
        one, two = _best_pair(flips, near)
        if one < 0:
            return
        _flip(flips, one)
        if two != one:
            _flip(flips, two)


@compiled
def _mixed(flips: Flips) -> I64:
    """Return up to `PAIRS` groups near a tie, the last of them of unlike changes."""
    plain = min(len(flips.groups), PAIRS // 2)
    kept = flips.groups[:PAIRS].copy()
    count = plain
    for j in flips.groups[plain:]:
        if count == len(kept):
            break
        a, new = abs(flips.change[j, 0]), True
        for k in range(count):
            if abs(abs(flips.change[kept[k], 0]) - a) < 0.02 * a:
                new = False
                break
        if new:
            kept[count] = j
            count += 1
    return kept[:count]


@compiled
def _best_pair(flips: Flips, near: I64) -> tuple[int, int]:
    """Return the two groups (or one, twice) whose flips save most; -1 if none saves."""
    r1, r2 = flips.missing
    now = _penalty(flips, r1, r2)
    least, one, two = -1e-9 * now, -1, -1
    for i in range(len(near)):
        j, s = near[i], _sign(flips, near[i])
        p1, p2 = r1 - s * flips.change[j, 0], r2 - s * flips.change[j, 1]
        paid = s * flips.price[j] - now
        alone = paid + _penalty(flips, p1, p2)
        if alone < least:
            least, one, two = alone, j, j
        for k in range(i):
            o, s = near[k], _sign(flips, near[k])
            q1, q2 = p1 - s * flips.change[o, 0], p2 - s * flips.change[o, 1]
            both = paid + s * flips.price[o] + _penalty(flips, q1, q2)
            if both < least:
                least, one, two = both, j, o
    return one, two


@compiled
def _three(flips: Flips) -> bool:
    """Flip the three groups whose flips save most; say whether any did."""
    near = _mixed(flips)
    if len(near) > 2 * TRIPLES:
        near = np.concatenate((near[:TRIPLES], near[-TRIPLES:]))
    r1, r2 = flips.missing
    now = _penalty(flips, r1, r2)
    least, best = -1e-9 * now, (-1, -1, -1)
    for i in range(len(near)):
        a, s = near[i], _sign(flips, near[i])
        p1, p2 = r1 - s * flips.change[a, 0], r2 - s * flips.change[a, 1]
        paid = s * flips.price[a] - now
        for k in range(i):
            b, s = near[k], _sign(flips, near[k])
            q1, q2 = p1 - s * flips.change[b, 0], p2 - s * flips.change[b, 1]
            both = paid + s * flips.price[b]
            for o in range(k):
                c, s = near[o], _sign(flips, near[o])
                z1, z2 = q1 - s * flips.change[c, 0], q2 - s * flips.change[c, 1]
                all3 = both + s * flips.price[c] + _penalty(flips, z1, z2)
                if all3 < least:
                    least, best = all3, (a, b, c)
    if best[0] < 0:
        return False
    for j in best:
        _flip(flips, j)
    return True
