"""Checks whether changed groups stay diverse.

Importing this imports numba: do so late.
"""

import numpy as np

from aggopt.core.borrowed import inner
from aggopt.core.types import I64
from aggopt.partition._constraints.l_diversity import CLOSE
from aggopt.partition._constraints.state import Diverse


@inner
def is_diverse(diverse: Diverse, members: I64, out: int, into: int) -> bool:
    """Whether a group is diverse without record `out` and with `into`; -1: nobody.

    An entropy within CLOSE of log l counts only if all levels have equal shares, when
    it equals log l; other entropies so near are refused.

    An entropy within CLOSE of log l counts if all levels have equal shares, when it is
    log l; another so near may be, and is refused.
    """
    level, tally = diverse.level, diverse.tally
    if out >= 0 and into >= 0 and level[out] == level[into]:
        return True
    for i in members:
        tally[level[i]] += 1
    if into >= 0:
        tally[level[into]] += 1
    if out >= 0:
        tally[level[out]] -= 1
    levels, total, even = _count_and_reset(diverse, members, into)
    if not diverse.entropy:
        return bool(levels >= diverse.least)
    size = len(members) - (out >= 0) + (into >= 0)
    excess = np.log(size) - total / size - diverse.logarithm
    return bool(excess > CLOSE or (excess >= -CLOSE and even))


@inner
def _count_and_reset(
    diverse: Diverse, members: I64, into: int
) -> tuple[int, float, bool]:
    """Return the number of levels, the sum of c log c, and whether all c are equal.

    The counts are reset to 0.

    The counts are 0 then.
    """
    levels, total, even, usual = 0, 0.0, True, 0
    for at in range(-1, len(members)):
        i = members[at] if at >= 0 else into
        if i >= 0:
            count = diverse.tally[diverse.level[i]]
            diverse.tally[diverse.level[i]] = 0
            if count > 0:
                levels += 1
                total += count * np.log(count)
                usual = count if levels == 1 else usual
                even = even and count == usual
    return levels, total, even
