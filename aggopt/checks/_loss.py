"""Laws of a partitioner about what its groups lose: f(X, k) to labels, or more."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.checks._partitioner import TriedPartitioner
from aggopt.checks._records import normal, partitions
from aggopt.checks.law import not_tried, require
from aggopt.core.types import F64
from aggopt.partition import Partition
from aggopt.partition.registry import AttributeUse
from aggopt.partition.shared.scaling import scale_records
from aggopt.partition.shared.sse import compute_sse


def groups_lose_less_than_chance(f: TriedPartitioner) -> None:
    """Groups lose less than random groups of the same sizes."""
    X = scale_records(
        np.asarray(f.records[:, : 1 if f.takes is not AttributeUse.SEVERAL else None])
    )
    labels = f.labels(f.records, f.k)
    rng = np.random.default_rng(0)
    own = compute_sse(X, labels)
    chance = min(compute_sse(X, rng.permutation(labels)) for _ in range(5))
    require(own < chance, f"they lose {own:.4g}, groups at random {chance:.4g}")


def certificate_is_true(f: TriedPartitioner) -> None:
    """The objective is what the groups lose, and no groups lose less than the bound."""
    X = normal()[:7]
    found = f(X, 2)
    if not isinstance(found, Partition):
        not_tried("it returns labels without a certificate")
    if f.takes is not AttributeUse.SEVERAL:
        X = X[:, :1]
    Z = scale_records(X) if f.standardises else np.asarray(X)
    own, certificate = _lost(Z, f.labels(normal()[:7], 2)), found.certificate
    stated = certificate.objective
    near = abs(stated - own) <= 1e-9 * max(1.0, own)
    require(near, f"the objective is {stated:.9g}, and the groups lose {own:.9g}")
    best = min(_of_groups(Z, groups) for groups in partitions(len(Z), 2))
    bound = certificate.bound
    if bound is not None:
        held = bound <= best + 1e-9 * max(1.0, best)
        require(held, f"it proves {bound:.9g}, and {best:.9g} is reached")


def _lost(Z: F64, labels: npt.NDArray[Any]) -> float:
    """Return the sum of squares within groups, the slow way."""
    return _of_groups(Z, [np.flatnonzero(labels == g) for g in np.unique(labels)])


def _of_groups(Z: F64, groups: Any) -> float:
    return sum(float(((Z[g] - Z[g].mean(axis=0)) ** 2).sum()) for g in groups)


LAWS = (groups_lose_less_than_chance, certificate_is_true)
