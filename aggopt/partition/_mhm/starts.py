"""First records of the orderings: outermost, and far from each other."""

import numpy as np

from aggopt.core.validation import Floats


def outermost(records: Floats, count: int) -> list[int]:
    """Return `count` records: farthest from the centroid, then from previous ones.

    Fewer are returned if the table has fewer distinct records.

    Fewer if there are fewer distinct records.
    """
    found = [int(from_centroid(records).argmax())]
    nearest = squares(records, records[found[0]])
    while len(found) < count and nearest.any():
        found.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, squares(records, records[found[-1]]))
    return found


def from_centroid(records: Floats) -> Floats:
    """Return squared distances (n,) from the centroid, times n^2.

    The factor n keeps integers integers, and ties remain ties.

    Times n, so that whole numbers stay whole, and ties stay ties.
    """
    return squares(len(records) * records, records.sum(axis=0))


def squares(records: Floats, point: Floats) -> Floats:
    """Return squared distances (n,) from a point.

    They are summed attribute by attribute, as in the compiled loops.
    """
    total = np.zeros(len(records))
    for t, p in enumerate(point):
        total += (records[:, t] - p) ** 2
    return total
