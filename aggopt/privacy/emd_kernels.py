"""Earth mover's numerators of groups, in loops over their members only.

Of a group of s records the numerator is `sum_i |n cnt(i) - s below_i|` over the bins
i = 0..m-1.  Bins 0..i contain `cnt(i)` of its members and `below_i` of the table's n
records.  Between two neighbouring members `cnt` is a constant r, and `below` does
not fall: the terms change sign once, at the first bin where `s below_i > n r`, that
is, where `below_i > floor(n r / s)`.  With `sums[j] = below_0 + ... + below_{j-1}` and
`first[v]` the first bin whose `below` exceeds v, the bins a..b-1 that have count r,
split at c, give

    n r ((c - a) - (b - c)) - s ((sums[c] - sums[a]) - (sums[b] - sums[c])).
"""

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64


@inner
def sum_between(r: int, s: int, a: int, b: int, n: int, sums: I64, first: I64) -> int:
    """Return the terms of bins a..b-1, with r of s members to their left."""
    c = min(max(first[n * r // s], a), b)
    left = sums[c] - sums[a]
    terms: int = n * r * (2 * c - a - b) - s * (left - (sums[b] - sums[c]))
    return terms


@inner
def compute_group_numerator(places: I64, n: int, sums: I64, first: I64) -> int:
    """Return the numerator of a group, of its members' bins in ascending order.

    `places` (s,) with s of at least 1; `sums` (m + 1,) and `first` (n + 1,) of the
    table (see `Ordered`).  Takes O(s), whatever n and m.
    """
    s = len(places)
    total = sum_between(0, s, 0, places[0], n, sums, first)
    for r in range(1, s):
        total += sum_between(r, s, places[r - 1], places[r], n, sums, first)
    return total + sum_between(s, s, places[s - 1], len(sums) - 1, n, sums, first)


@compiled
def fill_numerators(
    places: I64, starts: I64, n: int, sums: I64, first: I64, out: I64
) -> None:
    """Write the numerator of each group; group g is places[starts[g]:starts[g + 1]].

    `places` (records,) ascending within each group, `starts` (groups + 1,), `out`
    (groups,).
    """
    for g in range(len(out)):
        out[g] = compute_group_numerator(
            places[starts[g] : starts[g + 1]], n, sums, first
        )
