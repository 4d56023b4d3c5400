"""Number and evenness of the confidential values of each group."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import map_attributes, read_labels
from aggopt.core.types import I64
from aggopt.core.validation import Floats, is_number
from aggopt.errors import JobError
from aggopt.privacy.distance import compute_starts, read_exact_number


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of each confidential value in each group.

    `count` contains the positive counts.  Group g has the slice from `starts[g]` to
    `starts[g + 1]`, most frequent value first.
    """

    count: I64 = field(repr=False)
    starts: I64 = field(repr=False)

    @classmethod
    def of(cls, labels: npt.NDArray[Any], codes: I64) -> "Counts":
        """Count the codes (n,), 0..m-1, of the groups of labels (n,)."""
        m = int(codes.max()) + 1
        pairs, count = np.unique(labels * m + codes, return_counts=True)
        group = pairs // m
        order = np.lexsort((-count, group))
        return cls(count[order].astype(np.int64), compute_starts(np.bincount(group)))

    @property
    def sizes(self) -> I64:
        """Records of each group."""
        return np.asarray(np.add.reduceat(self.count, self.starts[:-1]))

    @property
    def distinct(self) -> I64:
        """Distinct values in each group."""
        return np.diff(self.starts)

    @property
    def entropy(self) -> Floats:
        """Exp of the entropy of each group, 1 to its distinct values.

        It is exactly a whole number whenever its true value is.
        """
        sizes = self.sizes
        shares = self.count / np.repeat(sizes, self.distinct)
        parts = np.add.reduceat(shares * np.log(shares), self.starts[:-1])
        entropies: Floats = np.exp(-parts)
        for g in np.flatnonzero(
            np.abs(entropies - np.rint(entropies)) < 1e-9 * entropies
        ):
            if self._is_entropy(g, nearest := round(float(entropies[g]))):
                entropies[g] = nearest
        return entropies

    def _is_entropy(self, g: np.integer[Any], number: int) -> bool:
        """Whether `number` is exp of the entropy: s^s = whole^s prod_v c_v^c_v."""
        counts = self.count[self.starts[g] : self.starts[g + 1]]
        counts = counts // np.gcd.reduce(counts)
        if (counts == counts[0]).all():
            return number == len(counts)
        count_list = counts.tolist()
        size = int(counts.sum())
        return bool(size**size == number**size * prod(c**c for c in count_list))

    def recursive(self, c: Fraction) -> I64:
        """Return the largest l of each group with `r_1 < c (r_l + ... + r_m)`, or 0."""
        tails = np.cumsum(self.count[::-1])[::-1]
        ends = np.append(tails, 0)[self.starts[1:]]
        tails = tails - np.repeat(ends, self.distinct)
        first = np.repeat(self.count[self.starts[:-1]], self.distinct)
        left = first.astype(object) * c.denominator
        right = tails.astype(object) * c.numerator
        holds = (left < right).astype(np.int64)
        return np.asarray(np.add.reduceat(holds, self.starts[:-1]))


def distinct_l(groups: Any, confidential: Any, *, missing: str = "refuse") -> int:
    """Return distinct l: each group has at least l distinct confidential values.

    Range 1 to the distinct values in the table; more protects better.  An attribute
    that is constant in the table gives 1.

    Parameters
    ----------
    groups
        Labels (n,), or the quasi-identifiers of a released table: records that are
        equal in all of them form a group (see `find_groups`).
    confidential
        Values (n,), or several attributes: a table, or an array (n, d).  Each is
        measured separately, and the worst counts.
    missing
        "refuse", or "own value": missing counts as one more value.

    Raises
    ------
    TableError, JobError
        The numbers of records differ, values are missing, or labels skip a number.

    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, l-diversity: privacy
    beyond k-anonymity, ACM TKDD 1(1), 2007.

    Examples
    --------
    >>> distinct_l([0, 0, 0, 1, 1], ["flu", "none", "flu", "none", "none"])
    1
    """
    return min(
        int(c.distinct.min())
        for c in count_attributes(groups, confidential, missing=missing)
    )


def p_sensitive(groups: Any, confidential: Any, *, missing: str = "refuse") -> int:
    """Return p: each confidential attribute takes at least p values in each group.

    A table is p-sensitive k-anonymous with this p and the k of `k_anonymity`; p is at
    most k.  Arguments, range, errors and value as `distinct_l`: the two papers
    define one count.

    Source: Truta and Vinay, Privacy protection: p-sensitive k-anonymity property,
    ICDE Workshops 2006.

    Examples
    --------
    >>> p_sensitive([0, 0, 1, 1], ["flu", "none", "asthma", "none"])
    2
    """
    return distinct_l(groups, confidential, missing=missing)


def entropy_l(groups: Any, confidential: Any, *, missing: str = "refuse") -> float:
    """Return entropy l: each group's entropy is at least log l.

    It is exp of the smallest entropy `-sum_v p_v log p_v` of a group.  Range 1 to the
    distinct values; reached when all are equally frequent, and then exactly that whole
    number.  Never more than `distinct_l`.  Arguments and errors as there.

    Source: as `distinct_l`.

    Examples
    --------
    >>> entropy_l([0, 0, 0, 1, 1], ["flu", "none", "asthma", "none", "flu"])
    2.0
    """
    return min(
        float(c.entropy.min())
        for c in count_attributes(groups, confidential, missing=missing)
    )


def recursive_cl(
    groups: Any, confidential: Any, c: float, *, missing: str = "refuse"
) -> int:
    """Return the largest l for which each group is recursively (c, l)-diverse.

    Let r_1 >= r_2 >= ... >= r_m be the counts of the values in a group.  Then
    `r_1 < c (r_l + r_(l+1) + ... + r_m)`: the most frequent value is not too frequent,
    even when an attacker rules out l - 2 others.  Range 0 (not even l = 1, which
    requires c above the share of the most frequent value) to the distinct values.

    Parameters
    ----------
    c
        Above 0, usually 2 to 4; it counts as the decimal it is written as.

    Other arguments and errors as `distinct_l`, and JobError for another c.

    Source: as `distinct_l`.

    Examples
    --------
    >>> recursive_cl([0, 0, 0, 0], ["flu", "flu", "none", "asthma"], c=2)
    2
    """
    factor = read_factor(c)
    return min(
        int(n.recursive(factor).min())
        for n in count_attributes(groups, confidential, missing=missing)
    )


def read_factor(c: object) -> Fraction:
    """Return the c of recursive diversity exactly, or refuse it."""
    exact = read_exact_number(c) if is_number(c) else Fraction(-1)
    if exact <= 0:
        raise JobError(
            f"c is {c if is_number(c) else type(c).__name__}.",
            fix="pass a number above 0, such as c = 3: the most frequent value of a "
            "group stays below c times the frequency of the rare ones.",
        )
    return exact


def count_attributes(groups: Any, confidential: Any, *, missing: str) -> list[Counts]:
    """Return the counts of each confidential attribute; errors name it."""
    labels = read_labels(groups)
    counts_by_name = map_attributes(
        confidential,
        len(labels),
        missing,
        lambda values, codes: Counts.of(labels, codes),
    )
    return [counts for _, counts in counts_by_name]
