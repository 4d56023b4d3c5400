"""Groups merged until they satisfy any requirements."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Progress
from aggopt.core.record_weights import compute_plain_group_means, group_sse
from aggopt.core.types import F64, I64, Labels
from aggopt.errors import InfeasibleInputError
from aggopt.partition.shared.evidence import Budget
from aggopt.partition.shared.neighbour_bound import prove_promised_loss, read_budget
from aggopt.partition.shared.scaling import scale_with_weights
from aggopt.privacy.distance import compute_starts
from aggopt.privacy.requirement import Requirement, sort_by_group
from aggopt.repair._problem import raise_bound
from aggopt.solvers import Certificate, Status

NEAR = 8
QUICK = Budget()


def merge_until_satisfied(
    X: npt.ArrayLike,
    labels: Labels,
    requirements: Sequence[Requirement],
    *,
    progress: Progress | None = None,
    weights: F64 | None = None,
) -> Labels:
    """Return labels (n,) of groups merged until they satisfy all requirements.

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
    Z, weighing = scale_with_weights(X, "z", weights)
    on_progress = progress or (lambda share: None)
    first = int(labels.max()) + 1
    while (group_count := int(labels.max()) + 1) > 1:
        short = _sum_shortfalls(requirements, *sort_by_group(labels))
        if not short.any():
            break
        on_progress(1 - group_count / first)
        centroids = compute_plain_group_means(Z, labels, weighing.values)
        partners = _choose_partners(centroids, labels, short, requirements)
        if not partners:
            break
        labels = _merge_groups(labels, partners)
    _require_satisfied(labels, requirements)
    on_progress(1.0)
    return labels


def _require_satisfied(labels: Labels, requirements: Sequence[Requirement]) -> None:
    """Raise an InfeasibleInputError if groups break a requirement.

    Requirements that unions inherit from their groups were checked before.
    """
    for requirement in requirements:
        check = requirement.check(labels)
        if not check.holds:
            less = f"require {check.keeps}, which it satisfies, or less"
            raise InfeasibleInputError(
                f"Merging ended with one group, and {check}",
                fix=f"{less if check.keeps else 'relax it'}; other groups may "
                "satisfy more, which merging does not find.",
            )


def certify_groups(
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
    budget: Budget = QUICK,
) -> Certificate:
    """Return the certificate of labels (n,): OPTIMAL if the loss meets its bound.

    objective: the sum of squares within groups, on z-scores. bound: no groups of k that
    satisfy the requirements lose less; the higher one of `prove_promised_loss` and
    `start`, the partition's own bound for all groups of k (or None). violation: 0.0,
    decided exactly. With sampling weights (n,) squares are weighted. The bound of
    closeness may take `left` seconds, and a few more; `budget` is that of the pair
    program.
    """
    scaled, weighing = scale_with_weights(X, "z", weights)
    Z = np.ascontiguousarray(scaled)
    shortfalls = (
        requirement.measure_shortfall(*sort_by_group(labels)).max()
        for requirement in requirements
    )
    certificate = Certificate(
        status,
        group_sse(Z, labels, weighing.values) * weighing.unit,
        None,
        float(max(shortfalls, default=0.0)),
        by,
        seconds,
    )
    promised = prove_promised_loss(
        Z,
        k,
        requirements,
        weights=weighing.values,
        seconds=read_budget(budget.bound, len(Z), k, budget.share),
        loss=certificate.objective / weighing.unit,
        left=left,
    ).require_uninterrupted()
    return raise_bound(certificate, [start, weighing.unit * promised], Z.size)


def _sum_shortfalls(
    requirements: Sequence[Requirement], records: I64, starts: I64
) -> F64:
    """Return by how much each group misses the requirements, in total (groups,)."""
    return np.asarray(
        sum(
            requirement.measure_shortfall(records, starts)
            for requirement in requirements
        )
    )


def _choose_partners(
    centroids: F64, labels: Labels, short: F64, requirements: Sequence[Requirement]
) -> dict[int, int]:
    """Return, for groups that break a requirement, the group to merge each with."""
    near = find_nearest_groups(centroids, np.flatnonzero(short))
    shortfalls = measure_shortfalls(labels, near, requirements)  # inf: never
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for group in sorted(near, key=lambda g: -short[g]):
        free = [
            j
            for j, other in enumerate(near[group].tolist())
            if other not in taken and np.isfinite(shortfalls[group][j])
        ]
        if group in taken or not free:
            continue
        best = min(free, key=lambda j: (shortfalls[group][j], j))
        partner[group] = int(near[group][best])
        taken |= {group, partner[group]}
    return partner


def find_nearest_groups(centroids: F64, groups: I64) -> dict[int, I64]:
    """Return the nearest groups of each of some groups, in order of distance."""
    from scipy.spatial import cKDTree

    wanted = min(NEAR + 1, len(centroids))
    neighbours = cKDTree(centroids).query(centroids[groups], k=wanted)[1]
    rows = zip(groups.tolist(), neighbours, strict=True)
    return {group: row[row != group][:NEAR] for group, row in rows}


def measure_shortfalls(
    labels: Labels, near: dict[int, I64], requirements: Sequence[Requirement]
) -> dict[int, F64]:
    """Return how far the union of each group with each near one fails requirements."""
    records, starts = sort_by_group(labels)

    def get_members(group: int) -> I64:
        return records[starts[group] : starts[group + 1]]

    pairs = [(g, int(other)) for g, row in near.items() for other in row]
    unions = [
        np.concatenate([get_members(g), get_members(other)]) for g, other in pairs
    ]
    union_records = np.concatenate(unions)
    union_starts = compute_starts(list(map(len, unions)))
    shortfalls = _sum_shortfalls(requirements, union_records, union_starts)
    for requirement in requirements:
        if requirement.lasting:
            shortfalls[requirement.find_broken(union_records, union_starts)] = np.inf
    ends = np.cumsum([len(row) for row in near.values()])[:-1]
    return dict(zip(near, np.split(shortfalls, ends), strict=True))


def _merge_groups(labels: Labels, partner: dict[int, int]) -> Labels:
    """Return labels (n,) with groups merged with their partners, without gaps."""
    name = np.arange(int(labels.max()) + 1)
    for group, other in partner.items():
        name[group] = other
    return np.unique(name[labels], return_inverse=True)[1].astype(np.intp)
