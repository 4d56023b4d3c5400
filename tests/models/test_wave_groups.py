"""Few new records and few changes join others: the model beside all possible places."""

from itertools import product

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models import wave_groups as model
from aggopt.solvers import SOLVERS, solve

INSTALLED = [
    s.name
    for s in SOLVERS.values()
    if s.fits("wave_groups", "MILP") and s.installed and s.language
]


def drawn(seed):
    """Two groups, one that stays, and four new records; k = 2 or 3."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((6, 2), np.int64)
    counts[2:, 0] = 1
    counts[0, 1], counts[1, 1] = rng.integers(1, 5, 2)
    k = int(rng.integers(2, 4))
    moving = ((counts > 0) & (counts < k)).any(axis=1)
    if counts[:, 1].sum() < k:
        counts[1, 1] = k
    sizes = np.array([5, 4, 1, 1, 1, 1])
    return model.Data(rng.normal(size=(6, 2)), sizes, counts, k, moving)


def drawn_of_units(seed):
    """Return the same with a unit that is in both groups, and counts in the second."""
    data = drawn(seed)
    b = data.a > 0
    counts = data.a.copy()
    counts[0, 1] -= 1
    counts[1, 1] = max(counts[1, 1], data.k)
    moving = (b & (counts < data.k)).any(axis=1)
    return model.Data(data.c, data.s, counts, data.k, moving, None, b)


def least(data):
    """Return the least objective of all places, each tried and judged by hand."""
    best = np.inf
    p = len(data.s)
    own = [range(p) if data.moving[u] else (u,) for u in range(p)]
    for places in product(*own):
        at = np.array(places)
        if any(at[q] != q for q in at):
            continue
        here = [at == q for q in set(places)]
        if any(
            (data.is_present[q].any(0) & (data.a[q].sum(0) < data.k)).any()
            for q in here
        ):
            continue
        away = ((data.c - data.c[at]) ** 2).sum(axis=1)
        best = min(best, float((data.s * away).sum()))
    return best


@pytest.mark.parametrize("instance", [drawn, drawn_of_units])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", INSTALLED)
def test_a_solver_finds_the_best_of_all_places(name, seed, instance) -> None:
    data = instance(seed)
    problem = model.build(data, SOLVERS[name].language)
    outcome = solve(problem, name)
    places = model.places(problem, data)
    at = model.point(data, places)
    assert model.MODEL.violation(data, at) < 1e-6
    assert model.objective(data, at) == pytest.approx(least(data), rel=1e-5, abs=1e-6)
    assert outcome.bound <= least(data) * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("instance", [drawn, drawn_of_units])
@pytest.mark.parametrize("seed", range(20))
def test_merging_by_turns_is_feasible(seed, instance) -> None:
    data = instance(seed)
    places = model.merge_by_turns(data)
    if places is None:  # of those that stay, one is in the way
        data = model.Data(
            data.c, data.s, data.a, data.k, np.ones(6, bool), None, data.b
        )
        places = model.merge_by_turns(data)
    at = model.point(data, places)
    assert model.MODEL.violation(data, at) == 0
    assert model.objective(data, at) >= least(data) - 1e-9


def test_places_that_stay_may_be_in_the_way() -> None:
    counts = np.array([[1, 1], [2, 0], [0, 2]])
    apart = np.array([True, False, False])
    c, sizes = np.array([[0.0], [1.0], [2.0]]), np.array([2, 2, 2])
    assert model.merge_by_turns(model.Data(c, sizes, counts, 2, apart)) is None
    every = model.Data(c, sizes, counts, 2, np.ones(3, bool))
    assert len(set(model.merge_by_turns(every))) == 1


def test_an_objective_is_at_least_the_loss_that_places_add() -> None:
    rng = np.random.default_rng(0)
    X, part = rng.normal(size=(12, 2)), np.repeat(np.arange(4), 3)
    c = np.array([X[part == u].mean(axis=0) for u in range(4)])
    every = np.ones(4, bool)
    data = model.Data(c, np.full(4, 3), np.ones((4, 1), np.int64), 2, every)
    places = model.merge_by_turns(data)

    def loss(labels):
        of = (X[labels == q] for q in set(labels))
        return sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in of)

    added = loss(places[part]) - loss(part)
    assert 0 < added <= model.objective(data, model.point(data, places)) + 1e-12


def test_data_that_fit_nothing_are_refused() -> None:
    data = model.example()
    with refused(JobError):
        model.Data(data.c, data.s[:5], data.a, data.k, data.moving)
    with refused(JobError):
        model.Data(data.c, data.s, data.a, data.k, data.moving, None, data.a[:5] > 0)
    with refused(InfeasibleInputError, "k = 5"):
        model.Data(data.c, data.s, data.a, 5, data.moving)
