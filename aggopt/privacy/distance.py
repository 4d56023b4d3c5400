"""The earth mover's distance of groups from the table, in exact whole numbers.

A distance is a family of sets A of confidential values, each with a weight w_A:

    EMD(C) = sum_A w_A |n cnt_C(A) - |C| cnt(A)| / (unit |C|),

where `cnt_C(A)` of the records of group C and `cnt(A)` of all n have a value in A.
"""

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from aggopt.core.types import I64
from aggopt.core.validation import Floats, check_groups, is_number
from aggopt.errors import InfeasibleInputError, JobError

LARGEST = np.iinfo(np.int64).max


class Distance(ABC):
    """One confidential attribute, and distances of the groups' distributions."""

    place: I64

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of records of the table: more than `place` has if it is in parts."""

    @property
    @abstractmethod
    def unit(self) -> int:
        """Unit of numerators: EMD = numerator / (unit |C|)."""

    @abstractmethod
    def runs(self, places: I64, starts: I64) -> I64:
        """Return the EMD numerator of each group, from its ascending places."""

    @abstractmethod
    def profile(self, counts: I64) -> I64:
        """Return `w_A cnt(A)` for each set A, of records counted by place (m,)."""

    @abstractmethod
    def counted(self, counts: I64) -> "Distance":
        """Return this distance for a table with `counts` records of each value.

        Its places belong to values, some perhaps repeated; `counts` (n,) contains the
        number of records with each.  The table need not be in memory.
        """

    def limits(self, t: float | Fraction, sizes: I64 | None = None) -> I64:
        """Return the largest numerator that EMD <= t allows, by group size (n + 1,).

        If `sizes` (m,) are given, only for groups of these sizes: (m,).  Exact:
        `numerators(labels) <= limits(t)[sizes]` decides it.  A float counts as the
        decimal it is written as: t = 0.15 is 3/20.

        Raises
        ------
        JobError
            t is not a number strictly between 0 and 1.
        """
        required = read_threshold(t)
        scaled = required.numerator * self.unit
        group_sizes = range(self.n + 1) if sizes is None else sizes.tolist()
        allowed = (scaled * s // required.denominator for s in group_sizes)
        return np.fromiter(allowed, np.int64, len(group_sizes))

    def numerators(self, labels: npt.ArrayLike) -> I64:
        """Return `sum_A w_A |n cnt_C(A) - |C| cnt(A)|` of each group C of labels."""
        of_record = check_groups(labels, len(self.place))
        places = self.place[np.lexsort((self.place, of_record))]
        return self.runs(places, compute_starts(np.bincount(of_record)))

    def emd(self, labels: npt.ArrayLike) -> Floats:
        """Return the EMD between each group of labels (n,) and the table, 0 to 1."""
        sizes = np.bincount(check_groups(labels, len(self.place)))
        if self.unit == 0:
            return np.zeros(len(sizes))
        return np.asarray(self.numerators(labels) / (float(self.unit) * sizes))

    def largest(self, labels: npt.ArrayLike) -> Fraction:
        """Return the largest EMD of a group, exactly."""
        return self.worst(self.numerators(labels), np.bincount(np.asarray(labels)))

    def worst(self, numerators: I64, sizes: I64) -> Fraction:
        """Return the largest EMD of groups of these numerators and sizes, exactly."""
        if self.unit == 0:
            return Fraction(0)
        rounded = numerators / (float(self.unit) * sizes)
        nearly = np.flatnonzero(rounded >= rounded.max() * (1 - 1e-12))
        return max(
            Fraction(int(numerators[g]), self.unit * int(sizes[g])) for g in nearly
        )


def compute_starts(sizes: npt.ArrayLike) -> I64:
    """Return where the records of each group start, and the total of the sizes."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def read_threshold(t: object) -> Fraction:
    """Return t exactly; of a float, the decimal it is written as.

    Raises
    ------
    JobError
        t is not a number strictly between 0 and 1.
    """
    if not is_number(t):
        raise JobError(
            f"t must be a number, not {type(t).__name__}.",
            fix="pass the largest distance allowed, such as t = 0.15.",
        )
    exact = read_exact_number(t)
    if not 0 < exact < 1:
        raise JobError(
            f"t = {t} is not strictly between 0 and 1.",
            fix="choose a t between: 0.05 is strict, 0.25 is lenient; without a "
            "promise of closeness, leave t out.",
        )
    return exact


def read_exact_number(number: object) -> Fraction:
    """Return a number exactly; a float as the decimal it is written as, nan as -1."""
    if isinstance(number, int | Fraction):
        return Fraction(number)
    rounded = float(number)  # type: ignore[arg-type]
    return Fraction(repr(rounded)) if np.isfinite(rounded) else Fraction(-1)


def require_exact(n: int, width: int) -> None:
    """Refuse what whole numbers of 64 bits could not count.

    Raises
    ------
    InfeasibleInputError
        n * n * width exceeds what an int64 holds.
    """
    if n * n * width > LARGEST:
        raise InfeasibleInputError(
            f"{n} records and {width} confidential values are too many to decide "
            "t-closeness exactly.",
            fix="round the attribute to fewer distinct values, or mask the table in "
            "parts.",
        )
