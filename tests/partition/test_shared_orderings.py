"""Orderings that are the same for every k are made once where that is asked for."""

import numpy as np
import pytest
from tables import ROLES, people

from aggopt import experiment
from aggopt.partition import _mhm as orderings
from aggopt.partition import mhm
from aggopt.partition.path_split import get_orderings, share_orderings

X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.fixture
def made(monkeypatch):
    """Return a list that gets the number of records of each set of orderings made."""
    found, make = [], orderings._iterate_npn

    def counted(records, *how):
        found.append(len(records))
        return make(records, *how)

    monkeypatch.setattr(orderings, "_iterate_npn", counted)
    return found


@pytest.mark.parametrize("order", ["npn", "tsp"])
def test_every_k_has_the_groups_that_it_has_alone(made, order):
    alone = [mhm(X, k, order=order).labels for k in (3, 5, 10)]
    assert made == [40] * 3
    with share_orderings():
        together = [mhm(X, k, order=order).labels for k in (3, 5, 10)]
    assert made == [40] * 4
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other)


def test_other_records_and_other_ways_have_orderings_of_their_own(made):
    with share_orderings():
        for how in ({"order": "npn"}, {"order": "tsp"}, {"order": "npn", "starts": 2}):
            mhm(X, 3, **how)
        mhm(X[:30], 3, order="npn")
        mhm(X[::-1], 3, order="npn")
        mhm(X, 3)
        mhm(X, 5)
    assert made == [40, 40, 40, 30, 40, 40, 40]
    mhm(X, 3, order="npn")
    assert len(made) == 8


def test_what_is_kept_is_forgotten_afterwards():
    with share_orderings():
        kept = get_orderings("a", X, lambda: iter([np.arange(40)]))
        assert get_orderings("a", X, lambda: iter([])) is kept
    assert list(get_orderings("a", X, lambda: iter([]))) == []


def test_cells_that_differ_in_k_alone_share_orderings(made):
    how = {"method": "mhm", "order": "npn", "starts": 1}
    grid = {"k": [3, 5, 30], "partition": [how], "aggregation": ["mean", "median"]}
    rows = experiment([people(40), people(30)], grid, roles=ROLES, on_error="row").rows
    assert made == [40, 30]
    grid["partition"] = {**how, "order": "mdav"}
    experiment([people(40)], {**grid, "aggregation": "mean"}, roles=ROLES)
    assert len(made) == 4
    assert len(rows) == 2 * 3 * 2 * 2
