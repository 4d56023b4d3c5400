"""Wishes for other categories: both declarations, NumPy, all choices, and duality."""

from dataclasses import replace
from itertools import product

import numpy as np
import pyomo.environ as pyo
import pytest
from category_instances import counts
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from programs import missed_by
from refusals import refused

from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.models import category_wish as model
from aggopt.solvers import SOLVERS, Status, solve

MILP = pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs"])


def stated(seed: int, spend: float = 1.5, alike: bool = False) -> model.Data:
    """Return data whose records of some categories insist more than others."""
    count = counts(seed, 5, 3, 2)
    rng = np.random.default_rng(seed)
    insist = np.ones(3) if alike else rng.choice([0.05, 1.0], 3)
    sizes = count.sum(axis=1)
    loss = sizes[:, None] - count
    budget = spend * loss.min(axis=1).sum() + 1
    table, slack = count.sum(axis=0)[None], np.full((1, 3), 2.0)
    return model.Data(loss, sizes[None], table, slack, count * insist, budget)


def least(data: model.Data) -> float:
    best = np.inf
    for choice in product(range(3), repeat=5):
        found = np.zeros(3)
        for j, c in enumerate(choice):
            found[c] += data.weights[0, j]
        lost = sum(data.loss[j, c] for j, c in enumerate(choice))
        near = (np.abs(found - data.counts[0]) <= data.slack[0]).all()
        if near and lost <= data.budget + 1e-9:
            best = min(best, sum(data.unmet[j, c] for j, c in enumerate(choice)))
    return float(best)


def test_both_languages_and_numpy_say_the_same():
    data = replace(stated(1), shares="any")
    y = np.random.default_rng(0).normal(size=len(data.costs))
    declared, also = model.build(data, "cvxpy"), model.build(data, "pyomo")
    declared.var_dict["y"].save_value(y)
    for i in also.y:
        also.y[i].set_value(y[i], skip_validation=True)
    at = model.Point(y)
    assert float(declared.objective.value) == pytest.approx(model.objective(data, at))
    assert pyo.value(also.cost) == pytest.approx(model.objective(data, at))
    worst = max(np.max(c.violation()) for c in declared.constraints)
    blocks = also.component_objects(pyo.Constraint)
    assert max(missed_by(c) for b in blocks for c in b.values()) == pytest.approx(worst)
    assert model.MODEL.violation(data, at) == pytest.approx(worst)


@MILP
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_choices_is_found(name, seed):
    data = stated(seed)
    problem = model.build(data, SOLVERS[name].language)
    outcome, best = solve(problem, name), least(data)
    if not np.isfinite(best):
        assert outcome.status is Status.INFEASIBLE
    else:  # a small optimum is found, though no absolute tolerance shows it
        assert outcome.status in (Status.OPTIMAL, Status.UNPROVEN)
        assert best - 1e-6 <= outcome.bound <= best + 1e-9
        at = model.point(data, model.categories(problem, data))
        assert model.objective(data, at) == pytest.approx(best, abs=1e-6)
        assert model.MODEL.violation(data, at) < 1e-9


@pytest.mark.parametrize("language", model.LANGUAGES)
def test_multipliers_of_the_relaxation_prove_its_value(language):
    data = replace(stated(0, spend=1.1), shares="any")
    problem = model.build(data, language)
    outcome = solve(problem, "highs")
    assert model.proven(data, model.multipliers(problem, data)) == pytest.approx(
        outcome.bound, abs=1e-6
    )
    assert model.multipliers(problem, replace(data, shares="whole")) is None


@examples(40)
@given(
    seed=st.integers(0, 20),
    prices=st.lists(
        st.floats(-2, 2) | st.sampled_from([np.nan, np.inf]), min_size=4, max_size=4
    ),
)
def test_no_multipliers_prove_more_than_the_optimum(seed, prices):
    data = stated(seed)
    assert 0 <= model.proven(data, np.array(prices)) <= least(data) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_where_all_insist_alike_what_is_met_is_what_is_lost(seed):
    data = stated(seed, alike=True)
    for choice in product(range(3), repeat=5):
        at = model.point(data, np.array(choice))
        lost = sum(data.loss[j, c] for j, c in enumerate(choice))
        assert model.objective(data, at) == data.weights.sum() - lost


def test_what_is_unmet_is_the_importance_of_records_that_are_too_near():
    rng = np.random.default_rng(0)
    labels, own = np.arange(12) // 3, rng.integers(0, 4, 12)
    distances = np.abs(own[:, None] - np.arange(4)) / 3
    delta, insist = rng.choice([0.3, 0.5], 12), rng.random(12)
    found = model.compute_unmet(labels, distances, delta, insist)
    for j, c in product(range(4), range(4)):
        near = [
            w
            for i, w in enumerate(insist)
            if labels[i] == j and distances[i, c] < delta[i]
        ]
        assert found[j, c] == pytest.approx(sum(near))


def test_groups_that_differ_in_what_is_unmet_are_not_symmetric():
    data = stated(0)
    apart = replace(data, unmet=data.unmet + np.arange(5.0)[:, None])
    assert len(apart.classes[0]) == 5


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"budget": -1.0}, JobError),
        ({"budget": np.inf}, JobError),
        ({"budget": None}, JobError),
        ({"unmet": np.ones((5, 2))}, TableError),
        ({"unmet": -np.ones((5, 3))}, TableError),
        ({"slack": np.ones(3)}, TableError),
        ({"shares": "half"}, UnknownNameError),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, error):
    with refused(error):
        replace(stated(0), **wrong)
