"""A privacy model of one's own: recursive (c1, c2, l)-diversity of two kinds.

In each group the most frequent value is not too frequent, and no refused value is rare.

Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-diversity: privacy
beyond k-anonymity, ACM TKDD 1(1), 2007: negative/positive disclosure-recursive.
"""

from collections import Counter
from fractions import Fraction


def kinds_of_diversity(values, *, c1=3.0, c2=0.1, l=2, refused=()):  # noqa: E741
    """Return whether the confidential values (s,) of a group are diverse in two ways.

    Positive: r_1 < c1 (r_l + ... + r_m), with r_1 >= ... >= r_m the counts of values.
    Nobody can be sure that a member has the most frequent value.

    Negative: each value of `refused` is at least a share c2 of the group.  Nobody can
    rule it out for a member.  c1 and c2 count as the decimals that you write.
    """
    counts = Counter(values.tolist())
    ordered = sorted(counts.values(), reverse=True)
    positive = ordered[0] < Fraction(str(c1)) * sum(ordered[l - 1 :])
    needed = Fraction(str(c2)) * len(values)
    return positive and all(counts[value] >= needed for value in refused)
