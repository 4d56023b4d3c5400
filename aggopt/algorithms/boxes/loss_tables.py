"""Losses of groups by attribute, as arrays that compiled code reads."""

import numpy as np

from aggopt.algorithms.boxes.state import NAMES, RANGE, TREE, LossTables
from aggopt.core.memory import require_memory
from aggopt.core.types import I32
from aggopt.encoding.generalisation import Generalisation

NO_STATEMENTS = np.zeros(0, np.int32)


def pack_losses(
    attributes: tuple[Generalisation, ...], *, statements: bool = False
) -> LossTables:
    """Return the losses of attributes as arrays; `statements` adds nodes of trees."""
    kinds, entries, low, high = [], [], [], []
    for a in attributes:
        if a.places is not None:
            kinds.append(RANGE if a.hulls is None else NAMES)
            entries.append(a.places)
            low.append(np.zeros(a.m if statements else 0, np.int32))
            high.append(low[-1])
            continue
        kinds.append(TREE)
        entries.append(np.ravel(a.table) * a.weight)  # type: ignore[arg-type]
        none = NO_STATEMENTS, NO_STATEMENTS
        lowest, highest = _find_statements(a) if statements else none
        low.append(lowest)
        high.append(highest)
    sizes = [len(part) for part in entries]
    return LossTables(
        np.array(kinds, np.int64),
        np.array([a.m for a in attributes], np.int64),
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        np.concatenate(entries),
        np.array([a.weight for a in attributes], np.float64),
        np.concatenate(low),
        np.concatenate(high),
    )


def _find_statements(attribute: Generalisation) -> tuple[I32, I32]:
    """Return least and greatest position of the statement about any two positions."""
    m = attribute.m
    require_memory(8 * m * m, f"the statements about {m} values")
    low = np.zeros((m, m), np.int32)
    high = np.full((m, m), m - 1, np.int32)
    hulls = attribute.hulls
    if hulls is not None:
        for p, q in hulls[::-1]:  # wide ones first
            low[p : q + 1, p : q + 1] = p
            high[p : q + 1, p : q + 1] = q
    return low.ravel(), high.ravel()
