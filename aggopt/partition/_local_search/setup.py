"""Initial groups of a local search, and its initial state."""

import numpy as np
import numpy.typing as npt

from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels, check_groups, renumber_groups
from aggopt.errors import JobError
from aggopt.partition._closeness_first import (
    compute_stratum_count,
    fit_count,
    partition_by_strata,
)
from aggopt.partition._diverse_vmdav import diverse_vmdav
from aggopt.partition._local_search.state import (
    GROWTH,
    LANES,
    TRAIL,
    Groups,
    Space,
    Trail,
    Weights,
)
from aggopt.partition.constraints import Constraints, Promise
from aggopt.partition.registry import (
    PartitionFunction,
    list_initial_methods,
    resolve_function,
)
from aggopt.partition.shared.scaling import scale_to_unit

EVEN = 1 - 1e-9  # share of 1 / k of a group's weight, less rounding


def create_space(
    Z: Floats,
    near: Labels,
    k: int,
    promise: Promise | None,
    weights: Weights | None = None,
) -> Space:
    """Return records Z (n, d), neighbours and constraints as the kernels' input."""
    n, d = Z.shape
    filled = np.zeros((n, -(-d // LANES) * LANES))
    filled[:, :d], _ = scale_to_unit(Z)
    return Space(filled, np.ascontiguousarray(near, np.intp), k, promise, weights)


def create_weights(
    weights: Floats | None, n: int, k: int, share: float | None = None
) -> Weights | None:
    """Return weights (n,) as the kernels' input; None if they have no effect.

    No record may have more than `share` of its group's weight. If all weights are equal
    (None), groups of k satisfy a share of 1 / k or more.
    """
    if weights is None and (share is None or share * k >= EVEN):
        return None
    values = np.ones(n) if weights is None else weights
    return Weights(values, np.zeros(n // k + 1), 1.0 if share is None else float(share))


def has_large_groups(promise: Promise | None, weights: Weights | None) -> bool:
    """Whether constraints may lead to groups of 2k records or more."""
    return promise is not None or (weights is not None and weights.share < 1)


def create_groups(space: Space, labels: Labels) -> Groups:
    """Return the groups of labels (n,) as the kernels' state, with spare capacity."""
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
    ids[at] = order
    where[order] = at
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
    """Return how many records the arrays of each group can hold, (groups,).

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
    """Return an empty record of changes, with a random state from `seed`."""
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
        examined=np.zeros(m, np.int64),
        random_state=np.random.default_rng(seed).integers(
            2**63, size=1, dtype=np.uint64
        ),
        counts=np.array([0, 0, 1, 0, 0, len(empty), 0, 0], np.int64),
    )


STRATA = 1.5  # times as many as t needs: best overall


def make_initial_groups(
    records: Floats,
    k: int,
    initial: str | PartitionFunction | None,
    labels: npt.ArrayLike | None,
    constraints: Constraints | None,
) -> Labels:
    """Return initial labels (n,) that satisfy k and the constraints.

    Groups of the chosen method, or of the one that suits the constraints, are merged
    until they do; labels passed by the user are not changed.

    Raises
    ------
    JobError
        An unknown method (UnknownNameError); invalid labels, or labels that break k or
        the constraints.
    """
    if initial is not None:
        _require_method(initial)
        resolve_function(initial, "initial method", list_initial_methods())
    if labels is not None:
        if initial is not None:
            raise JobError(
                f"initial = {initial!r} and initial_labels are both set.",
                fix="leave one of the two out.",
            )
        return read_initial_labels(labels, len(records), k, constraints)
    if constraints is None:
        return _partition_by_method(records, k, initial or "mdav")
    if initial is None:
        groups_made = _make_feasible_groups(records, k, constraints)
    else:
        groups_made = _partition_by_method(records, k, initial)
    return renumber_groups(constraints.merge_until_feasible(records, groups_made))


def _require_method(initial: object) -> None:
    """Raise a JobError unless `initial` is a method's name or a function."""
    if not (isinstance(initial, str) or callable(initial)):
        raise JobError(
            f"initial is of type {type(initial).__name__}, not the name of a method.",
            fix='pass groups as initial_labels; initial takes a name: initial="mdav".',
        )


def _partition_by_method(
    records: Floats, k: int, choice: str | PartitionFunction
) -> Labels:
    """Return labels (n,) of groups that a partition method makes."""
    method = resolve_function(choice, "initial method", list_initial_methods())
    return renumber_groups(check_groups(method(records, k, scale="none"), len(records)))


def _make_feasible_groups(records: Floats, k: int, constraints: Constraints) -> Labels:
    """Return labels (n,) of groups made for t, or for l if t is not set."""
    close = constraints.closeness
    diverse = constraints.diversity
    if close is None and diverse is not None:
        return diverse_vmdav(
            records,
            diverse.codes,
            diverse.required_l,
            k=k,
            levels="values",
            diversity=diverse.kind,
            scale="none",
        ).labels
    if close is None or close.attributes[0].m == 1:
        return _partition_by_method(records, k, "mdav")
    n = len(records)
    ordered = close.attributes[0]
    strata = compute_stratum_count(n, k, close.t)
    size = fit_count(n, min(n, round(STRATA * strata)))
    return partition_by_strata(records, ordered.place, size)


def read_initial_labels(
    raw_labels: npt.ArrayLike, n: int, k: int, constraints: Constraints | None
) -> Labels:
    """Return the user's labels (n,); raise unless they satisfy k and constraints.

    Raises
    ------
    JobError
        They are not labels of n records, or break k or the constraints.
    """
    labels = check_groups(raw_labels, n)
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise JobError(
            f"initial_labels have a group of {smallest}; k = {k}.",
            fix=f"pass groups of {k} records or more, or a smaller k.",
        )
    broken = 0 if constraints is None else int(constraints.find_broken(labels).sum())
    if constraints is not None and broken:
        raise JobError(
            f"initial_labels do not keep {constraints.name}: {broken} of "
            f"{labels.max() + 1} groups break it.",
            fix="leave initial_labels out, or pass groups that keep it, as "
            "aggopt.repair.closeness makes for t and diverse_vmdav for l.",
        )
    return renumber_groups(labels)
