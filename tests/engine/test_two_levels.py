"""Rows reach their bucket by way of regions, as they do at once."""

import numpy as np
import pytest
from drawn import examples
from folders import digest, job, masked, persons, put
from hypothesis import given
from hypothesis import strategies as st

from aggopt.engine.executors import local as engines
from aggopt.engine.state import shuffle as two_levels
from aggopt.engine.state.shuffle import Shuffle
from aggopt.engine.steps import write as passes_out
from aggopt.engine.storage.scratch_files import ShuffleRegion


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
