"""Small random instances of joint wishes, and all their feasible points."""

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from aggopt.models import p3m_joint as model
from aggopt.models.shared.joint import Records


def standardised(X: np.ndarray) -> np.ndarray:
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def instance(
    seed: int, n: int = 14, d: int = 2, m: int = 4, alpha: float = 0.3
) -> model.Data:
    """Return n records at random in m groups, each with wishes of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.r_[np.arange(m), rng.integers(m, size=n - m)])
    wishes = rng.uniform(0, 1, (n, d)), rng.uniform(0, 0.9, (n, d))
    return model.Data(
        standardised(rng.normal(size=(n, d)) ** 3), labels, *wishes, alpha
    )


def assert_rises_along_its_gradient(dual: Any, flat: np.ndarray) -> None:
    """Hold the slope of a dual to differences, and its packing to its unpacking."""
    _, slope = dual(flat)
    for i in range(len(flat)):
        step = np.zeros(len(flat))
        step[i] = 1e-5
        change = (dual(flat + step)[0] - dual(flat - step)[0]) / 2e-5
        assert change == pytest.approx(slope[i], rel=1e-4, abs=1e-5)
    assert dual.pack_vector(dual.unpack_vector(flat)) == pytest.approx(flat)


def of_model(kind: ModuleType, data: model.Data, weight: float | None = None) -> Any:
    """Return the same records, groups and wishes as another model has them."""
    asked = data.Z, data.labels, data.delta, data.importance
    return kind.Data(*asked, data.alpha if weight is None else weight)


def beside(data: Any, seed: int) -> Any:
    """Return the same with a response, which the attributes explain little of."""
    rng = np.random.default_rng([seed, 1])
    of_groups = rng.normal(size=len(data.sizes))[data.labels]
    noise = 0.3 * rng.normal(size=len(data.labels))
    y = 0.2 * data.Z[:, 0] + of_groups + noise
    return replace(data, y=standardised(y))


def rows_missed(data: Records, c: np.ndarray) -> float:
    """Return the largest miss of a row of what is kept, as the heads say them."""
    x, n = c[data.labels], len(data.Z)
    missed = [x.sum(axis=0), (x.T @ x - data.Z.T @ data.Z).ravel()]
    if data.y is not None:
        missed.append(x.T @ data.y - data.Z.T @ data.y)
    return float(abs(np.concatenate(missed)).max() / n)


def circle(data: Records, angles: int) -> Iterator[np.ndarray]:
    """Yield the centroids of all points of three groups and two attributes.

    They are turned and mirrored by one angle, up to its step.  With a response there is
    as much freedom in four groups.
    """
    fixed, root, taken = data.free
    apart = np.linalg.svd(taken.T)[2][taken.shape[1] :].T  # two columns
    for angle in np.linspace(0, 2 * np.pi, angles, endpoint=False):
        cos, sin = np.cos(angle), np.sin(angle)
        for side in (1, -1):
            Q = apart @ np.array([[cos, -side * sin], [sin, side * cos]])
            yield (fixed + Q @ root) / np.sqrt(data.sizes)[:, None]


def rotation(data: Records, rng: np.random.Generator) -> np.ndarray:
    """Return the centroids of a feasible point at random."""
    fixed, root, taken = data.free
    A = rng.normal(size=(len(taken), len(root)))
    Q, _ = np.linalg.qr(A - taken @ (taken.T @ A))
    return (fixed + Q @ root) / np.sqrt(data.sizes)[:, None]
