"""What groups keep beside their sizes, chosen by the type of `space.promise`.

Each function here has one body per type of promise, which the compiler puts in the
caller's place: what promises nothing costs nothing.  Importing this imports numba.
"""

from typing import Any

import numpy as np
from numba.extending import overload

from aggopt.compiled import compiled
from aggopt.partition._search.state import Close, Groups, NoPromise, Space
from aggopt.privacy._emd_kernels import numerator

HOW: Any = {"nogil": True, "error_model": "numpy", "forceinline": True}
NOBODY: int = np.int64(-1)  # type: ignore[assignment]  # no literal to compile for


def may_swap(space: Space, groups: Groups, i: int, j: int) -> bool:
    """Whether both groups keep the promise if records i and j change places."""
    raise NotImplementedError


def may_move(space: Space, groups: Groups, i: int, to: int) -> bool:
    """Whether both groups keep the promise if record i moves to another."""
    raise NotImplementedError


def may_chain(space: Space, groups: Groups, i: int, j: int, to: int) -> bool:
    """Whether all three keep it if i moves to the group of j, and j to another."""
    raise NotImplementedError


def keeps(space: Space, groups: Groups, g: int) -> bool:
    """Whether group g keeps the promise."""
    raise NotImplementedError


@compiled
def is_close(space: Space, groups: Groups, g: int, out: int, into: int) -> bool:
    """Whether group g is t-close without record `out` and with `into`; -1: nobody."""
    promise: Close = space.promise  # type: ignore[assignment]
    count = 0
    places = np.empty(groups.size[g] + 1, np.int64)
    for at in range(groups.start[g], groups.start[g] + groups.size[g]):
        i = groups.who[at]
        if i != out:
            places[count] = promise.place[i]
            count += 1
    if into >= 0:
        places[count] = promise.place[into]
        count += 1
    kept = np.sort(places[:count])
    worst = numerator(kept, len(promise.place), promise.sums, promise.first)
    return bool(worst <= promise.limits[count])


def _promises_nothing(space: Any) -> bool:
    return _promise_of(space) is NoPromise


def _promise_of(space: Any) -> type:
    kind: type = space.types[space.fields.index("promise")].instance_class
    return kind


def _swap_stays_close(space: Any, groups: Any, i: Any, j: Any) -> Any:
    if space.promise.place[i] == space.promise.place[j]:
        return True
    if not is_close(space, groups, groups.label[i], i, j):
        return False
    return is_close(space, groups, groups.label[j], j, i)


def _move_stays_close(space: Any, groups: Any, i: Any, to: Any) -> Any:
    if not is_close(space, groups, groups.label[i], i, NOBODY):
        return False
    return is_close(space, groups, to, NOBODY, i)


def _chain_stays_close(space: Any, groups: Any, i: Any, j: Any, to: Any) -> Any:
    if not is_close(space, groups, groups.label[i], i, NOBODY):
        return False
    if not is_close(space, groups, to, NOBODY, j):
        return False
    return is_close(space, groups, groups.label[j], j, i)


def _stays_close(space: Any, groups: Any, g: Any) -> Any:
    return is_close(space, groups, g, NOBODY, NOBODY)


@overload(may_swap, jit_options=HOW, strict=False)
def _may_swap(space: Any, groups: Any, i: Any, j: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, i, j: True
    return _swap_stays_close


@overload(may_move, jit_options=HOW, strict=False)
def _may_move(space: Any, groups: Any, i: Any, to: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, i, to: True
    return _move_stays_close


@overload(may_chain, jit_options=HOW, strict=False)
def _may_chain(space: Any, groups: Any, i: Any, j: Any, to: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, i, j, to: True
    return _chain_stays_close


@overload(keeps, jit_options=HOW, strict=False)
def _keeps(space: Any, groups: Any, g: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, g: True
    return _stays_close
