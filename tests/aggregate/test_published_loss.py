"""What published categories lose, against all groups and all categories."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from encoding.mixed import TYPES, all_distances, table
from partition.exact import partitions
from refusals import refused

import aggopt
from aggopt.aggregate import medoids, plurality, published_loss
from aggopt.errors import InfeasibleInputError, JobError

N = 8
NAMES = ["sex", "school", "illness", "place"]
KS = 2, 3, 5  # many partitions, few, and one
EVERY = {k: list(partitions(list(range(N)), k)) for k in KS}


def encoded(seed: int, names: list[str], **how: Any) -> Any:
    frame = table(N, seed)[names]
    types = {name: said for name, said in TYPES.items() if name in names}
    return frame, aggopt.encode(frame, types, **how)


def least(frame: Any, E: Any, k: int) -> float:
    """Return the least loss of all groups of k or more, and all levels they publish."""
    apart = [each.weight * all_distances(frame, each.name) for each in E.attributes]

    @cache
    def lost(group: tuple[int, ...]) -> float:
        return sum(d[list(group)].sum(axis=0).min() for d in apart)

    return min(sum(lost(tuple(group)) for group in groups) for groups in EVERY[k])


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("weights", ["variance", "range"])
@pytest.mark.parametrize("names", [NAMES, NAMES[:3], ["place", "sex"]])
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]
)
def test_no_groups_that_publish_any_levels_lose_less(seed, names, weights, k) -> None:
    frame, E = encoded(seed, names, weights=weights)
    groups = aggopt.partition.mdav(E, k)
    found = published_loss(E, [plurality(a, groups) for a in E.attributes], k)
    best = least(frame, E, k)
    assert found.bound <= best * (1 + 1e-9)
    assert found.objective >= best * (1 - 1e-9)
    free = aggopt.partition.loss_bound(E, k)
    assert free <= found.bound * (1 + 1e-9) or found.bound == found.objective
    if "place" not in names:  # all distances are metric
        s = k if 2 * k <= N else N
        assert found.bound == pytest.approx(min(free * s / (s - 1), found.objective))


def test_pairs_of_records_are_the_case_in_which_it_is_tight() -> None:
    frame = table(N, 0)[["sex", "illness"]].iloc[[0, 0, 1, 1, 2, 2]].reset_index()
    E = aggopt.encode(frame[["sex", "illness"]])
    groups = [0, 0, 1, 1, 2, 2]
    found = published_loss(E, [plurality(a, groups) for a in E.attributes], 2)
    assert (found.objective, found.bound) == (0.0, 0.0)
    assert found.status.value == "optimal"


def test_of_nodes_and_of_what_goes_together_the_loss_is_counted_too() -> None:
    frame, E = encoded(1, ["sex", "illness"])
    groups = np.arange(N) // 4
    made = medoids(E, groups)
    away = [
        each.weight * all_distances(frame, each.name).max() for each in E.attributes
    ]
    proof = published_loss(E, made, 4)
    assert 0 < proof.objective <= N * sum(away)
    (alone,) = (encoded(1, ["illness"])[1],)
    node = plurality(alone.attribute("illness"), groups, publish="node")
    weight = alone.attributes[0].weight
    loss = published_loss(alone, [node], 4).objective
    assert loss == pytest.approx(weight * node.certificate.objective)


def test_groups_of_one_lose_nothing() -> None:
    _, E = encoded(0, NAMES)
    made = [plurality(a, np.arange(N)) for a in E.attributes]
    assert published_loss(E, made, 1).bound == 0


def test_what_does_not_go_together_is_refused() -> None:
    _, E = encoded(0, NAMES)
    made = [plurality(a, np.arange(N) // 4) for a in E.attributes]
    with refused(JobError):
        published_loss(E, made[:3], 4)
    with pytest.raises(InfeasibleInputError):
        published_loss(E, made, 9)
    mixed = aggopt.encode(table(N, 0)[["age", "sex"]])
    with refused(JobError, "'age'"):
        published_loss(mixed, made[:2], 4)
