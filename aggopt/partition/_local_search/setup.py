"""Initial state of a local search, from records and labels."""

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels
from aggopt.partition._local_search.state import (
    GROWTH,
    LANES,
    TRAIL,
    Groups,
    Space,
    Trail,
    Weights,
)
from aggopt.partition.constraints.state import Promise
from aggopt.partition.shared.scaling import scale_to_unit

EVEN = 1 - 1e-9  # share of 1 / k of a group's weight, less rounding


def create_space(
    Z: Floats,
    near: Labels,
    k: int,
    promise: Promise | None,
    weights: Weights | None = None,
) -> Space:
    """Return records Z (n, d) in the form that kernels read."""
    n, d = Z.shape
    filled = np.zeros((n, -(-d // LANES) * LANES))
    filled[:, :d], _ = scale_to_unit(Z)
    return Space(filled, np.ascontiguousarray(near, np.intp), k, promise, weights)


def create_weights(
    weights: Floats | None, n: int, k: int, share: float | None = None
) -> Weights | None:
    """Return the weights of n records for the kernels; None if they have no effect.

    No record may have more than `share` of its group's weight. If all weights are equal
    (None), groups of k satisfy a share of 1 / k or more.
    """
    if weights is None and (share is None or share * k >= EVEN):
        return None
    values = np.ones(n) if weights is None else weights
    return Weights(values, np.zeros(n // k + 1), 1.0 if share is None else float(share))


def has_large_groups(promise: Promise | None, weights: Weights | None) -> bool:
    """Whether constraints may require groups of 2k records or more."""
    return promise is not None or (weights is not None and weights.share < 1)


def create_groups(space: Space, labels: Labels) -> Groups:
    """Return labels (n,) in the form that kernels change, with space for others."""
    n = len(labels)
    capacities = _compute_capacities(np.bincount(labels), space)
    m = len(capacities)
    size = np.bincount(labels, minlength=m).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(capacities + 1)))
    order = np.argsort(labels, kind="stable")
    sorted_labels = labels[order]
    at = start[sorted_labels] + np.arange(n) - (np.cumsum(size) - size)[sorted_labels]
    ids = np.zeros(start[-1], np.int64)
    where = np.empty(n, np.int64)
    ids[at], where[order] = order, at
    state = Groups(
        labels.astype(np.intp),
        ids,
        where,
        start,
        size,
        np.zeros((m, space.Z.shape[1])),
        np.zeros(n),
        np.zeros(m),
    )
    from aggopt.partition._local_search import move_kernels as kernels

    kernels.recompute_all(space, state)
    return state


def _compute_capacities(sizes: Labels, space: Space) -> I64:
    """Return the capacity of each group, including empty ones.

    2k - 1, as larger groups lose no less than two; under constraints on values or on
    shares of the weight, more than twice the present size.
    """
    m = len(space.Z) // space.k + 1
    usual_capacity = 2 * space.k - 1
    if not has_large_groups(space.promise, space.weights):
        return np.full(m, usual_capacity, np.int64)
    spare = min(m - len(sizes), len(sizes) // 4 + GROWTH)
    usual = np.full(spare, int(np.median(sizes)), np.intp)
    capacities = 2 * np.concatenate((sizes, usual)) + GROWTH
    return np.maximum(capacities, usual_capacity).astype(np.int64)


def create_trail(groups: Groups, seed: int) -> Trail:
    """Return an empty trail; `seed` is that of all random choices."""
    n = len(groups.label)
    m = len(groups.size)
    capacity = max(TRAIL, 8 * int(groups.size.max()))
    empty = np.flatnonzero(groups.size == 0)
    spare = np.zeros(m, np.int64)
    spare[: len(empty)] = empty
    return Trail(
        moved=np.zeros(capacity, np.int64),
        origin=np.zeros(capacity, np.int64),
        touched=np.zeros(m, np.int64),
        before=np.zeros(m),
        mark=np.zeros(m, np.int64),
        queue=np.arange(n, dtype=np.int64),
        queued=np.zeros(n, np.bool_),
        spare=spare,
        seen=np.zeros(m, np.int64),
        random_state=np.random.default_rng(seed).integers(
            2**63, size=1, dtype=np.uint64
        ),
        counts=np.array([0, 0, 1, 0, 0, len(empty), 0, 0], np.int64),
    )
