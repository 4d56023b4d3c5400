"""Closed tour through the records, locally optimal under 2-opt and Or-opt."""

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats
from aggopt.partition._mhm.boxes import build_boxes
from aggopt.partition._mhm.tour_state import MOVES, QUEUED, TAKEN, Places, Tour
from aggopt.partition._unassigned.state import CHUNK

NEAR = 10  # neighbours that a place may be joined to
TURNS = 1000  # places examined between two checks for Ctrl-C


def find_places(records: Floats, path: I64) -> Places:
    """Return the distinct records (places) of an ordering by nearest point next.

    Duplicates, which are consecutive there, are one place.
    """
    from aggopt.partition._mhm import nearest_point_next_kernels as kernels

    ordered = records[path]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    place_of = np.empty(len(path), np.int64)
    place_of[path] = np.cumsum(is_new) - 1
    distinct = np.ascontiguousarray(ordered[is_new])
    m = len(distinct)
    near = np.empty((m, min(NEAR, m - 1)), np.int64)
    if near.size:
        leaves, distances = build_boxes(distinct), np.empty(near.shape)
        step = max(1, CHUNK // distinct.size)
        for begin in range(0, m, step):
            stop = min(begin + step, m)
            kernels.find_nearest(leaves, begin, stop, near, distances)
    return Places(distinct, near, place_of)


def shorten_tour(places: Places, path: I64) -> I64:
    """Return the ordering (n,) of a locally shortest closed tour.

    A change joins a place to one of its nearest: by 2-opt (two edges are replaced) or
    Or-opt (up to three places move elsewhere, in either direction).

    A change joins a place to one of its nearest, as 2-opt (two edges are replaced) or
    Or-opt (up to three places move elsewhere, in either direction) do.
    """
    visited = places.of[path]
    order = visited[np.sort(np.unique(visited, return_index=True)[1])]
    m = len(order)
    if m > 3:
        tour = Tour(
            places.records,
            places.near,
            order,
            np.argsort(order),
            np.empty(m, np.int64),
            np.empty(m, np.bool_),
            np.zeros(3, np.int64),
        )
        while _improve_tour(tour):
            pass
    return np.argsort(np.argsort(order)[places.of], kind="stable")


def _improve_tour(tour: Tour) -> bool:
    """Examine all places, then changed ones; return whether the tour improved."""
    from aggopt.partition._mhm import two_opt_kernels as kernels

    m, moves = len(tour.order), tour.counts[MOVES]
    tour.queue[:] = np.arange(m)
    tour.queued[:] = True
    tour.counts[TAKEN], tour.counts[QUEUED] = 0, m
    while tour.counts[TAKEN] < tour.counts[QUEUED]:
        kernels.shorten(tour, TURNS)
    return bool(tour.counts[MOVES] > moves)
