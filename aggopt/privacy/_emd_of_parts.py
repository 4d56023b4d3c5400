"""Earth mover's numerators of groups of a table that is not all in memory.

The terms are as in `_emd_kernels`.  Between two neighbouring members of a group of s,
with r members to the left, the terms `n r - s below_i` change their sign once, at the
first bin whose `below` exceeds `floor(n r / s)`.  Bisection finds this bin: a table of
all counts up to n would be as long as the table of records.
"""

import numpy as np

from aggopt.core.types import I64


def compute_numerators(places: I64, starts: I64, below: I64, sums: I64) -> I64:
    """Return `sum_i |n cnt(i) - s below_i|` of each group, (groups,).

    Group g is places[starts[g]:starts[g + 1]], bins in ascending order; `below` (m,)
    contains the number of records of the table in bins 0..i, and `sums` (m + 1,) the
    sums of `below` before i.
    """
    sizes = np.diff(starts)
    n = below[-1]
    last = len(below) - 1
    s = np.repeat(sizes, sizes)
    r = np.arange(len(places)) - np.repeat(starts[:-1], sizes) + 1
    ends = np.append(places[1:], last)
    ends[starts[1:] - 1] = last  # of the last member, up to the last bin
    numerators = np.add.reduceat(
        _compute_terms(r, s, places, ends, n, below, sums), starts[:-1]
    )
    return np.asarray(
        numerators + sizes * sums[places[starts[:-1]]]
    )  # before the first


def _compute_terms(
    r: I64, s: I64, a: I64, b: I64, n: int, below: I64, sums: I64
) -> I64:
    """Return the terms of bins a..b-1, with r of s members to their left."""
    split = np.clip(np.searchsorted(below, n * r // s, side="right"), a, b)
    before = sums[split] - sums[a]
    after = sums[b] - sums[split]
    return np.asarray(n * r * (2 * split - a - b) - s * (before - after))
