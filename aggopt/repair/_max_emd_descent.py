"""Descent of the largest EMD of groups, whatever their quasi-identifiers.

This differs from the local search of `aggopt.partition`, which lowers the loss while t
holds: here t does not hold yet, only the largest EMD is lowered, and quasi-identifiers
are ignored. The result shows which t is attainable.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Labels
from aggopt.privacy._ordered import Ordered

DESCENT_WORK = 20_000_000  # records of proposed groups that are evaluated, at most
EACH = 10_000  # fixed cost of a pair of groups, in records
EMD_STEP = 1e-12  # share by which an EMD must fall


class _Change(NamedTuple):
    """Proposals for two groups, one per row: their places, and the exchanged records.

    `leaving` (c,) move from the worst group to the other, `coming` (c,) back; -1 for
    none.
    """

    worst: I64
    other: I64
    leaving: Labels
    coming: Labels


def lower_largest_emd(ordered: Ordered, labels: Labels, k: int) -> Labels:
    """Return labels (n,) of as many groups of k or more, with a smaller largest EMD.

    A record of the worst group is swapped with one of another group, or moved, by the
    best change for the worse of the two; until no change lowers it, or `WORK` is done.
    """
    labels = labels.copy()
    work = 0
    while True:
        sizes = np.bincount(labels)
        emd = ordered.numerators(labels) / sizes
        worst = int(np.argmax(emd))
        lowest = emd[worst] * (1 - EMD_STEP)
        best = None
        for other in range(len(sizes)):
            if other == worst:
                continue
            pair = sizes[[worst, other]]
            work += EACH + int(pair.prod() * pair.sum())
            if work > DESCENT_WORK:
                return labels
            for change in _list_changes(ordered, labels, worst, other, k):
                emds = _compute_larger(ordered, change)
                at = int(np.argmin(emds))
                if emds[at] < lowest:
                    lowest = emds[at]
                    best = other, change.leaving[at], change.coming[at]
        if best is None:
            return labels
        other, leaving, coming = best
        if leaving >= 0:
            labels[leaving] = other
        if coming >= 0:
            labels[coming] = worst


def _compute_larger(ordered: Ordered, change: _Change) -> I64:
    """Return the larger EMD of the two groups, by proposal, in units of 1 / unit."""
    return np.maximum(
        _compute_emds(ordered, change.worst), _compute_emds(ordered, change.other)
    )


def _compute_emds(ordered: Ordered, places: I64) -> I64:
    count, size = places.shape
    starts = np.arange(count + 1) * size
    return np.asarray(ordered.runs(np.sort(places, axis=1).ravel(), starts) / size)


def _list_changes(
    ordered: Ordered, labels: Labels, worst: int, other: int, k: int
) -> Iterator[_Change]:
    """Yield the swaps of two groups, and moves if k allows; one record a place."""
    place = ordered.place
    worst_members = np.flatnonzero(labels == worst)
    other_members = np.flatnonzero(labels == other)
    out = np.unique(place[worst_members], return_index=True)[1]
    back = np.unique(place[other_members], return_index=True)[1]
    one, two = (at.ravel() for at in np.meshgrid(out, back, indexing="ij"))
    rows = np.arange(len(one))
    worst_places, other_places = (
        np.tile(place[who], (len(rows), 1)) for who in (worst_members, other_members)
    )
    worst_places[rows, one], other_places[rows, two] = (
        place[other_members[two]],
        place[worst_members[one]],
    )
    yield _Change(worst_places, other_places, worst_members[one], other_members[two])
    if len(worst_members) > k:
        worst_places, other_places = _list_moves(
            place[worst_members], place[other_members], out
        )
        yield _Change(
            worst_places, other_places, worst_members[out], np.full(len(out), -1)
        )
    if len(other_members) > k:
        other_places, worst_places = _list_moves(
            place[other_members], place[worst_members], back
        )
        yield _Change(
            worst_places, other_places, np.full(len(back), -1), other_members[back]
        )


def _list_moves(giving: I64, taking: I64, at: Labels) -> tuple[I64, I64]:
    """Return both groups' places, with each of some records moved, one per row."""
    left = np.stack([np.delete(giving, i) for i in at])
    more = np.stack([np.append(taking, giving[i]) for i in at])
    return left, more
