"""Labels of its own for each attribute: as if each were aggregated alone."""

from functools import partial

import numpy as np
import pytest
from conftest import require_solver
from refusals import refused

from aggopt.aggregate import mean, median, p3m, p3m_onesided, satisfaction
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
