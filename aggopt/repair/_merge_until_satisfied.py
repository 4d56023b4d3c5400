"""Groups merged until they satisfy any requirements."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aggopt.core.group_sums import group_sse, plain_group_means
from aggopt.core.progress import Progress
from aggopt.core.types import F64, I64, Labels
from aggopt.errors import InfeasibleInputError
from aggopt.partition._loss_bound import compute_loss_bound
from aggopt.partition._shared.scaling import scale_with_weights
from aggopt.privacy._distance import starts_of
from aggopt.privacy._models.t_closeness import Closeness
from aggopt.privacy._ordered import Ordered
from aggopt.privacy._requirement import Requirement, members
from aggopt.repair._bound import close_loss, highest
from aggopt.repair._problem import Problem
from aggopt.solvers import Certificate, Status

NEAR = 8


def merge_until_satisfied(
    X: npt.ArrayLike,
    labels: Labels,
    requirements: Sequence[Requirement],
    *,
    progress: Progress | None = None,
    weights: F64 | None = None,
) -> Labels:
    """Return labels (n,) that satisfy all requirements, by merging groups.

    In each round, every group that breaks a requirement is merged with another one,
    beginning with the largest shortfall.  The partner is one of the `NEAR` groups whose
    centroids are nearest and that were not merged in this round: the nearest with which
    it satisfies all, or else the one with the smallest shortfall.  A partner is
    excluded if the union breaks a requirement that further merging cannot restore.  The
    rounds end at the latest with one group.

    Raises
    ------
    InfeasibleInputError
        The last group does not satisfy all requirements.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers; distances are between z-scores, or encoded coordinates.
    weights : (n,)
        Sampling weights: z-scores and centroids are weighted.

    Time O(n NEAR) a round, and about log2 of the groups rounds.
    """
    Z, known = scale_with_weights(X, "z", weights)
    on_progress = progress or (lambda share: None)
    first = int(labels.max()) + 1
    while (found := int(labels.max()) + 1) > 1:
        short = _short(requirements, *members(labels))
        if not short.any():
            break
        on_progress(1 - found / first)
        centroids = plain_group_means(Z, labels, known.of)
        partners = _partners(centroids, labels, short, requirements)
        if not partners:
            break
        labels = _joined(labels, partners)
    _require_satisfied(labels, requirements)
    on_progress(1.0)
    return labels


def _require_satisfied(labels: Labels, requirements: Sequence[Requirement]) -> None:
    """Refuse one group of all records that breaks a requirement others may satisfy.

    Requirements that unions inherit from their groups were checked before.
    """
    for requirement in requirements:
        found = requirement.check(labels)
        if not found.holds:
            less = f"require {found.keeps}, which it satisfies, or less"
            raise InfeasibleInputError(
                f"Merging ended with one group, and {found}",
                fix=f"{less if found.keeps else 'relax it'}; other groups may "
                "satisfy more, which merging does not find.",
            )


def certified(
    X: npt.ArrayLike,
    labels: Labels,
    requirements: Sequence[Requirement],
    seconds: float,
    k: int,
    start: float | None = None,
    *,
    status: Status = Status.HEURISTIC,
    by: str = "merging",
    weights: F64 | None = None,
    left: float = np.inf,
) -> Certificate:
    """Return the certificate of groups: `status`, unless the bound is met.

    objective: the sum of squares within groups, on z-scores. bound: the highest of the
    bound for any groups of k, the bound for t-close groups if t is required of one
    attribute by the ordered distance, and `start`, the partition's own bound for all
    groups of k (or None). violation: 0.0, decided exactly. With sampling weights (n,)
    squares are weighted, and closeness gives no bound. The bound of closeness may take
    `left` seconds, and a few more.
    """
    own, known = scale_with_weights(X, "z", weights)
    Z = np.ascontiguousarray(own)
    close = (
        []
        if known.of is not None
        else [
            Problem(Z, each.distance, k, float(each.t))
            for each in requirements
            if isinstance(each, Closeness) and isinstance(each.distance, Ordered)
        ]
    )
    broken = max(each.short(*members(labels)).max() for each in requirements)
    certificate = Certificate(
        status,
        group_sse(Z, labels, known.of) * known.unit,
        None,
        float(broken),
        by,
        seconds,
    )
    free = compute_loss_bound(Z, k, weights=weights)
    bounds = [start, free, *(known.unit * close_loss(each, left) for each in close)]
    return highest(certificate, bounds, Z.size)


def _short(requirements: Sequence[Requirement], records: I64, starts: I64) -> F64:
    """Return the shortfall of each group over all requirements, (groups,)."""
    return np.asarray(sum(each.short(records, starts) for each in requirements))


def _partners(
    centroids: F64, labels: Labels, short: F64, requirements: Sequence[Requirement]
) -> dict[int, int]:
    """Return the partner of each group that breaks a requirement."""
    near = _nearest(centroids, np.flatnonzero(short))
    left = _left_short(labels, near, requirements)  # inf: never
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for group in sorted(near, key=lambda g: -short[g]):
        free = [
            j
            for j, other in enumerate(near[group].tolist())
            if other not in taken and np.isfinite(left[group][j])
        ]
        if group in taken or not free:
            continue
        best = min(free, key=lambda j: (left[group][j], j))
        partner[group] = int(near[group][best])
        taken |= {group, partner[group]}
    return partner


def _nearest(centroids: F64, of: I64) -> dict[int, I64]:
    """Return the nearest groups of some groups, nearest first."""
    from scipy.spatial import cKDTree

    wanted = min(NEAR + 1, len(centroids))
    found = cKDTree(centroids).query(centroids[of], k=wanted)[1]
    rows = zip(of.tolist(), found, strict=True)
    return {group: row[row != group][:NEAR] for group, row in rows}


def _left_short(
    labels: Labels, near: dict[int, I64], requirements: Sequence[Requirement]
) -> dict[int, F64]:
    """Return the shortfall of each group after merging with each near group."""
    records, starts = members(labels)

    def own(group: int) -> I64:
        return records[starts[group] : starts[group + 1]]

    pairs = [(g, int(other)) for g, row in near.items() for other in row]
    unions = [np.concatenate([own(g), own(other)]) for g, other in pairs]
    united = np.concatenate(unions), starts_of(list(map(len, unions)))
    found = _short(requirements, *united)
    for each in requirements:
        if each.lasting:
            found[each.broken(*united)] = np.inf
    ends = np.cumsum([len(row) for row in near.values()])[:-1]
    return dict(zip(near, np.split(found, ends), strict=True))


def _joined(labels: Labels, partner: dict[int, int]) -> Labels:
    """Return labels with groups merged, numbered without gaps."""
    name = np.arange(int(labels.max()) + 1)
    for group, other in partner.items():
        name[group] = other
    return np.unique(name[labels], return_inverse=True)[1].astype(np.intp)
