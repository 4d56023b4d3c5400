"""Shares of categories rounded to a choice, frequencies hardly changed.

The groups that are divided among categories are poured, for each category, into slots
of capacity 1, the largest first.  Their shares are a fractional matching of groups and
slots that fills all groups and all full slots.  Such matchings are mixtures of whole
ones, so some whole matching costs no more.  With sizes as weights it changes no
frequency by more than the largest of these groups, because each slot gets one group at
most, and all but its last slot are full.

Source: Shmoys and Tardos, Mathematical Programming 62, 1993, here on both sides.
"""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.validation import Floats, Labels
from aggopt.models.shared.category_choice import Choice

NONE = 1e-9  # largest share that counts as 0


@dataclass(frozen=True, eq=False)
class Divided:
    """Groups (f,) that shares divide, and their shares of each category (f, C)."""

    groups: Labels = field(repr=False)
    shares: Floats = field(repr=False)


def rounded(data: Choice, y: Floats) -> Labels | None:
    """Return a category of each group (m,), no dearer than the shares y (q,) are.

    None if y is too far from shares that add up.
    """
    categories, divided = spread(data, y)
    if divided.groups.size:
        taken = _matched(data, divided)
        if taken is None:
            return None
        categories[divided.groups] = taken
    return categories


def spread(data: Choice, y: Floats) -> tuple[Labels, Divided]:
    """Return categories (m,), and the groups that y (q,) divides: as few as possible.

    A class of symmetric groups fills whole groups first, and divides the rest.
    """
    t, c = data.pairs
    _, of, number = data.classes
    whole = np.floor(y + NONE).astype(np.intp)
    left = number - np.bincount(t, whole, len(number)).astype(np.intp)
    categories = np.full(len(of), -1)
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(number)
    starts = np.concatenate(
        [order[end - n : end - r] for end, n, r in zip(ends, number, left, strict=True)]
    )
    categories[starts] = np.repeat(c, whole)
    open_groups, shares = [], []
    for k in np.flatnonzero(left):
        own = np.flatnonzero(t == k)
        part = np.maximum(y[own] - whole[own], 0.0)
        open_groups.append(order[ends[k] - left[k] : ends[k]])
        shares.append(_cut(part * (left[k] / part.sum()), c[own], data.loss.shape[1]))
    if not open_groups:
        return categories, Divided(np.empty(0, np.intp), np.empty((0, 0)))
    return categories, Divided(np.concatenate(open_groups), np.vstack(shares))


def _cut(part: Floats, categories: Labels, width: int) -> Floats:
    """Return shares (groups, width): an amount of each category, cut into units."""
    ends = np.cumsum(part)
    units = np.arange(round(ends[-1]))[:, None]
    high, low = np.minimum(ends, units + 1), np.maximum(ends - part, units)
    found = np.zeros((len(units), width))
    found[:, categories] = np.maximum(high - low, 0.0)
    return found


def _matched(data: Choice, divided: Divided) -> Labels | None:
    """Return a category (f,) of each divided group, one for each full slot."""
    from scipy.optimize import linear_sum_assignment

    cost, category, full = _slots(data, divided)
    slots = len(full)
    idle = np.where(full, np.inf, 0.0)  # a slot that no group takes is not full
    square = np.vstack([cost, np.tile(idle, (slots - len(cost), 1))])
    try:
        _, taken = linear_sum_assignment(square)
    except ValueError:  # shares that do not add up
        return None
    return np.asarray(category[taken[: len(cost)]])


def _slots(data: Choice, divided: Divided) -> tuple[Floats, Labels, Labels]:
    """Return costs (f, slots), inf without a share, and the slots' categories.

    The third array (slots,) marks the full slots.
    """
    size = data.weights.sum(axis=0)[divided.groups]
    largest_first = np.argsort(-size, kind="stable")
    costs, category, full = [], [], []
    for c, shares in enumerate(divided.shares.T):
        load = float(shares.sum())
        count = int(np.ceil(load - NONE))
        ends = np.cumsum(shares[largest_first])
        starts = ends - shares[largest_first]
        slot = np.arange(count)[:, None]
        inside = np.minimum(ends, slot + 1) - np.maximum(starts, slot) > NONE
        own = np.full((count, len(shares)), np.inf)
        own[:, largest_first] = np.where(
            inside, data.loss[divided.groups[largest_first], c], np.inf
        )
        costs.append(own)
        category += [c] * count
        full += [load >= s + 1 - NONE for s in range(count)]
    return np.vstack(costs).T, np.array(category), np.array(full)
