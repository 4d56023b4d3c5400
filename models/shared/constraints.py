"""Constraints by name: their declarations and the amounts of their violations."""

from math import inf
from typing import Any

import numpy as np

from aggopt.core.types import Floats


def amounts(**missed: Any) -> dict[str, float]:
    """Return the largest entry of each array, at least 0, by the constraint's name.

    >>> amounts(one=np.array([-1.0, 0.5]), close=np.empty(0))
    {'one': 0.5, 'close': 0.0}
    """
    return {name: float(np.max(v, initial=0.0)) for name, v in missed.items()}


def off_whole(*shares: Floats, upper: float = inf) -> float:
    """Return the largest distance of an entry from whole numbers 0 to `upper`.

    >>> off_whole(np.array([0.0, 0.25, 3.0]))
    0.25
    >>> off_whole(np.array([0.0, 3.0]), upper=1)
    2.0
    """
    every = np.concatenate([np.ravel(share) for share in shares])
    return float(np.abs(every - np.clip(np.rint(every), 0, upper)).max(initial=0.0))


def labelled(**constraints: Any) -> list[Any]:
    """Return constraints of cvxpy as a list, each labelled with its name.

    >>> import cvxpy as cp
    >>> c = cp.Variable(2)
    >>> [row.label for row in labelled(sign=c >= 0, most=[c[0] <= 1, c[1] <= 2])]
    ['sign', 'most', 'most']
    """
    return [
        row.set_label(name)
        for name, rows in constraints.items()
        for row in (rows if isinstance(rows, list) else [rows])
    ]
