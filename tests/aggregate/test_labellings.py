"""Labels of its own for each attribute: as if each were aggregated alone."""

from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from conftest import require_solver
from encoding.mixed import TYPES, all_distances, table
from partition.exact import partitions
from refusals import refused

import aggopt
from aggopt.aggregate import (
    mean,
    median,
    medoids,
    p3m,
    p3m_onesided,
    plurality,
    published_loss,
    satisfaction,
)
from aggopt.core.validation import check_labellings
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.partition import in_blocks

rng = np.random.default_rng(6)
X = rng.gamma(2.0, size=(36, 4)) * [1, 1e-9, 1e9, 1] + [0, 0, 1e9, 5]
X[:, 3] = 7.25
LABELS = np.column_stack(
    [np.arange(36) // 3, np.arange(36) // 12, rng.permutation(36) // 4, [0] * 36]
)
LABELS[:, 3] = np.arange(36) % 2
DELTA = rng.uniform(0, 0.5, X.shape)
AGGREGATIONS = {
    "mean": mean,
    "renormalised": partial(mean, keep="variance"),
    "median": median,
    "p3m": partial(p3m, delta=0.3),
    "p3m_onesided": partial(p3m_onesided, delta=0.3),
    "satisfaction": partial(satisfaction, delta=0.3),
    "uno": partial(p3m, delta=0.3, solver="uno"),
    "random": partial(p3m, solver="uno", starts=1, seed=3),
    "ipopt": partial(p3m, delta=0.3, solver="ipopt"),
}


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_equals_to_the_bit_what_each_attribute_gets_alone(name):
    if name == "ipopt":
        require_solver("ipopt")
    combine = AGGREGATIONS[name]
    masked = combine(X, LABELS)
    for j in range(4):
        alone = combine(X[:, [j]], LABELS[:, j])
        count = LABELS[:, j].max() + 1
        assert (masked.centroids[:count, j] == alone.centroids[:, 0]).all()
        assert np.isnan(masked.centroids[count:, j]).all()
        assert (masked.values[:, j] == alone.values[:, 0]).all()
        both = masked.certificates[j], alone.certificates[0]
        one, other = ({**c.to_dict(), "seconds": 0} for c in both)
        assert one == other


@pytest.mark.parametrize("name", ["p3m", "satisfaction"])
@pytest.mark.parametrize("relative", [False, True])
def test_wishes_of_each_value_are_heard(name, relative):
    combine = {"p3m": p3m, "satisfaction": satisfaction}[name]

    def asked(columns):
        delta = DELTA[:, columns]
        return {"relative": delta} if relative else delta

    masked = combine(X, LABELS, delta=asked([0, 1, 2, 3]), importance=0.5)
    for j in range(4):
        alone = combine(X[:, [j]], LABELS[:, j], delta=asked([j]), importance=0.5)
        assert (masked.values[:, j] == alone.values[:, 0]).all()


@pytest.mark.parametrize("name", ["mean", "renormalised", "median", "p3m"])
def test_one_labelling_in_every_column_is_one_labelling(name):
    combine = AGGREGATIONS[name]
    one, each = combine(X, LABELS[:, 0]), combine(X, LABELS[:, [0, 0, 0, 0]])
    assert one.labels.shape == (36,)
    assert each.labels.shape == (36, 4)
    assert each.values == pytest.approx(one.values, rel=1e-6)
    assert (one.values == one.centroids[one.labels]).all()


def test_values_of_a_block_stand_together_in_k_records():
    labels = in_blocks(X, 5, [[0, 2], [1], [3]])
    values = mean(X, labels).values
    for block in ([0, 2], [1], [3]):
        _, counts = np.unique(values[:, block], axis=0, return_counts=True)
        assert counts.min() >= 5


def test_progress_reaches_one():
    told = []
    p3m(X, LABELS, progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_centroids_of_one_run_are_a_start_of_the_next():
    first = p3m(X, LABELS, delta=0.2, solver="uno")
    again = p3m(X, LABELS, delta=0.2, solver="uno", start=first.centroids)
    assert again.values == pytest.approx(first.values, rel=1e-5)


def holed(row, column, value):
    start = mean(X, LABELS).centroids
    start[row, column] = value
    return start


@pytest.mark.parametrize(
    "start",
    [
        holed(0, 0, np.nan),  # a group without a centroid
        holed(11, 1, 0.0),  # a centroid without a group
        holed(0, 0, np.inf),
        np.ones((3, 4)),
        np.ones((12, 4)),
    ],
)
def test_a_start_is_nan_exactly_where_an_attribute_has_no_group(start):
    with refused(JobError, "12"):
        p3m(X, LABELS, solver="uno", start=start)


@pytest.mark.parametrize("combine", [mean, median, p3m])
@pytest.mark.parametrize(
    "labels",
    [
        LABELS[:, :3],
        LABELS.T,
        LABELS[:, 0].astype(float),
        LABELS.astype(float),
        np.where([0, 0, 1, 0], LABELS * 2, LABELS),
        LABELS - [0, 1, 0, 0],
        LABELS[:, :, None],
    ],
)
def test_unusable_labels_are_refused(combine, labels):
    with refused(JobError):
        combine(X, labels)


@pytest.mark.parametrize("combine", [AGGREGATIONS["renormalised"], p3m])
def test_an_attribute_that_cannot_keep_its_variance_is_named(combine):
    one_group = LABELS.copy()
    one_group[:, 2] = 0
    with refused(InfeasibleInputError, "Column 2:"):
        combine(X, one_group)


def test_labels_are_copied_and_checked():
    assert check_labellings(LABELS, 36, 4).dtype == np.intp
    assert check_labellings([0, 1, 1], 3, 5).shape == (3,)
    assert check_labellings([[0], [1]], 2, 1).shape == (2, 1)


# --- what published categories lose, against all groups and all categories


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
    free = aggopt.partition.loss_bound(E, k, bound="none")
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
