"""Compiled hash table of groups, which adds new groups only.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.kernels import copy_into
from aggopt.core.types import I64
from aggopt.core.unrefcounted import compiled, inner
from aggopt.partition._local_search.state import (
    FOUND,
    TOUCHED,
    Collected,
    Groups,
    Trail,
)

NONE = np.uint64(0)
ONE = np.uint64(1)


@inner
def collect_groups(groups: Groups, trail: Trail, collected: Collected | None) -> None:
    """Add the groups on the trail while space is left; None collects nothing."""
    if collected is None:  # then the compiler omits the rest
        return
    for c in range(trail.counts[TOUCHED]):
        g = trail.touched[c]
        first = groups.start[g]
        size = groups.size[g]
        if size > 0:
            _add_group(collected, groups.ids[first : first + size])


@compiled
def add_groups(collected: Collected, ids: I64, start: I64) -> None:
    """Add the groups ids[start[c] : start[c + 1]]."""
    for c in range(len(start) - 1):
        _add_group(collected, ids[start[c] : start[c + 1]])


@inner
def _add_group(collected: Collected, members: I64) -> None:
    """Add a group unless it is known, while space is left."""
    count = collected.counts[FOUND]
    begin = collected.start[count]
    end = begin + len(members)
    if 2 * count + 2 >= len(collected.slots) or end > len(collected.ids):
        return
    name = NONE
    for i in members:
        name ^= collected.key[i]
    last = np.uint64(len(collected.slots) - 1)
    slot = name & last
    while collected.slots[slot] != NONE:
        if collected.slots[slot] == name:
            return
        slot = (slot + ONE) & last
    collected.slots[slot] = name
    copy_into(collected.ids[begin:end], members)
    collected.start[count + 1] = end
    collected.counts[FOUND] = count + 1
