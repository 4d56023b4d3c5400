"""A request ends searches as a time limit does: with groups of k, and that status."""

import numpy as np
import pytest

from aggopt.core.deadline import end_request
from aggopt.partition import blocked, local_search, optimal
from aggopt.partition.neighbours import find_neighbours
from aggopt.solvers import Status

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))


@pytest.fixture
def requested():
    """A request that searches end, from before they begin."""
    end_request.set()
    yield
    end_request.clear()


@pytest.mark.parametrize("method", [local_search, blocked, optimal])
def test_it_ends_a_search_as_a_limit_of_0_does(method, requested):
    end_request.clear()
    limited = method(X, 3, time_limit=0)
    end_request.set()
    ended = method(X, 3)
    assert np.array_equal(ended.labels, limited.labels)
    for one, other in zip(ended.evidence, limited.evidence, strict=True):
        assert one.status is other.status is Status.LIMIT
    assert ended.sizes.min() >= 3


def test_a_search_that_goes_on_ends_with_its_best(requested):
    end_request.clear()
    limited = local_search(X, 3, time_limit=0)
    ended = local_search(
        X, 3, time_limit=3600, progress=lambda share: end_request.set()
    )
    assert ended.evidence[0].status is Status.LIMIT
    assert ended.evidence[0].loss < limited.evidence[0].loss


def test_what_is_no_search_is_complete(requested):
    near = find_neighbours(X, 5)
    end_request.clear()
    assert np.array_equal(near, find_neighbours(X, 5))
    apart = ((X[:, None] - X) ** 2).sum(axis=2)
    assert np.array_equal(near, apart.argsort(axis=1)[:, 1:6])
