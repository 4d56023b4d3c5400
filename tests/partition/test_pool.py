"""Progress, interruption and memory: what costs users time."""

import tracemalloc

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import JobError
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition import blocked, cbfs, in_blocks, mdav, optimal, vmdav


@pytest.mark.parametrize("f", [mdav, cbfs])
@pytest.mark.parametrize("n", [2, 10, 1000])
def test_progress_grows_to_one_in_few_calls(
    f, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unassigned, "CHUNK", 0)  # a look after every turn
    shares: list[float] = []
    f(np.random.default_rng(0).normal(size=(n, 2)), 2, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] >= 0.0
    assert shares[-1] == 1.0
    assert len(shares) <= 40
    assert len(shares) >= min(n // 4, 20)


def test_progress_changes_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    assert (mdav(X, 3, progress=lambda share: None) == mdav(X, 3)).all()


@pytest.mark.parametrize("f", [mdav, cbfs])
def test_what_progress_raises_stops_the_work(f) -> None:
    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        f(np.zeros((100, 2)), 3, progress=stop)


def one_block(X, k, **how):
    return in_blocks(X, k, [[0]], **how)


@pytest.mark.parametrize("f", [mdav, cbfs, vmdav, blocked, optimal, one_block])
def test_progress_that_cannot_be_told_is_refused(f) -> None:
    with refused(JobError):
        f([[0.0], [1.0], [3.0], [4.0], [9.0], [7.0]], 2, progress=3)


def test_memory_grows_as_the_records_and_not_as_their_pairs() -> None:
    X = np.random.default_rng(0).normal(size=(4000, 5))
    mdav(X[:100], 50)  # compiles
    tracemalloc.start()
    mdav(X, 50)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * X.nbytes
    assert 6 * X.nbytes < 4000**2 * 8 / 50
