"""State of the pool of groups that a search has seen."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.partition._constraints.state import Ints

Hashes = npt.NDArray[np.uint64]


class Collected(NamedTuple):
    """What the kernels fill.

    key (n,), a random number per record; slots (2^b,), the exclusive or of the keys of
    each group met, 0 where there is none; group c has the records
    who[start[c] : start[c + 1]]; counts: how many groups.
    """

    key: Hashes
    slots: Hashes
    start: Ints
    who: Ints
    counts: Ints
