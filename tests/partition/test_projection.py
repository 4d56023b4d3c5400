"""Projections: which axis, from which end, and what an outlier does to it."""

import numpy as np
import pytest
from partition.test_published import loss, z_scores
from refusals import refused

from aggopt.errors import UnknownNameError
from aggopt.partition import mdav, projection
from aggopt.partition.path_split import find_best_split

RNG = np.random.default_rng(5)
AXES = "pca", "zsum", "robust_pca"
LONG = RNG.normal(size=(300, 3)) * [9, 1, 1] @ [[2, 1, 0], [1, -2, 0], [0, 0, 1.0]]


def split_along(records, direction, k: int):
    """Groups of the order along a direction, from its end farther from the mean."""
    along = (records - records.mean(axis=0)) @ direction
    along = -along if along.max() > -along.min() else along
    return find_best_split(records, [along.argsort(kind="stable")], k)


def first_right_singular_vector(records):
    centred = records - records.mean(axis=0)
    return np.linalg.svd(centred)[2][0]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("k", [2, 5])
def test_pca_is_the_direction_of_most_variance(k: int, sign: int) -> None:
    expected = split_along(LONG, sign * first_right_singular_vector(LONG), k)
    assert (projection(LONG, k, scale="none") == expected).all()
    assert (projection(-LONG, k, scale="none") == expected).all()


@pytest.mark.parametrize("k", [2, 5])
def test_zsum_is_the_sum(k: int) -> None:
    Z = (LONG - LONG.mean(axis=0)) / LONG.std(axis=0)
    expected = split_along(Z, np.ones(3), k)
    assert (projection(LONG, k, axis="zsum") == expected).all()


def test_attributes_that_cancel_leave_zsum_nothing() -> None:
    x = RNG.normal(size=200)
    opposed, alike = np.column_stack((x, 3 - 2 * x)), np.column_stack((x, 3 + 2 * x))
    assert loss(opposed, projection(opposed, 3, axis="zsum")) > 10
    assert loss(alike, projection(alike, 3, axis="zsum")) < 1
    assert loss(opposed, projection(opposed, 3, axis="pca")) < 1


@pytest.mark.parametrize("scale", ["z", "none"])
def test_outliers_turn_pca_but_not_robust_pca(scale: str) -> None:
    x = RNG.normal(size=200)
    X = np.column_stack((x, x + RNG.normal(size=200) / 50))
    outliers = [[1e4, -1e4], [-1e4, 1e4], [2e4, -2e4]]
    spoilt = np.vstack((X, outliers))
    pca, robust = (
        projection(spoilt, 3, axis=axis, scale=scale)[:200]
        for axis in ("pca", "robust_pca")
    )
    spread = {
        name: sum(np.ptp(x[g == i]) for i in set(g))
        for name, g in (("pca", pca), ("robust", robust))
    }
    assert spread["robust"] < spread["pca"] / 10


def test_robust_pca_where_most_values_are_the_same() -> None:
    X = np.zeros((90, 3))
    X[:40, 0], X[:, 1] = np.arange(40), 7.0
    labels = projection(X, 3, axis="robust_pca")
    assert len(set(labels[:40]) & set(labels[40:])) <= 1
    assert np.bincount(labels).min() >= 3


@pytest.mark.parametrize("axis", AXES)
def test_groups_are_numbered_from_the_farther_end(axis: str) -> None:
    x = np.array([[5.0], [1.0], [0.0], [90.0], [91.0], [4.0]])
    assert projection(x, 2, axis=axis).tolist() == [1, 2, 2, 0, 0, 1]
    assert projection(-x, 2, axis=axis).tolist() == [1, 2, 2, 0, 0, 1]


@pytest.mark.parametrize("axis", AXES)
def test_first_of_equals_comes_first(axis: str) -> None:
    x = np.array([[9.0], [0.0], [0.0], [9.0], [0.0], [0.0]])
    assert projection(x, 2, axis=axis).tolist() == [0, 1, 1, 0, 2, 2]


@pytest.mark.parametrize("axis", AXES)
def test_one_line_loses_more_than_groups_in_the_whole_space(axis: str) -> None:
    Z = z_scores("census")
    assert loss(Z, projection(Z, 3, axis=axis)) > 3 * loss(Z, mdav(Z, 3))


@pytest.mark.parametrize(
    "option",
    [
        {"axis": "pcs"},
        {"axis": None},
        {"scale": "zz"},
    ],
)
def test_unknown_names_are_refused(option: dict[str, str]) -> None:
    with refused(UnknownNameError):
        projection([[1.0], [2.0]], 1, **option)
