"""Duration of a search, and its sequence of steps."""

from importlib import import_module
from math import inf
from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline, require_time_limit
from aggopt.core.deferred_signals import finish_despite_interrupt
from aggopt.core.validation import Floats, Labels, renumber_groups, require_seed
from aggopt.errors import JobError, PrivacyError, require_known
from aggopt.partition._local_search.search import COOLED, PERTURBATIONS, Search
from aggopt.partition._local_search.setup import has_large_groups
from aggopt.partition._local_search.state import Weights
from aggopt.partition.constraints.constraints import Constraints
from aggopt.partition.constraints.state import NEAR as NEAR_KEPT
from aggopt.partition.constraints.state import Promise
from aggopt.partition.neighbours.neighbours import find_neighbours
from aggopt.partition.shared.split_large import split_large
from aggopt.partition.shared.sse import compute_sse
from aggopt.solvers import Status

EFFORTS = {"fast": 1, "default": 10, "best": 100}  # perturbations for each record
NEAR = 12  # nearest records whose groups a record may join
ANNEALED = 8  # smallest k for which annealing pays
PROPOSALS = 3000  # of annealing, for each record
SHARE = 0.4  # of the time, at most, for annealing
# Constraints exclude most changes, and then annealing is the best search:
KEPT_PERTURBATIONS = 0.1  # times as many
LEAST_PERTURBATIONS = 1000  # in total, however few records
KEPT_PROPOSALS = 300  # of annealing, for each record and each perturbation of EFFORTS
KEPT_SHARE = 0.8


class Effort(NamedTuple):
    """Time limit, or else the name of an effort; and the seed of random choices."""

    time_limit: float | None
    effort: str
    seed: int

    def require(self) -> None:
        """Refuse invalid values."""
        require_known("effort", self.effort, EFFORTS)
        require_seed(self.seed)
        require_time_limit(self.time_limit)
        if self.time_limit is not None and self.effort != "default":
            raise JobError(
                f"effort = {self.effort!r} and time_limit are both set, but only one "
                "of them ends the search.",
                fix="leave one of the two out.",
            )

    @property
    def perturbations(self) -> float:
        """Number of perturbations for each record; inf if time decides."""
        return EFFORTS[self.effort] if self.time_limit is None else inf


def search_groups(
    records: Floats,
    k: int,
    initial_labels: Labels,
    effort: Effort,
    promise: Constraints | None,
    reporting: Deadline,
    weights: Weights | None = None,
) -> tuple[Labels, Status]:
    """Return groups of k or more (n,) that satisfy the constraints, and the status.

    They lose no more than the first groups, which satisfy them, too.
    """
    if len(records) < 2 * k:
        return np.zeros_like(initial_labels), Status.LOCAL
    if promise is None:
        if k == 1:
            return np.arange(len(records)), Status.LOCAL
        return run_search(records, k, initial_labels, effort, None, reporting, weights)
    state = promise.kept
    labels, status = run_search(
        records, k, initial_labels, effort, state, reporting, weights
    )
    if promise.broken(labels).any():
        raise PrivacyError(
            f"The groups of the search do not satisfy {promise.name}.",
            fix="choose another method, and report this.",
        )
    return labels, status


def run_search(
    records: Floats,
    k: int,
    initial_labels: Labels,
    effort: Effort,
    promise: Promise | None,
    reporting: Deadline,
    weights: Weights | None = None,
) -> tuple[Labels, Status]:
    """Return the best labels found (n,), or the first ones, even after Ctrl-C."""
    is_constrained = promise is not None
    search = None
    status = Status.INTERRUPTED
    try:
        _load_kernels()
        clock = Deadline(effort.time_limit, reporting.progress)
        if clock.over:
            return initial_labels, Status.LIMIT
        near = find_neighbours(records, NEAR_KEPT if is_constrained else NEAR, clock)
        start_labels = initial_labels
        if not has_large_groups(promise, weights):
            start_labels = split_large(records, renumber_groups(initial_labels), k)
        search = Search(records, start_labels, k, near, effort.seed, promise, weights)
        status = (_run_constrained if is_constrained else _run_unconstrained)(
            search, k, effort, clock
        )
    except KeyboardInterrupt:
        pass
    better, stopped = finish_despite_interrupt(
        lambda: _select_better(records, initial_labels, search, weights)
    )
    if stopped:
        status = Status.INTERRUPTED
    if better is not None:
        return better, status
    return initial_labels, status if status is not Status.LOCAL else Status.KEPT


def _load_kernels() -> None:
    """Import modules that compile before the clock starts."""
    import_module("aggopt.partition._local_search.iterated_kernels")


def _select_better(
    records: Floats,
    initial_labels: Labels,
    search: Search | None,
    weights: Weights | None,
) -> Labels | None:
    """Return the labels of the search if they lose less than the first ones."""
    if search is None:
        return None
    labels = search.labels
    own_weights = None if weights is None else weights.values
    is_better = compute_sse(records, labels, own_weights) < compute_sse(
        records, initial_labels, own_weights
    )
    return labels if is_better else None


def _run_unconstrained(
    search: Search, k: int, effort: Effort, clock: Deadline
) -> Status:
    """Anneal if k is large, descend and perturb; return the status."""
    order = np.arange(len(search.labels))
    if k >= ANNEALED:
        share = None if effort.time_limit is None else clock.left * SHARE
        search.anneal(PROPOSALS, Deadline(share))
    search.descend(order, clock)
    search.perturb(
        order, effort.perturbations, clock, PERTURBATIONS if k < ANNEALED else COOLED
    )
    return Status.LIMIT if clock.over else Status.LOCAL


def _run_constrained(search: Search, k: int, effort: Effort, clock: Deadline) -> Status:
    """Descend, anneal, descend and perturb under constraints; return the status."""
    order = np.arange(len(search.labels))
    proposals = (
        KEPT_PROPOSALS * EFFORTS[effort.effort if effort.time_limit is None else "best"]
    )
    share = None if effort.time_limit is None else clock.left * KEPT_SHARE
    search.descend(order, clock)
    search.anneal(proposals, Deadline(share))
    search.descend(order, clock)
    search.perturb(
        order,
        max(
            effort.perturbations * KEPT_PERTURBATIONS, LEAST_PERTURBATIONS / len(order)
        ),
        clock,
    )
    return Status.LIMIT if clock.over else Status.LOCAL
