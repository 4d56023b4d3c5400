"""Shares of a category's levels before and after masking, safe to publish.

The levels of the release are used.  Other levels of originals, and levels of fewer than
ten originals, form one additional level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aggopt.core.types import I64, Bool
from aggopt.measure.rounded_figures import FEW, percents

LEVELS = 12  # that are shown, the other ones left out
OTHER = "other"


@dataclass(frozen=True)
class Shares:
    """Shares of the originals and of the release at common levels.

    Attributes
    ----------
    levels : (m,)
        Their names, in the caller's order; the last may be "other".
    original, released : (m,)
        Shares in whole percents.  A level has ten originals or more, or none.
    """

    levels: tuple[str, ...]
    original: tuple[float, ...]
    released: tuple[float, ...]


def shares(
    before: npt.ArrayLike, after: npt.ArrayLike, levels: Sequence[str]
) -> Shares | None:
    """Return the shares of levels 0..m-1, whose names are `levels`.

    `before` and `after` (n,) are the levels of originals and release.  None for fewer
    than ten originals.

    >>> shares([0] * 15 + [1] * 10 + [2] * 5, [0] * 20 + [1] * 10, ["a", "b", "c"])
    Shares(levels=('a', 'other'), original=(50, 50), released=(67, 33))
    """
    m = len(levels)
    counts = [np.bincount(np.asarray(codes), minlength=m) for codes in (before, after)]
    if counts[0].sum() < FEW:
        return None
    shown = _shown(*counts)
    names = [levels[j] for j in np.flatnonzero(shown).tolist()]
    if counts[0][~shown].any() or counts[1][~shown].any():
        names.append(OTHER)
        counts = [np.append(c[shown], c[~shown].sum()) for c in counts]
    else:
        counts = [c[shown] for c in counts]
    return Shares(tuple(names), percents(counts[0]), percents(counts[1]))


def _shown(before: I64, after: I64) -> Bool:
    """Whether each level (m,) is shown: the others hold ten originals, or none."""
    shown = np.asarray((after > 0) & ((before == 0) | (before >= FEW)))
    most = np.argsort(-after, kind="stable")
    shown[most[LEVELS:]] = False
    for j in most[::-1].tolist():  # the rarest shown first
        if not 0 < before[~shown].sum() < FEW:
            break
        shown[j] = False
    return shown
