"""An order of records in which neighbours in space are near, and its parts."""

import numpy as np

from aggopt.core.threads import ThreadPool
from aggopt.core.validation import Floats, Labels

TURNS = 8  # after which an axis is the principal one, nearly
PIECES = 64  # into which the work is cut for threads


def in_space(
    rows: Floats, leaf: int, threads: ThreadPool, *, turns: int = TURNS, seed: int = 0
) -> tuple[Floats, Labels]:
    """Return rows (n, d) in a spatial order, and which records they are (n,).

    The rows are halved across their principal axis, each half likewise, down to parts
    of `leaf` or fewer; see `parts`.  With 0 turns the axes are random, likelier where
    the rows spread.
    """
    from aggopt.partition._neighbours import (
        spatial_order_kernels as kernels,  # imports numba
    )

    rows, who = rows.copy(), np.arange(len(rows), dtype=np.intp)
    piece = max(leaf, len(rows) // PIECES)

    def halve(part: slice) -> None:
        kernels.halve(rows[part], who[part], turns, seed)

    def arrange(part: slice) -> None:
        kernels.arrange(rows[part], who[part], leaf, turns, seed)

    level = _above([slice(0, len(rows))], piece)
    while level:
        threads.each(halve, level)
        level = _above([half for part in level for half in _halves(part)], piece)
    threads.each(arrange, parts(len(rows), piece))
    return rows, who


def parts(n: int, size: int) -> list[slice]:
    """Return the parts into which n records in spatial order are halved.

    Each has `size` records or fewer, and size // 2 or more unless n has fewer.
    """
    done, level = [], [slice(0, n)]
    while level:
        done += [part for part in level if _length(part) <= size]
        level = [half for part in _above(level, size) for half in _halves(part)]
    return sorted(done, key=lambda part: int(part.start))


def _above(level: list[slice], size: int) -> list[slice]:
    return [part for part in level if _length(part) > size]


def _halves(part: slice) -> tuple[slice, slice]:
    middle = part.start + _length(part) // 2
    return slice(part.start, middle), slice(middle, part.stop)


def _length(part: slice) -> int:
    return int(part.stop - part.start)
