"""A table with attributes of all kinds, and its distances counted slowly."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from encoding.walked import path_length

ORDER = ["none", "some", "much", "all"]
TREE = {"lung": ["flu", "asthma"], "heart": {"left": ["attack", "weak"]}, "x": ["y"]}
PARENT = {"flu": "lung", "asthma": "lung", "attack": "left", "weak": "left"}
PARENT |= {"y": "x", "lung": "*", "heart": "*", "left": "heart", "x": "*"}
APART = {"p": {"q": 1.0, "r": 2.0}, "q": {"r": 1.5}}
TYPES: Mapping[str, Any] = {
    "school": {"order": ORDER},
    "illness": {"tree": TREE, "weight": 2.0},
    "place": {"distances": APART},
}
KINDS = ["numeric", "nominal", "ordinal", "hierarchical", "distances"]


def table(n: int = 24, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m", "x"], n),
            "school": rng.choice(ORDER[:3], n),  # "all" has no record
            "illness": rng.choice(["flu", "asthma", "attack", "weak"], n),
            "place": rng.choice(list("pqr"), n),
        }
    )


def apart(name: str, u: Any, v: Any, spread: float) -> float:
    """Return the distance of two values, numbers being measured in `spread`."""
    if u == v:
        return 0.0
    if name == "age":
        return ((u - v) / spread) ** 2
    if name == "sex":
        return 1.0
    if name == "school":
        return abs(ORDER.index(u) - ORDER.index(v)) / 3
    if name == "illness":
        return float(path_length(u, v, PARENT))
    return APART[min(u, v)][max(u, v)]


def all_distances(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return distances of all pairs of records in one attribute (n, n)."""
    x = frame[name].tolist()
    spread = float(np.std(x)) if name == "age" else 1.0
    return np.array([[apart(name, u, v, spread) for v in x] for u in x])


def squared(Z: Any) -> np.ndarray:
    """Return squared Euclidean distances of all pairs of rows."""
    Z = np.asarray(Z)
    return ((Z[:, None] - Z) ** 2).sum(axis=2)
