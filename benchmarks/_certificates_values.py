"""Certificates of published values, held against points sought at random."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _certificates_groups import NOTHING, Found, lies_of
from _certificates_instances import Instance

from aggopt import aggregate
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.models import p3m, p3m_onesided, satisfaction
from aggopt.partition import mdav

POINTS, STEPS = 400, 200  # at random, and of each way down from the best
KEPT = 1e-9  # violation, up to which a point counts
MODELS = {"p3m": p3m, "p3m_onesided": p3m_onesided, "satisfaction": satisfaction}


def values(of_: Instance) -> Iterator[Found]:
    """Yield what aggregations prove of the last attribute."""
    x, rng = of_.X[:, -1:], np.random.default_rng(of_.seed)
    z = Scale.of(x).standardise(x)[:, 0]
    labels = mdav(of_.X, of_.k)
    sizes = np.bincount(labels)
    yield _of_means(x, z, labels, rng)
    yield _of_medians(x, z, labels, rng)
    means = np.bincount(labels, z) / sizes
    if len(sizes) < 2 or np.sqrt((sizes * means**2).sum() / len(z)) < 1e-6:
        return
    yield _of_stretched(x, z, labels, rng)
    delta, importance = rng.uniform(0, 0.6, z.shape), rng.uniform(0, 0.9, z.shape)
    for name, model in MODELS.items():
        weight = float(rng.uniform(0.1, 0.9))
        way = {"price" if model is satisfaction else "alpha": weight}
        combine = getattr(aggregate, name)
        asked = {"delta": delta[:, None], "importance": importance[:, None], **way}
        found = combine(x, labels, **asked)
        data = model.Data(z, labels, delta, importance, weight)
        c = Scale.of(x).standardise(found.centroids)[:, 0]
        at, proof = _point(model, data, c, _shown(x)), found.certificates[0]
        if not proof.status.usable:
            yield Found(f"{name}: no point", ())
            continue
        reached = model.objective(data, at)
        best = min(reached, _sought(model, data, c, rng))
        violation = model.MODEL.violation(data, at)
        lies = lies_of(proof, reached, best, violation, nothing=_shown(x), least=1.0)
        yield Found(name, lies)


def _point(model: Any, data: Any, c: Floats, shown: float) -> Any:
    """Return the point of centroids whose last digits, up to `shown`, are lost."""
    if model is satisfaction:  # a distance that is touched counts wholly or not at all
        return model.point(data, c, touch=max(satisfaction.TOUCH, shown))
    return model.point(data, c)


def _sought(model: Any, data: Any, c: Floats, rng: np.random.Generator) -> float:
    """Return the least objective of feasible points at random, and near the best."""

    def cost(point: Floats) -> float:
        at = model.point(data, point)
        kept = model.MODEL.violation(data, at) <= KEPT
        return float(model.objective(data, at)) if kept else np.inf

    return _descended(cost, c, data.sizes, rng)


def _descended(
    cost: Callable[[Floats], float],
    c: Floats,
    sizes: Any,
    rng: np.random.Generator,
) -> float:
    drawn = [_feasible(rng.normal(size=len(c)), sizes) for _ in range(POINTS)]
    best, least = c, np.inf
    for point in drawn:
        if (found := cost(point)) < least:
            best, least = point, found
    for start in (best, _feasible(c, sizes)):
        point, step = start, 0.3
        now = cost(point)
        for _ in range(STEPS):
            near = _feasible(point + step * rng.normal(size=len(c)), sizes)
            if (found := cost(near)) < now:
                point, now = near, found
            else:
                step *= 0.95
        least = min(least, now)
    return least


def _feasible(point: Floats, sizes: Any) -> Floats:
    """Return the point moved and stretched to mean 0 and variance 1."""
    away = point - (sizes * point).sum() / sizes.sum()
    spread = np.sqrt((sizes * away**2).sum() / sizes.sum())
    return away / (spread or 1.0)


def _of_means(x: Any, z: Any, labels: Any, rng: Any) -> Found:
    found = aggregate.mean(x, labels)
    c = Scale.of(x).standardise(found.centroids)[:, 0]
    others = [c + 0.01 * rng.normal(size=len(c)) for _ in range(POINTS)]
    best = min(float(((z - o[labels]) ** 2).sum()) for o in [c, *others])
    reached = float(((z - c[labels]) ** 2).sum())
    proof, nothing = found.certificates[0], _shown(x)
    return Found("mean", lies_of(proof, reached, best, nothing=nothing))


def _of_medians(x: Any, z: Any, labels: Any, rng: Any) -> Found:
    found = aggregate.median(x, labels)
    c = Scale.of(x).standardise(found.centroids)[:, 0]
    others = [c + 0.01 * rng.normal(size=len(c)) for _ in range(POINTS)]
    best = min(float(np.abs(z - o[labels]).sum()) for o in [c, *others])
    reached = float(np.abs(z - c[labels]).sum())
    proof, nothing = found.certificates[0], _shown(x)
    return Found("median", lies_of(proof, reached, best, nothing=nothing))


def _of_stretched(x: Any, z: Any, labels: Any, rng: Any) -> Found:
    found = aggregate.mean(x, labels, keep="variance")
    c = Scale.of(x).standardise(found.centroids)[:, 0]

    def cost(point: Floats) -> float:
        return float(((z - point[labels]) ** 2).sum())

    best = min(cost(c), _descended(cost, c, np.bincount(labels), rng))
    proof, nothing = found.certificates[0], _shown(x)
    return Found("renormalised mean", lies_of(proof, cost(c), best, nothing=nothing))


def _shown(x: Floats) -> float:
    """Return what the floats of a column do not show, in standard deviations.

    Of 1e3 plus something of 1e-6 the last digits are lost: values are published so.
    """
    spread = float(x.std()) or 1.0
    return 100 * float(np.spacing(np.abs(x).max())) / spread + NOTHING
