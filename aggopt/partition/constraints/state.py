"""State of the constraints that kernels check: closeness, diversity, or both."""

from math import log
from typing import NamedTuple

import numpy as np

from aggopt.core.types import I64
from aggopt.privacy.ordered_attribute import Ordered

NEAR = 40  # nearest records whose groups a record may join
TABLED = 128  # records up to which a division is tabulated


class Close(NamedTuple):
    """Constraint that groups are t-close to the table, decided in whole numbers.

    place (n,), sums (m + 1,) and first (n + 1,) as in `privacy._ordered.Ordered`;
    limits (n + 1,), the largest numerator of a group by its size; split, for groups of
    s up to TABLED, first[n r // s] at s (s + 1) / 2 + r; whole, the sum of all places.
    An empty place: t is not required.

    During a search, far (n,) are the groups' numerators, and lean (n,) the signed sums
    of their terms, up to one sign for all: |lean| <= far.
    """

    place: I64
    sums: I64
    first: I64
    limits: I64
    split: I64
    whole: int
    far: I64
    lean: I64


class Diverse(NamedTuple):
    """Constraint that groups have l of the levels (n,), or entropies of log l.

    `least` is l, `logarithm` log l; tally (L,) is for counting, and 0 between counts.
    Empty levels: l is not required.
    """

    level: I64
    tally: I64
    least: int
    logarithm: float
    entropy: bool


class Promise(NamedTuple):
    """Constraints on groups in addition to their size.

    All constraints have one type, so that kernels are compiled once. A state belongs to
    one search at a time.
    """

    close: Close
    diverse: Diverse


def combine_constraints(
    close: Close | None = None, diverse: Diverse | None = None
) -> Promise:
    """Return the state of both constraints; an omitted one is not required."""
    none = np.zeros(0, np.int64)
    return Promise(
        Close(none, none, none, none, none, 0, none, none) if close is None else close,
        Diverse(none, none, 0, 0.0, False) if diverse is None else diverse,
    )


def build_closeness(ordered: Ordered, limits: I64) -> Close:
    """Return the constraint that no numerator exceeds its size's limit, (n + 1,)."""
    sizes = np.arange(TABLED + 1)
    s, r = (
        np.repeat(sizes, sizes + 1),
        np.concatenate([np.arange(s + 1) for s in sizes]),
    )
    split = ordered.first[ordered.n * r // np.maximum(s, 1)]
    return Close(
        ordered.place,
        ordered.sums,
        ordered.first,
        limits,
        split,
        int(ordered.place.sum()),
        far=np.zeros(ordered.n, np.int64),
        lean=np.zeros(ordered.n, np.int64),
    )


def build_diversity(level: I64, l: int, kind: str) -> Diverse:  # noqa: E741
    """Return the constraint of l "distinct" levels (n,), 0..L-1, or of an "entropy"."""
    tally = np.zeros(level.max() + 1, np.int64)
    return Diverse(level, tally, l, log(l), kind == "entropy")
