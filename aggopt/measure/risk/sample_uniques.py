"""Special uniques: records with small combinations of keys that no other record has."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, factorial
from typing import Any

import numpy as np
import pandas as pd

from aggopt.core.columns import code_entries, find_groups, iter_columns
from aggopt.core.types import I64, Bool, Labels
from aggopt.core.validation import is_whole_number
from aggopt.errors import InfeasibleInputError, JobError

MOST = 20_000  # sets of attributes: minutes of 100 000 records
LONGEST = 20  # attributes: 20! is the last factorial that 64 bits hold


@dataclass(frozen=True, eq=False)
class Suda:
    """SUDA scores of each record.

    Attributes
    ----------
    scores : (n,)
        Sum of (d - s)! over the record's minimal sample uniques, s their number of
        attributes; 0 for a record that shares every combination.
    shares : (n, d)
        Part of the score in which each attribute takes part.
    uniques : (n,)
        Number of its minimal sample uniques.
    """

    scores: I64 = field(repr=False)
    shares: I64 = field(repr=False)
    uniques: I64 = field(repr=False)

    @property
    def special(self) -> int:
        """Number of records that have a score."""
        return int((self.scores > 0).sum())

    @property
    def total(self) -> int:
        """The sum of all scores."""
        return int(self.scores.sum())

    @property
    def largest(self) -> int:
        """The largest score."""
        return int(self.scores.max())


def suda(keys: Any, *, size: int | None = None) -> Suda:
    """Return the SUDA scores of each record: how special it is; lower is better.

    A minimal sample unique of a record is a set of attributes whose combination no
    other record has, while it shares each smaller one.  An intruder who knows little
    finds a record that is unique with few attributes.  So the record scores (d - s)!
    for each minimal sample unique of s attributes.

    Parameters
    ----------
    keys
        Attributes that an intruder may know: a table (n, d).  A missing value is a
        value of its own.
    size
        Largest number of attributes in a set; d when omitted.

    Raises
    ------
    TableError
        keys are not a table, or have no record.
    JobError
        size is not a whole number of at least 1.
    InfeasibleInputError
        There are more than 20 attributes, or more than 20 000 sets of them.

    Source: Elliot, Manning and Ford (2002); sdcMicro's suda2 with its default scores.

    Examples
    --------
    >>> suda([["a", "x"], ["a", "y"], ["b", "x"], ["a", "x"]]).scores.tolist()
    [0, 1, 1, 0]
    """
    parts = [
        code_entries(values)[0] + 1
        for _, values in iter_columns(keys, "The table of keys")
    ]
    n = len(parts[0])
    d = len(parts)
    max_size = check_size(size, d)
    scores = np.zeros(n, np.int64)
    uniques = np.zeros(n, np.int64)
    shares = np.zeros((n, d), np.int64)
    for attributes, records in _iter_minimal_uniques(parts, max_size):
        points = factorial(d - len(attributes))
        scores[records] += points
        uniques[records] += 1
        for j in attributes:
            shares[records, j] += points
    return Suda(scores, shares, uniques)


def dis(keys: Any, fraction: float) -> float:
    """Return the probability that a unique match with the sample is right.

    Data intrusion simulation: U p / (U p + P (1 - p)), a fraction.  U records are
    unique with their combination of keys and P share it with one other, in a sample
    that is a share p of its population.  0 if no record is unique.  Lower is better.

    Parameters
    ----------
    keys
        Attributes that an intruder knows: a table (n, d).
    fraction
        Share of the population that is in the sample, above 0 and up to 1.

    Raises
    ------
    TableError, JobError
        keys are not a table, or have no record; or the fraction is not a fraction.

    Source: Skinner and Elliot (2002).

    Examples
    --------
    >>> dis([["a"], ["b"], ["b"]], 0.2)
    0.11111111111111112
    """
    number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
    if not number or not 0 < fraction <= 1:
        raise JobError(
            "fraction is no number above 0 and up to 1.",
            fix="pass records / persons of the population, such as 0.01.",
        )
    unique, paired = count_unique_and_paired(keys)
    if not unique:
        return 0.0
    return float(unique * fraction / (unique * fraction + paired * (1 - fraction)))


def count_unique_and_paired(keys: Any) -> tuple[int, int]:
    """Return how many records are unique, and how many share keys with one other.

    `dis` is an estimate from these two numbers: it varies much if one of them is small.

    Examples
    --------
    >>> count_unique_and_paired([["a"], ["b"], ["b"]])
    (1, 2)
    """
    sizes = np.bincount(find_groups(keys))
    return int((sizes == 1).sum()), 2 * int((sizes == 2).sum())


def check_size(size: object, d: int) -> int:
    """Return up to how many of d attributes are looked at, or refuse; see `suda`."""
    if size is not None and not (is_whole_number(size) and size >= 1):
        raise JobError(
            "size is not a whole number of at least 1.",
            fix="leave it out, or pass a number of attributes, such as size=3.",
        )
    max_size = d if size is None else min(int(size), d)
    sets = sum(comb(d, s) for s in range(1, max_size + 1))
    if d > LONGEST:
        raise InfeasibleInputError(
            f"{d} attributes make scores that 64 bits do not hold.",
            fix=f"pass at most {LONGEST} of them.",
        )
    if sets > MOST:
        raise InfeasibleInputError(
            f"{d} attributes have {sets} sets of up to {max_size} of them, and up to "
            f"{MOST} are looked at.",
            fix="choose a smaller size, such as 3, or pass fewer attributes.",
        )
    return max_size


def _iter_minimal_uniques(
    parts: list[I64], max_size: int
) -> Iterator[tuple[tuple[int, ...], Labels]]:
    """Yield each set of attributes with the records that it is minimal unique of."""
    n = len(parts[0])
    smaller: dict[tuple[int, ...], Labels] = {(): np.empty(0, np.intp)}
    for s in range(1, max_size + 1):
        minimal: dict[tuple[int, ...], Labels] = {}
        for attributes in combinations(range(len(parts)), s):
            records = np.flatnonzero(_is_unique([parts[j] for j in attributes]))
            minimal[attributes] = records
            is_known = np.zeros(n, bool)
            for less in combinations(attributes, s - 1):
                is_known[smaller[less]] = True
            new = records[~is_known[records]]
            if new.size:
                yield attributes, new
        smaller = minimal


def _is_unique(parts: list[I64]) -> Bool:
    """Whether each record (n,) is unique with its combination of codes."""
    labels = parts[0]
    for codes in parts[1:]:
        labels = pd.factorize(labels * (codes.max() + 1) + codes)[0]
    return np.asarray(np.bincount(labels)[labels] == 1)
