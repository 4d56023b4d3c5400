"""State of the pool of groups that a search has seen."""

from typing import NamedTuple

from aggopt.core.types import I64, U64

FOUND = 0  # position in `Collected.counts`


class Collected(NamedTuple):
    """Arrays that the kernels fill.

    key (n,), a random number per record; slots (2^b,), the exclusive or of the keys of
    each group, 0 if empty; group c has the records who[start[c] : start[c + 1]];
    counts[FOUND] is the number of groups.

    key (n,), a random number per record; slots (2^b,), the exclusive or of the keys of
    each group met, 0 where there is none; group c has the records
    who[start[c] : start[c + 1]]; counts[FOUND]: how many groups.
    """

    key: U64
    slots: U64
    start: I64
    who: I64
    counts: I64
