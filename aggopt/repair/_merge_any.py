"""Groups merged until they keep any promise: l or t, of any distance."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.progress import Progress
from aggopt.core.standardise import Scale
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels
from aggopt.partition._loss_bound import least_loss
from aggopt.privacy._distance import starts_of
from aggopt.privacy._ordered import Ordered
from aggopt.privacy._promise import Promise
from aggopt.repair._bound import close_loss, highest
from aggopt.repair._task import Task, group_sse, group_sums
from aggopt.solvers import Certificate, Status

NEAR = 8


def merge_any(
    X: Floats,
    labels: Labels,
    promises: Sequence[Promise],
    *,
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,): the groups, some of them merged, that keep all promises.

    In rounds: each group that breaks a promise, those that fall shortest first, is
    merged with one of the `NEAR` groups whose centroids are nearest and that were not
    merged in this round: the nearest with which it keeps all promises, or, if there is
    none, the one with which it falls shortest least.  Ends at the latest with one
    group, so that what all records together do not keep must be refused before.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers; distances are of their z-scores.

    Time O(n NEAR) a round, and about log2 of the groups rounds.
    """
    Z = Scale.of(X).standardise(X)
    told = progress or (lambda share: None)
    first = int(labels.max()) + 1
    while (found := int(labels.max()) + 1) > 1:
        short = _short(promises, *_members(labels))
        if not short.any():
            break
        told(1 - found / first)
        labels = _joined(labels, _partners(Z, labels, short, promises))
    told(1.0)
    return labels


def certified(
    X: Floats,
    labels: Labels,
    promises: Sequence[Promise],
    seconds: float,
    k: int,
    start: float | None = None,
) -> Certificate:
    """Return what is proven of merged groups: HEURISTIC, unless the bound is met.

    objective: the sum of squares within groups, on z-scores.  bound: the highest of
    what any groups of k lose, of what any lose that are as close as promised of one
    attribute by the ordered distance, and of `start`, what a partition has proven of
    all groups of k (None if nothing).  violation: 0.0, decided exactly.
    """
    Z = np.ascontiguousarray(Scale.of(X).standardise(X))
    close = [
        Task(Z, promise.distance, k, float(promise.t))
        for promise in promises
        if isinstance(promise.distance, Ordered) and promise.t is not None
    ]
    broken = max(promise.short(*_members(labels)).max() for promise in promises)
    certificate = Certificate(
        Status.HEURISTIC,
        group_sse(Z, labels),
        None,
        float(broken),
        "merging",
        seconds,
    )
    bounds = [start, least_loss(Z, k), *map(close_loss, close)]
    return highest(certificate, bounds, Z.size)


def _members(labels: Labels) -> tuple[I64, I64]:
    """Return the records group by group, and where each group starts."""
    return np.argsort(labels, kind="stable"), starts_of(np.bincount(labels))


def _short(promises: Sequence[Promise], records: I64, starts: I64) -> Floats:
    """Return how far each group is from keeping all promises, (groups,)."""
    return np.asarray(sum(promise.short(records, starts) for promise in promises))


def _partners(
    Z: Floats, labels: Labels, short: Floats, promises: Sequence[Promise]
) -> dict[int, int]:
    """Return with which group each group that breaks a promise is merged."""
    near = _nearest(Z, labels, np.flatnonzero(short))
    left = _left_short(labels, near, promises)
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for group in sorted(near, key=lambda g: -short[g]):
        free = [j for j, other in enumerate(near[group]) if int(other) not in taken]
        if group in taken or not free:
            continue
        best = min(free, key=lambda j: (left[group][j], j))
        partner[group] = int(near[group][best])
        taken |= {group, partner[group]}
    return partner


def _nearest(Z: Floats, labels: Labels, of: I64) -> dict[int, I64]:
    """Return the groups nearest to each of some, nearest first."""
    from scipy.spatial import cKDTree

    sizes = np.bincount(labels)
    centroids = group_sums(Z, labels) / sizes[:, None]
    wanted = min(NEAR + 1, len(sizes))
    found = cKDTree(centroids).query(centroids[of], k=wanted)[1]
    rows = zip(of.tolist(), found, strict=True)
    return {group: row[row != group][:NEAR] for group, row in rows}


def _left_short(
    labels: Labels, near: dict[int, I64], promises: Sequence[Promise]
) -> dict[int, Floats]:
    """Return how short each group would fall, merged with each of those near it."""
    records, starts = _members(labels)

    def members(group: int) -> I64:
        return records[starts[group] : starts[group + 1]]

    pairs = [(g, int(other)) for g, row in near.items() for other in row]
    unions = [np.concatenate([members(g), members(other)]) for g, other in pairs]
    found = _short(promises, np.concatenate(unions), starts_of(list(map(len, unions))))
    ends = np.cumsum([len(row) for row in near.values()])[:-1]
    return dict(zip(near, np.split(found, ends), strict=True))


def _joined(labels: Labels, partner: dict[int, int]) -> Labels:
    """Return labels with groups merged, numbered without a gap."""
    name = np.arange(int(labels.max()) + 1)
    for group, other in partner.items():
        name[group] = other
    return np.unique(name[labels], return_inverse=True)[1].astype(np.intp)
