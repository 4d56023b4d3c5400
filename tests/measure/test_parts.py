"""Rows in parts that are small enough to be assigned at once."""

import numpy as np

from aggopt.measure.registry import _split_in_half


def halves(rows, sizes):
    found = _split_in_half(np.arange(len(rows)) + 10, np.array(rows), np.array(sizes))
    return [part.tolist() for part in found]


def test_rows_are_halved_where_the_records_are() -> None:
    rows = [[3.0, 0.0], [1.0, 9.0], [2.0, 5.0]]  # the second attribute spreads most
    assert halves(rows, [1, 1, 5]) == [[10], [12, 11]]
    assert halves(rows, [4, 1, 1]) == [[10], [12, 11]]
    assert halves(rows, [1, 9, 1]) == [[10, 12], [11]]


def test_rows_that_are_equal_there_stay_together() -> None:
    assert halves([[0.0], [7.0], [7.0], [7.0]], [1, 1, 1, 1]) == [[10], [11, 12, 13]]
