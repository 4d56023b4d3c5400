"""State of the pool of groups that a search has seen."""

from typing import NamedTuple

from aggopt.core.types import I64, U64

FOUND = 0  # what `Collected.counts` holds


class Collected(NamedTuple):
    """What the kernels fill.

    key (n,), a random number per record; slots (2^b,), the exclusive or of the keys of
    each group met, 0 where there is none; group c has the records
    who[start[c] : start[c + 1]]; counts[FOUND]: how many groups.
    """

    key: U64
    slots: U64
    start: I64
    who: I64
    counts: I64
