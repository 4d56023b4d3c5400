"""Attributes in blocks: what is partitioned together, and how blocks are chosen."""

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    PrivacyError,
    TableError,
    UnknownNameError,
)
from aggopt.partition import cbfs, correlated_blocks, in_blocks, mdav, univariate, vmdav

X = np.random.default_rng(4).gamma(2.0, size=(41, 4))
NAMED = [mdav, cbfs]


@pytest.mark.parametrize("method", [*NAMED, "mdav", "cbfs", "vmdav"])
@pytest.mark.parametrize(
    "blocks", [[[0], [1, 3], [2]], [[3, 0, 2, 1]], [[2, 1], [0, 3]]]
)
def test_each_block_is_what_the_method_makes_of_it_alone(method, blocks):
    labels = in_blocks(X, 3, blocks, method=method)
    assert labels.shape == X.shape
    divide = {"mdav": mdav, "cbfs": cbfs, "vmdav": vmdav}.get(method, method)
    for block in blocks:
        alone = divide(X[:, block], 3)
        assert (labels[:, block] == alone[:, None]).all()


@pytest.mark.parametrize("k", [2, 5, 41])
def test_every_block_has_k_records_in_each_group(k):
    labels = in_blocks(X, k, [[0, 1], [2], [3]])
    assert all(np.bincount(column).min() >= k for column in np.asarray(labels).T)
    assert (in_blocks(X, 41, [[0], [1], [2], [3]]) == 0).all()


def test_settings_reach_the_method():
    labels = in_blocks(X, 3, [[0, 1], [2, 3]], method="mdav", ending="nearest")
    assert (labels[:, 0] == mdav(X[:, :2], 3, ending="nearest")).all()
    with refused(UnknownNameError, "ending"):
        in_blocks(X, 3, [[0, 1], [2, 3]], ending="2k")


@pytest.mark.parametrize("method", ["univariate", univariate])
def test_univariate_partitions_blocks_of_one(method):
    labels = in_blocks(X, 3, [[0], [1], [2], [3]], method=method, cost="sae")
    for j in range(4):
        assert (labels[:, j] == univariate(X[:, j], 3, cost="sae")).all()
    with refused(JobError):
        in_blocks(X, 3, [[0, 1], [2], [3]], method=method)


def test_a_function_of_the_users_own_partitions():
    def halves(X, k, *, by):
        return (np.argsort(np.argsort(by * X[:, 0])) >= len(X) // 2).astype(int)

    labels = in_blocks(X, 3, [[1], [0, 2, 3]], method=halves, by=-1)
    assert labels[X[:, 1].argmax(), 1] == 0
    assert labels[X[:, 0].argmin(), 2] == 1
    with refused(JobError, "labels have shape"):
        in_blocks(X, 3, [[0, 1], [2, 3]], method=lambda X, k: X)


def test_one_attribute_and_a_constant_one():
    assert (in_blocks(X[:, :1], 3, [[0]])[:, 0] == mdav(X[:, :1], 3)).all()
    constant = np.column_stack([X[:, 0], np.full(41, 7.0)])
    assert np.bincount(in_blocks(constant, 3, [[0], [1]])[:, 1]).min() >= 3


def test_progress_is_that_of_the_whole():
    shares: list[float] = []
    in_blocks(X, 3, [[0, 1], [2, 3]], progress=shares.append)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert 0.5 in shares
    in_blocks(X, 3, [[0], [1], [2], [3]], method=univariate, progress=shares.append)


@pytest.mark.parametrize(
    "blocks",
    [
        [[0, 1], [2]],
        [[0, 1], [1, 2, 3]],
        [[0, 0, 1, 2, 3]],
        [[0, 1, 2, 3, 4]],
        [[-1, 0, 1, 2]],
        [[0, 1, 2, 3], []],
        [],
        [0, 1, 2, 3],
        ["age"],
        [[0.0, 1.0], [2.0, 3.0]],
        [[True, False], [2, 3]],
        None,
    ],
)
def test_blocks_that_do_not_cover_the_columns_are_refused(blocks):
    with refused(JobError) as refusal:
        in_blocks(X, 3, blocks)
    assert refusal.value.fix


def test_what_else_is_refused():
    with refused(UnknownNameError, "'mdav'"):
        in_blocks(X, 3, [[0, 1, 2, 3]], method="mdva")
    with refused(InfeasibleInputError, "41"):
        in_blocks(X, 42, [[0, 1], [2, 3]])
    with refused(TableError, "1 dimension(s)"):
        in_blocks(X[:, 0], 3, [[0]])


# --- blocks chosen by correlation


def correlations(X):
    """|r| of each pair, by the textbook's sums."""
    away = X - X.mean(axis=0)
    spread = np.sqrt((away**2).sum(axis=0))
    with np.errstate(invalid="ignore"):
        return np.abs(np.nan_to_num(away.T @ away / np.outer(spread, spread)))


@pytest.mark.parametrize("least", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_every_pair_of_a_block_is_correlated_and_blocks_cover(seed, least):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8)) + rng.normal(size=(30, 1)) * rng.uniform(0, 3, 8)
    blocks = correlated_blocks(X, least)
    assert sorted(j for block in blocks for j in block) == list(range(8))
    assert blocks == sorted(sorted(block) for block in blocks)
    r = correlations(X)
    for block in blocks:
        assert all(r[i, j] >= least - 1e-9 for i in block for j in block if i != j)


@pytest.mark.parametrize("seed", range(8))
def test_no_two_blocks_could_be_one(seed):
    X = np.random.default_rng(seed).normal(size=(12, 6))
    r, blocks = correlations(X), correlated_blocks(X, 0.3)
    for one in blocks:
        for other in blocks:
            if one < other:
                assert min(r[i, j] for i in one for j in other) < 0.3


def test_known_blocks():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    X = np.column_stack([a, b, -a, 3 * b + 0.1 * a, np.full(500, 2.0)])
    assert correlated_blocks(X, 0.9) == [[0, 2], [1, 3], [4]]
    assert correlated_blocks(X, 1.0) == [[0, 2], [1], [3], [4]]
    assert correlated_blocks(X, 0.0) == [[0, 1, 2, 3], [4]]


def test_units_signs_and_order_of_records_do_not_matter():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 5)) + rng.normal(size=(50, 1))
    same = correlated_blocks(X, 0.5)
    assert correlated_blocks(X * [1, -1e9, 1e-9, 5, -1] + 1e3, 0.5) == same
    assert correlated_blocks(X[rng.permutation(50)], 0.5) == same


@pytest.mark.parametrize("column", [[1.0, 2.0, 5.0], [4.0, 4.0, 4.0]])
def test_one_attribute_is_one_block(column):
    assert correlated_blocks(np.array(column)[:, None], 0.5) == [[0]]


def test_constant_attributes_alone_stand_alone():
    assert correlated_blocks(np.ones((4, 3)), 0.0) == [[0], [1], [2]]


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan"), "0.5", None, True])
def test_a_correlation_that_is_none_is_refused(least):
    with refused(JobError):
        correlated_blocks(X, least)


def test_a_method_of_the_user_s_own_that_breaks_k_is_refused():
    X = np.arange(12.0).reshape(6, 2)
    with refused(PrivacyError, "k = 2"):
        in_blocks(X, 2, [[0], [1]], method=lambda X, k: np.arange(len(X)))
