"""Nearest records within parts.  Importing this imports numba: do so late."""

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import F32
from aggopt.core.validation import Floats, Labels

SURE = 200.0  # times its rounding: a distance of single precision right to 1 %
LAST = 2.0**-23  # what rounding makes of 1 in single precision
COPIES = 2  # records at one distance that a list holds: they are likely at one place


@compiled
def compare(rows: Floats, who: Labels, near: Labels, apart: F32) -> None:
    """Take what is nearest among the rows (m, d) of one part into their lists.

    near (n, c) are the nearest records found so far, the nearest first, and apart
    (n, c) their squared distances; of the records `who` (m,) they are brought up to
    date.
    """
    columns = _centred(rows)
    gaps, unsure = np.empty(len(who), np.float32), _unsure(columns)
    for i in range(len(who)):
        _measure(columns, i, gaps)
        _merge(gaps, unsure, rows, i, who, near[who[i]], apart[who[i]])


@inner
def _centred(rows: Floats) -> F32:
    """Return the rows less the first of them, attribute by attribute."""
    columns = np.empty((rows.shape[1], rows.shape[0]), np.float32)
    for i in range(len(rows)):
        for t in range(rows.shape[1]):
            columns[t, i] = rows[i, t] - rows[0, t]
    return columns


@inner
def _unsure(columns: F32) -> np.float32:
    """Return the squared distance below which single precision shows too little.

    It is so where a part holds records far apart, such as codes beside values.
    """
    farthest = 0.0
    for column in columns:
        farthest = max(farthest, np.abs(column).max())
    return np.float32(len(columns) * (SURE * LAST * farthest) ** 2)


@inner
def _exact(rows: Floats, i: int, j: int) -> np.float32:
    """Return a squared distance, summed in double precision."""
    total = 0.0
    for t in range(rows.shape[1]):
        gap = rows[i, t] - rows[j, t]
        total += gap * gap
    return np.float32(total)


@inner
def _measure(columns: F32, i: int, gaps: F32) -> None:
    """Set gaps (m,) to the squared distances from record i, inf to itself."""
    gaps[:] = 0.0
    for t in range(len(columns)):
        row, x = columns[t], columns[t, i]
        for j in range(len(gaps)):
            gap = row[j] - x
            gaps[j] += gap * gap
    gaps[i] = np.inf


@inner
def _merge(
    gaps: F32,
    unsure: np.float32,
    rows: Floats,
    i: int,
    who: Labels,
    near: Labels,
    apart: F32,
) -> None:
    """Insert into the list of record i what is nearer than its last and not yet there.

    Lists full of copies of one record would lead nowhere else.
    """
    last = len(near) - 1
    for j in range(len(gaps)):
        if gaps[j] < unsure:
            gaps[j] = _exact(rows, i, j)
        if gaps[j] < apart[last] and not _among(near, who[j]):
            at = last
            while at > 0 and apart[at - 1] > gaps[j]:
                at -= 1
            if at >= COPIES and apart[at - COPIES] == gaps[j]:
                continue
            for z in range(last, at, -1):
                near[z], apart[z] = near[z - 1], apart[z - 1]
            near[at], apart[at] = who[j], gaps[j]


@inner
def _among(near: Labels, record: int) -> bool:
    """Whether a record is among those found already."""
    for other in near:  # noqa: SIM110  (kernels know no any())
        if other == record:
            return True
    return False
