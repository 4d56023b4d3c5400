"""Small random instances of the models that shift centroids."""

from types import ModuleType
from typing import Any

import numpy as np

from aggopt.models import p3m, p3m_onesided, satisfaction

MODELS: list[ModuleType] = [p3m, p3m_onesided, satisfaction]


def instance(
    model: ModuleType, seed: int, n: int = 14, m: int = 4, weight: float = 0.3
) -> Any:
    """Return data of `model`: n records at random in m groups."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    x = (x - x.mean()) / x.std()
    labels = rng.permutation(np.r_[np.arange(m), rng.integers(m, size=n - m)])
    wishes = rng.uniform(0, 1, n), rng.uniform(0, 0.99, n)
    return model.Data(x, labels, *wishes, weight)


def somewhere(data: Any, model: ModuleType, seed: int) -> Any:
    """Return a point at random, feasible only in the signs of its variables."""
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=len(data.sizes))
    n = len(data.x)
    if model is p3m:
        return model.Point(shift, rng.normal(size=n))
    if model is p3m_onesided:
        return model.Point(shift, rng.exponential(size=n))
    above, below = rng.integers(2, size=(2, n)).astype(float)
    return model.Point(shift, above, below)
