"""Blocks of about the same size, whatever the records, and however they are read."""

import numpy as np
import pytest
from drawn import examples
from folders import digest, job, masked, persons, put
from hypothesis import given
from hypothesis import strategies as st

from aggopt.engine.executors import local as engines
from aggopt.engine.state import shuffle as two_levels
from aggopt.engine.state.shuffle import Shuffle
from aggopt.engine.state.split_tree import UNEVEN, SplitTree, hash_to_unit, merge_leaves
from aggopt.engine.steps import write as passes_out
from aggopt.engine.storage.scratch_files import ShuffleRegion


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


# --- rows reach their bucket by way of regions, as they do at once


def test_few_fragments_are_written_at_once():
    assert Shuffle("sorted", 1000, 200).width == 1
    assert Shuffle("sorted", 1000, 201).width == 2
    assert Shuffle("scattered", 4000, 8192).regions == 50


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 60))
@examples(60)
def test_regions_hold_each_bucket_once(files, buckets, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_levels, "MOST", most)
        spread = Shuffle("x", files, buckets)
        deals = spread.deals(np.ones((files, spread.regions), np.int64))
        assert [deal.bucket for deal in deals] == list(range(0, buckets, spread.width))
        assert deals[-1].bucket + deals[-1].width >= buckets
        assert files * spread.regions <= most + files


def test_tasks_of_a_second_step_read_no_more_than_a_piece(monkeypatch):
    monkeypatch.setattr(two_levels, "MOST", 9)
    monkeypatch.setattr(two_levels, "PIECE", 10)
    spread = Shuffle("x", 3, 6)  # two buckets to a region
    sizes = np.array([[6, 0, 1], [4, 20, 1], [1, 1, 1]])
    assert spread.deals(sizes) == (
        ShuffleRegion(0, 0, 2, 0, 2),
        ShuffleRegion(0, 2, 3, 0, 2),
        ShuffleRegion(1, 0, 1, 2, 2),
        ShuffleRegion(1, 1, 2, 2, 2),
        ShuffleRegion(1, 2, 3, 2, 2),
        ShuffleRegion(2, 0, 3, 4, 2),
    )


def test_two_steps_give_the_bytes_of_one(tmp_path, monkeypatch):
    folder = put(tmp_path / "in", persons(230), persons(170, seed=1))
    monkeypatch.setattr(passes_out, "PER_FILE", 90)
    asked = job(engine={"block": 40})
    one = masked(folder, asked, tmp_path / "one")
    steps, each = [], engines.SerialExecutor.each

    def noted(self, step, *args):
        steps.append(step)
        return each(self, step, *args)

    monkeypatch.setattr(engines.SerialExecutor, "each", noted)
    monkeypatch.setattr(two_levels, "MOST", 4)
    monkeypatch.setattr(two_levels, "PIECE", 60)
    two = masked(folder, asked, tmp_path / "two")
    assert {*two_levels.AGAIN.values()} <= {*steps}
    assert digest(one.path) == digest(two.path)
    assert two.audit == one.audit
