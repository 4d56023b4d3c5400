"""Random numbers in compiled loops: the n-th is a hash of seed + n (splitmix64).

Importing this imports numba: do so late.
"""

from typing import Any

import numpy as np

from aggopt.core.compiled import inlined
from aggopt.core.types import U64

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
U27, U30, U31, U32, U11 = (np.uint64(shift) for shift in (27, 30, 31, 32, 11))
UNIT = 2.0**-53


@inlined
def draw_bits(random_state: U64) -> np.uint64:
    """Return the next 64 random bits."""
    random_state[0] += STEP
    x = random_state[0]
    x = (x ^ (x >> U30)) * FIRST
    x = (x ^ (x >> U27)) * SECOND
    return np.uint64(x ^ (x >> U31))


@inlined
def draw_below(random_state: U64, n: int) -> int:
    """Return a random whole number 0..n-1, n below 2^32."""
    number: int = np.int64(((draw_bits(random_state) >> U32) * np.uint64(n)) >> U32)  # type: ignore[assignment]
    return number


@inlined
def draw_share(random_state: U64) -> float:
    """Return a random number from 0 to below 1."""
    return np.float64(draw_bits(random_state) >> U11) * UNIT


@inlined
def copy_into(to: Any, values: Any) -> None:
    """Set to[:] = values, of one length."""
    for i in range(len(values)):
        to[i] = values[i]


@inlined
def sort_in_place(values: Any) -> None:
    """Sort values in place: a few of them, as time grows with the square."""
    for end in range(1, len(values)):
        x = values[end]
        at = end
        while at > 0 and values[at - 1] > x:
            values[at] = values[at - 1]
            at -= 1
        values[at] = x
