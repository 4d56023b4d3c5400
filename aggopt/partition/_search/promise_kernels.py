"""What groups keep beside their sizes, chosen by the type of `space.promise`.

Each function here has one body per type of promise, which the compiler puts in the
caller's place: what promises nothing costs nothing.  Importing this imports numba.
"""

from typing import Any

from numba.extending import overload

from aggopt.partition._search.state import Groups, NoPromise, Space

HOW: Any = {"nogil": True, "error_model": "numpy", "forceinline": True}


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


def _promises_nothing(space: Any) -> bool:
    return _promise_of(space) is NoPromise


def _promise_of(space: Any) -> type:
    kind: type = space.types[space.fields.index("promise")].instance_class
    return kind


@overload(may_swap, jit_options=HOW, strict=False)
def _may_swap(space: Any, groups: Any, i: Any, j: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, i, j: True
    return None


@overload(may_move, jit_options=HOW, strict=False)
def _may_move(space: Any, groups: Any, i: Any, to: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, i, to: True
    return None


@overload(may_chain, jit_options=HOW, strict=False)
def _may_chain(space: Any, groups: Any, i: Any, j: Any, to: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, i, j, to: True
    return None


@overload(keeps, jit_options=HOW, strict=False)
def _keeps(space: Any, groups: Any, g: Any) -> Any:
    if _promises_nothing(space):
        return lambda space, groups, g: True
    return None
