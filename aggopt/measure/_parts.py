"""Released rows in parts that are small enough to be assigned at once."""

import numpy as np

from aggopt.core.validation import Floats, Labels

WHOLE = 5000
"""Records that are assigned at once, unless asked otherwise: 5 to 10 s, 400 MB."""

BLOCK = 1000  # records of a block if the table has more: .1 s each


def parted(rows: Floats, sizes: Labels, most: int) -> list[Labels]:
    """Return the parts of distinct rows (m, v), each the indices of its rows.

    A part has rows of at most `most` records, or is one row; `sizes` (m,) are the
    numbers of records of each row.  Rows are halved in the attribute with the largest
    spread, as near to half of the records as possible.  Rows that are equal in that
    attribute stay together, so that the order of the rows does not matter.
    """
    waiting, done = [np.arange(len(rows))], []
    while waiting:
        part = waiting.pop()
        if len(part) == 1 or sizes[part].sum() <= most:
            done.append(part)
        else:
            waiting.extend(_halves(part, rows[part], sizes[part]))
    return done


def _halves(part: Labels, rows: Floats, sizes: Labels) -> tuple[Labels, Labels]:
    values = rows[:, np.argmax(np.ptp(rows, axis=0))]
    order = np.argsort(values)
    ends = np.flatnonzero(np.diff(values[order]))  # the last row before a step
    below = np.cumsum(sizes[order])
    cut = ends[np.argmin(np.abs(2 * below[ends] - below[-1]))] + 1
    return part[order[:cut]], part[order[cut:]]
