"""Small loops over arrays, which compile faster than what NumPy has for them.

To assign one array to a part of another, the compiler also compiles how Python prints
numbers, for a message: a second and a half of a processor, in every process.
Importing this imports numba: do so late.
"""

from typing import Any

from aggopt.core.compiled import inlined


@inlined
def copy_into(to: Any, values: Any) -> None:
    """Set to[:] = values, of one length."""
    for i in range(len(values)):
        to[i] = values[i]


@inlined
def put_in_order(values: Any) -> None:
    """Sort values in place: a few of them, as time grows with the square."""
    for end in range(1, len(values)):
        x, at = values[end], end
        while at > 0 and values[at - 1] > x:
            values[at] = values[at - 1]
            at -= 1
        values[at] = x
