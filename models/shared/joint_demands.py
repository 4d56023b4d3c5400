"""Demands on several attributes that no values which keep the covariance can meet.

With S = n R'R every centroid is c_j = R'p with |p|^2 <= n / n_j - 1.  So a centroid
cannot be farther out than the size of its group allows.  If attributes determine each
other, centroids obey their equations.  Demands of a group leave each attribute one of
some intervals.  The least |p| of each choice of intervals is a problem of least
distance.  By Farkas, any x >= 0 with h'x > 0 shows that no p with Gp >= h is shorter
than h'x / |G'x|.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.validation import Floats
from aggopt.errors import InfeasibleInputError
from aggopt.models.shared.joint import Records

Interval = tuple[float, float]
Demanded = Mapping[int, Mapping[int, Sequence[Interval]]]  # by group, by attribute

LOOKED_AT = 10_000  # choices in all: about a second
EACH = 256  # choices of one group: demands of further attributes are ignored
AGREE = 1e-9  # standard deviations by which demands may miss each other
FARTHER = 1e-6  # relative: an excess length that rounding explains


def require_room(data: Records, demanded: Demanded) -> None:
    """Refuse demands of a group if no choice of intervals keeps the covariance.

    Raises
    ------
    InfeasibleInputError
        A group has such demands; the message lists the groups' numbers.
    """
    n = float(data.sizes.sum())
    R, left, without = data.root / np.sqrt(n), LOOKED_AT, []
    for j, of_group in demanded.items():
        room = (n / data.sizes[j] - 1) * (1 + FARTHER)
        fits = False
        for box in _boxes(of_group):
            left -= 1
            fits = least(R, box) <= room
            if fits or left < 0:
                break
        if left < 0:
            break
        if not fits:
            without.append(j)
    if without:
        shown = ", ".join(map(str, without[:10]))
        raise InfeasibleInputError(
            f"The demands (importance 1) within {plural(len(without), 'group')} can be "
            f"met by no values that keep the covariance; the first are groups {shown}.",
            fix="lower the importance of some of their records below 1, ask for less, "
            'or set keep = "variance".',
        )


def _boxes(of_group: Mapping[int, Sequence[Interval]]) -> Iterator[dict[int, Interval]]:
    """Yield the choices of an interval for each attribute, the nearest to 0 first."""
    few: dict[int, list[Interval]] = {}
    count = 1
    for a, intervals in of_group.items():
        count *= len(intervals)
        if count <= EACH:
            few[a] = sorted(intervals, key=lambda own: max(own[0], -own[1], 0.0))
    for choice in product(*few.values()):
        yield dict(zip(few, choice, strict=True))


def least(R: Floats, box: Mapping[int, Interval]) -> float:
    """Return a lower bound of |p|^2 for R'p in the box; inf if it is never in it."""
    from scipy.optimize import nnls

    G, h = [np.zeros(len(R))], [-1.0]  # a row that always holds, so that G is not empty
    for a, (low, high) in box.items():
        for sign, end in ((1.0, low), (-1.0, high)):
            if np.isfinite(end):
                G.append(sign * R[:, a])
                h.append(sign * end - AGREE * (1 + abs(end)))
    rows = np.vstack([np.transpose(G), h])
    target = np.zeros(len(rows))
    target[-1] = 1.0
    x, _ = nnls(rows, target)
    reached = rows @ x
    length = float(np.sum(reached[:-1] ** 2))
    if reached[-1] <= 0:
        return 0.0
    return float(reached[-1] ** 2 / length) if length > 0 else np.inf
