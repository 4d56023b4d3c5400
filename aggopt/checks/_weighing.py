"""Laws of a partitioner that takes sampling weights: f(X, k, weights=w)."""

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

POWER = 1024.0  # of two: no weight is rounded by it
TIMES = (1, 3, 1, 2, 5, 1, 2)  # as which each of seven records counts


def equal_weights_change_nothing(f: TriedPartitioner) -> None:
    """Weights that are all equal, 1 or another, give the labels that none give."""
    _require_weighing(f)
    for weight in (1.0, 7.0):
        found = _labels(f, f.records, f.k, np.full(len(f.records), weight))
        same = np.array_equal(found, f.ordinary(f.k))
        require(same, f"weights of {weight:g} give other labels")


def scale_of_weights_does_not_matter(f: TriedPartitioner) -> None:
    """Weights times a power of two give the same labels, and lose that much more."""
    _require_weighing(f)
    weights = np.random.default_rng(20).uniform(1.0, 3.0, len(f.records))
    one, other = (f(f.records.copy(), f.k, weights=w * weights) for w in (1.0, POWER))
    same = np.array_equal(np.asarray(one), np.asarray(other))
    require(same, f"weights times {POWER:g} give other labels")
    if isinstance(one, Partition):
        stated, expected = other.loss, POWER * one.loss
        near = abs(stated - expected) <= 1e-9 * expected
        require(near, f"they lose {stated:.9g}, not {POWER:g} times {one.loss:.9g}")


def whole_weights_are_replicated_records(f: TriedPartitioner) -> None:
    """Objective and bound are those of as many equal records, in groups of k before."""
    _require_weighing(f)
    X = normal()[:7]
    found = f(X.copy(), 2, weights=np.array(TIMES, np.float64))
    if not isinstance(found, Partition):
        not_tried("it returns labels without a certificate")
    Z = np.repeat(X, TIMES, axis=0)
    Z = scale_records(Z) if f.standardises else Z
    own, certificate = _lost(Z, found.labels), found.certificate
    stated = certificate.objective
    near = abs(stated - own) <= 1e-9 * max(1.0, own)
    require(near, f"the objective is {stated:.9g}, and the records lose {own:.9g}")
    if certificate.bound is not None:
        best = min(_lost(Z, _numbers(groups)) for groups in partitions(len(X), 2))
        held = certificate.bound <= best + 1e-9 * max(1.0, best)
        require(held, f"it proves {certificate.bound:.9g}, and {best:.9g} is reached")


def _require_weighing(f: TriedPartitioner) -> None:
    if "weights" not in f.arguments:
        not_tried("it takes no weights")
    if f.takes is not AttributeUse.SEVERAL:
        not_tried("it takes one attribute")


def _labels(f: TriedPartitioner, X: F64, k: int, weights: F64) -> npt.NDArray[Any]:
    return np.asarray(f(X.copy(), k, weights=weights))


def _lost(Z: F64, labels: npt.NDArray[Any]) -> float:
    """Return the loss of replicated records Z in the groups (7,) before replication."""
    return compute_sse(Z, np.repeat(labels, TIMES))


def _numbers(groups: list[list[int]]) -> npt.NDArray[Any]:
    """Return the group of each of seven records."""
    labels = np.empty(len(TIMES), np.intp)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels


LAWS = (
    equal_weights_change_nothing,
    scale_of_weights_does_not_matter,
    whole_weights_are_replicated_records,
)
