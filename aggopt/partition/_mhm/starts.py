"""First records of the orderings: outermost, and far from each other."""

import numpy as np

from aggopt.core.validation import Floats


def find_outermost(records: Floats, count: int) -> list[int]:
    """Return `count` records: farthest from the centroid, then from previous ones.

    Fewer are returned if the table has fewer distinct records.

    Fewer if there are fewer distinct records.
    """
    records_found = [int(measure_from_centroid(records).argmax())]
    nearest = measure_from_point(records, records[records_found[0]])
    while len(records_found) < count and nearest.any():
        records_found.append(int(nearest.argmax()))
        nearest = np.minimum(
            nearest, measure_from_point(records, records[records_found[-1]])
        )
    return records_found


def measure_from_centroid(records: Floats) -> Floats:
    """Return squared distances (n,) from the centroid, times n^2.

    The factor n keeps integers integers, and ties remain ties.

    Times n, so that whole numbers stay whole, and ties stay ties.
    """
    return measure_from_point(len(records) * records, records.sum(axis=0))


def measure_from_point(records: Floats, point: Floats) -> Floats:
    """Return squared distances (n,) from a point.

    They are summed attribute by attribute, as in the compiled loops.
    """
    total = np.zeros(len(records))
    for t, p in enumerate(point):
        total += (records[:, t] - p) ** 2
    return total
