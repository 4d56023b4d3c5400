"""Equal records stand at one place: neighbours of places become those of records.

Among copies by the hundred the records nearest to each are its own copies, which lead
a search nowhere else.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.validation import Floats, Labels

COPIES = 2  # records at one place that a list may hold


class RecordPlaces(NamedTuple):
    """Where records are.

    Attributes
    ----------
    rows : (m, d)
        Records that differ, in the order in which the first of each place comes.
    place : (n,)
        Which of them each record is.
    """

    rows: Floats
    place: Labels

    @classmethod
    def of(cls, records: Floats) -> "RecordPlaces":
        """Return the places of records (n, d)."""
        plain = np.ascontiguousarray(records + 0.0)  # of zeros, none is negative
        entries = plain.view(f"V{plain.dtype.itemsize * plain.shape[1]}").ravel()
        _, first, place = np.unique(entries, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(records[first[order]], rank[place.ravel()])

    def __repr__(self) -> str:
        """Return how many places there are, without values."""
        return f"RecordPlaces({len(self.rows)} of {len(self.place)} records)"

    def of_records(self, near: Labels, count: int) -> Labels:
        """Return `count` others of each record (n, count), given places near each.

        `near` (m, c) are the places near each place, nearest first.  A record's own
        place comes before them.  Of the records at one place a list holds COPIES at
        most, different ones in different lists; a list that ends early repeats its
        first record, and one that is empty its owner.
        """
        own = np.arange(len(self.rows))[:, None]
        return _first_few(self._copies(np.hstack([own, near])), count)

    def _copies(self, near: Labels) -> Labels:
        """Return records (n, c) at the places near each, -1 where there is none."""
        place = self.place
        sizes = np.bincount(place)
        start = np.cumsum(sizes) - sizes
        order = np.argsort(place, kind="stable")
        rank = np.empty(len(place), np.intp)
        rank[order] = np.arange(len(place)) - np.repeat(start, sizes)
        there = near[place]
        size = sizes[there]
        out = np.empty((*there.shape, COPIES), np.intp)
        for c in range(COPIES):
            turn = (rank[:, None] + 1 + c) % size
            out[..., c] = np.where(c < size, order[start[there] + turn], -1)
        out = out.reshape(len(place), -1)
        return np.where(out == np.arange(len(place))[:, None], -1, out)


def _first_few(found: Labels, count: int) -> Labels:
    """Return the first `count` of each row that are not -1, the first for others.

    A row of nothing else gets its own number.
    """
    order = (found < 0).argsort(axis=1, kind="stable")[:, :count]
    kept = np.take_along_axis(found, order, axis=1)
    kept = np.where(kept < 0, kept[:, :1], kept)
    kept = np.where(kept < 0, np.arange(len(kept))[:, None], kept)
    short = count - kept.shape[1]
    return np.ascontiguousarray(
        np.hstack([kept, np.repeat(kept[:, :1], short, axis=1)])
    )
