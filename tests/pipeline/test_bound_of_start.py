"""What is proven of groups before a repair is told to it, if it is of the same cost."""

from types import SimpleNamespace

import numpy as np
import pytest

from aggopt.job import Job
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.validate import privacy_guarantees as guarantees
from aggopt.pipeline.validate.privacy_guarantees import _bound_of_start, repair_block
from aggopt.solvers import Certificate, Status

X = np.array([[0.0], [1.0], [5.0], [6.0]])


def job(method="optimal", **how):
    repair = how.pop("repair", "merge")
    return Job(
        roles={"quasi-identifier": ["a"], "confidential": ["c"]},
        privacy={"k": 2, "l": 2, "repair": repair} if repair else {"k": 2},
        partition={"method": method, **how},
    )


def block(status=Status.OPTIMAL, bound=0.75):
    proof = Certificate(status, 1.0, bound, 0.0, "some", 0.0)
    return Block((0,), Partition(np.array([0, 0, 1, 1]), proof))


@pytest.mark.parametrize(
    ("asked", "bound"),
    [
        (job(), 0.75),
        (job("univariate"), 0.75),
        (job("univariate", cost="sae"), None),
        (job("univariate", centroids="integer"), None),
        (job("mdav"), None),
    ],
)
def test_the_bound_of_the_same_cost_and_any_centroids_is_kept(asked, bound):
    assert _bound_of_start(block(), asked) == bound


def test_a_repair_hears_of_the_bound(monkeypatch):
    heard = []
    method = SimpleNamespace(function=lambda given, *_: heard.append(given))
    monkeypatch.setattr(guarantees, "REPAIRS", SimpleNamespace(of=lambda _: method))
    start = block()
    assert repair_block(start, X, job(), (), None) is start
    assert [given.bound for given in heard] == [0.75]
    assert repair_block(block(), X, job("mdav"), (), None).labels.tolist() == [
        0,
        0,
        1,
        1,
    ]
    assert heard[1].bound is None


def test_groups_are_left_alone_without_a_repair_and_after_an_interrupt(monkeypatch):
    monkeypatch.setattr(guarantees, "REPAIRS", None)
    for start, asked in (
        (block(), job(repair=None)),
        (block(Status.INTERRUPTED), job()),
    ):
        assert repair_block(start, X, asked, (), None) is start
