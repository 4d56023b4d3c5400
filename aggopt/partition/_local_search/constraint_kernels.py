"""Checks whether changes preserve the constraints. Importing this imports numba.

Without constraints, `promise` is None: then the compiler omits the code after `if
promise is None`, and an unconstrained search has no overhead.

Where nothing is promised, `promise` is None: the compiler then leaves out what follows
`if promise is None`, and a search that promises nothing pays nothing.
"""

import numpy as np

from aggopt.core.borrowed import inlined, inner
from aggopt.core.types import I64
from aggopt.partition._constraints.state import Promise
from aggopt.partition._local_search.l_diversity_kernels import is_diverse
from aggopt.partition._local_search.state import Groups, Space
from aggopt.partition._local_search.t_closeness_kernels import is_clearly_far, is_close
from aggopt.partition._local_search.weight_kernels import is_undominated

NOBODY: int = np.int64(-1)  # type: ignore[assignment]  # no literal to compile for


@inlined
def is_feasible(space: Space, groups: Groups, g: int, out: int, into: int) -> bool:
    """Whether group g satisfies the constraints without record `out` and with `into`.

    Either may be NOBODY; if both are, the unchanged group is checked.

    Either may be NOBODY; if both are, whether the group keeps it as it is, and else it
    does.
    """
    if not is_undominated(space.weights, groups, g, out, into):
        return False
    return _is_feasible_for(space.promise, groups, g, out, into)


@inlined
def _is_feasible_for(
    promise: Promise | None, groups: Groups, g: int, out: int, into: int
) -> bool:
    """Whether group g, changed likewise, satisfies t and l."""
    if promise is None:
        return True
    if is_clearly_far(promise.close, groups.size[g], g, out, into):
        return False
    members = groups.who[groups.start[g] : groups.start[g] + groups.size[g]]
    return _satisfies_promise(promise, members, g, out, into)


@inlined
def may_swap(space: Space, groups: Groups, i: int, j: int) -> bool:
    """Whether both groups satisfy the constraints after a swap of records i and j."""
    if not is_feasible(space, groups, groups.label[i], i, j):
        return False
    return is_feasible(space, groups, groups.label[j], j, i)


@inlined
def has_chains(promise: Promise | None) -> bool:
    """Whether chains pay: hardly if groups may grow, as moves do as well then."""
    return promise is None


@inlined
def choose_move_share(promise: Promise | None) -> float:
    """Return the share of moves among the random moves and swaps."""
    if promise is None:
        return 0.5
    return 0.2  # as most moves break constraints


@inner
def _satisfies_promise(
    promise: Promise, members: I64, g: int, out: int, into: int
) -> bool:
    """Whether members satisfy the constraints without `out` and with `into`."""
    close, diverse = promise.close, promise.diverse
    if len(diverse.level) > 0 and not is_diverse(diverse, members, out, into):
        return False
    return len(close.place) == 0 or is_close(close, members, g, out, into)
