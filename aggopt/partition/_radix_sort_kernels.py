"""Radix sort of values by their bits. Importing this imports numba.

NumPy's own sort that also returns the order takes several times as long on a million
values, longer than the subsequent partition: see benchmarks/univariate.py.
"""

from typing import NamedTuple

import numpy as np

from aggopt.core.compiled import compiled, inner
from aggopt.core.types import I64, U64, AnyInt, Floats, Labels

SIGN = np.uint64(1 << 63)
DIGIT = np.uint64(8)
DIGITS = 8
LAST = np.uint64(255)


class RadixWorkspace(NamedTuple):
    """Keys, the original position of each key, and a spare array for each.

    NumPy allocates them, because it requests large pages; arrays of compiled code are
    in small pages, and slower.
    """

    keys: U64
    order: AnyInt
    spare: U64
    moved: AnyInt


def sort_values(x: Floats) -> tuple[Floats, AnyInt]:
    """Return values x (n,) sorted, and their original positions; the sort is stable."""
    n = len(x)
    kind = np.uint32 if n < 2**32 else np.uint64
    keys: U64 = np.empty(n, dtype=np.uint64)
    order: AnyInt = np.arange(n).astype(kind)
    workspace = RadixWorkspace(keys, order, np.empty_like(keys), np.empty_like(order))
    swapped = _sort_workspace(x, workspace)
    keys, order = (workspace.spare, workspace.moved) if swapped else (keys, order)
    return keys.view(np.float64), order


@compiled
def restore_order(labels: AnyInt, order: AnyInt, back: Labels) -> None:
    """Write labels (n,) of sorted values to `back`, in the values' original order."""
    for i in range(len(labels)):
        back[order[i]] = labels[i]


@compiled
def _sort_workspace(x: Floats, workspace: RadixWorkspace) -> bool:
    """Sort values in the workspace; return whether the spare arrays hold the result."""
    varying = _make_keys(x, workspace.keys)
    # sign, exponent and log2(n) more digits distinguish nearly all values
    enough = int(np.ceil((12 + np.log2(len(x))) / 8))
    turns = min(enough, len(varying))
    now = _sort_by_digits(workspace, varying[-enough:])
    if not _finish_sorting(now.keys, now.order):
        now = _sort_by_digits(now, varying)
        turns += len(varying)
    _restore_values(now.keys)
    return turns % 2 == 1


@inner
def _make_keys(x: Floats, keys: U64) -> list[int]:
    """Write integer keys in the values' order; return the digits that vary.

    0.0 and -0.0 get the same key.
    """
    values = keys.view(np.float64)
    differ = np.uint64(0)
    for i in range(len(keys)):
        values[i] = x[i] + 0.0
        keys[i] = ~keys[i] if keys[i] & SIGN else keys[i] | SIGN
        differ |= keys[i] ^ keys[0]
    return [d for d in range(DIGITS) if (differ >> (DIGIT * np.uint64(d))) & LAST]


@inner
def _restore_values(keys: U64) -> None:
    """Turn sorted keys back into the bits of floats, in place."""
    for i in range(len(keys)):
        keys[i] = keys[i] ^ SIGN if keys[i] & SIGN else ~keys[i]


@inner
def _sort_by_digits(workspace: RadixWorkspace, digits: list[int]) -> RadixWorkspace:
    """Sort keys by digits, the lowest first; return the workspace with the result."""
    counts = np.zeros((len(digits), 256), np.int64)
    for key in workspace.keys:
        for d in range(len(digits)):
            counts[d, (key >> (DIGIT * np.uint64(digits[d]))) & LAST] += 1
    for d in range(len(digits)):
        _sort_by_digit(workspace, DIGIT * np.uint64(digits[d]), counts[d])
        workspace = RadixWorkspace(
            workspace.spare, workspace.moved, workspace.keys, workspace.order
        )
    return workspace


@inner
def _sort_by_digit(workspace: RadixWorkspace, shift: np.uint64, counts: I64) -> None:
    """Write keys to the spare arrays by one digit; equal digits keep their order."""
    place = np.cumsum(counts) - counts
    for i in range(len(workspace.keys)):
        key = workspace.keys[i]
        digit = (key >> shift) & LAST
        to = place[digit]
        place[digit] = to + 1
        workspace.spare[to] = key
        workspace.moved[to] = workspace.order[i]


@inner
def _finish_sorting(keys: U64, order: AnyInt) -> bool:
    """Sort keys by insertion if few moves suffice; return whether they did."""
    moves = 0
    for i in range(1, len(keys)):
        if keys[i - 1] <= keys[i]:
            continue
        key = keys[i]
        moved = order[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            order[j] = order[j - 1]
            j -= 1
        keys[j] = key
        order[j] = moved
        moves += i - j
        if moves > len(keys):
            return False
    return True
