"""Blocks of about the same size, whatever the records, and however they are read."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st

from aggopt.engine.state.split_tree import UNEVEN, SplitTree, hash_to_unit, merge_leaves


def leaves(Z: np.ndarray, levels: int) -> np.ndarray:
    """Return the leaf of each record, by a tree of all of them."""
    return SplitTree.of(Z, levels).leaf(Z, np.arange(len(Z)))


def test_records_as_dense_everywhere_are_halved_exactly():
    Z = np.arange(64.0)[:, None]
    assert np.bincount(leaves(Z, 3)).tolist() == [8] * 8


@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_no_leaf_is_much_larger_or_smaller_than_another(seed, clusters):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(1600, 3)) + 9 * rng.integers(0, clusters, size=(1600, 1))
    sizes = np.bincount(leaves(Z, 3), minlength=8)
    assert 200 / UNEVEN - 2 <= sizes.min() <= sizes.max() <= 200 * UNEVEN + 2


def test_records_are_cut_where_few_lie():
    rng = np.random.default_rng(0)
    low = np.arange(500) < 210
    Z = rng.normal(size=(500, 3)) + np.where(low, 0.0, 12.0)[:, None]
    assert (leaves(Z, 1) == 1 - low).all()


def test_a_cut_goes_between_clusters_though_no_principal_axis_parts_them():
    rng = np.random.default_rng(0)
    middles = np.array([[-3.0, -8.0], [-3.0, 2.0], [3.0, -2.0], [3.0, 8.0]])
    cluster = np.arange(800) % 4
    Z = 0.6 * rng.normal(size=(800, 2)) + middles[cluster]
    right = np.bincount(cluster, leaves(Z, 1)) / 200
    assert (np.minimum(right, 1 - right) < 0.01).all()


def test_the_cut_is_across_the_direction_of_largest_variance():
    Z = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 20.0]
    leaf = leaves(Z, 1)
    assert Z[leaf == 0, 1].max() < Z[leaf == 1, 1].min()


@pytest.mark.parametrize("zeros", [0.5, 1.0])
def test_equal_records_are_shared_among_the_leaves(zeros):
    rng = np.random.default_rng(1)
    Z = np.where(rng.random((4000, 1)) < zeros, 0.0, rng.normal(size=(4000, 1)))
    sizes = np.bincount(leaves(Z, 2), minlength=4)
    assert sizes == pytest.approx(1000, abs=120 if zeros == 1 else 400 + 60)


def test_a_record_has_the_same_leaf_in_any_piece():
    rng = np.random.default_rng(2)
    Z = np.round(rng.normal(size=(500, 3)), 1)
    tree, numbers = SplitTree.of(Z[::3], 3), np.arange(500)
    parts = [tree.leaf(Z[a : a + 70], numbers[a : a + 70]) for a in range(0, 500, 70)]
    assert np.concatenate(parts).tolist() == tree.leaf(Z, numbers).tolist()


def test_a_tree_of_few_records_still_has_all_its_leaves():
    tree = SplitTree.of(np.array([[1.0, 2.0]]), 3)
    assert tree.leaves == 8
    assert tree.leaf(np.zeros((5, 2)), np.arange(5)).max() < 8


def test_hashes_are_uniform_and_differ_between_nodes():
    numbers = np.arange(10_000, dtype=np.uint64)
    first, second = (
        hash_to_unit(numbers, np.full(10_000, v, np.uint64)) for v in (0, 1)
    )
    for chance in (first, second):
        assert 0 <= chance.min() < chance.max() < 1
        assert chance.mean() == pytest.approx(0.5, abs=0.02)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


@examples(50)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 8))
def test_blocks_hold_each_leaf_once_and_enough_records(sizes, least):
    found = merge_leaves(np.array(sizes), least)
    assert [leaf for block in found for leaf in block] == list(range(len(sizes)))
    if sum(sizes) >= least:
        assert all(sum(sizes[leaf] for leaf in block) >= least for block in found)
    else:
        assert len(found) == 1
