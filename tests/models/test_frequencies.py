"""Frequencies of categories: both declarations, NumPy, all choices, and duality."""

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from category_instances import beside, counts, least, nominal, ordinal
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from programs import missed_by
from refusals import refused

from aggopt.errors import (
    AggoptError,
    InfeasibleInputError,
    JobError,
    TableError,
    UnknownNameError,
)
from aggopt.models import frequencies as model
from aggopt.models.shared.category_choice import count_choices, read_choice
from aggopt.solvers import SOLVERS, Status, solve

MILP = pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs"])
CASES = {
    "slack": lambda seed: nominal(counts(seed), slack=2),
    "exact": lambda seed: ordinal(counts(seed, 6), slack=0),
    "price": lambda seed: nominal(counts(seed), price=0.75),
    "beside": lambda seed: beside(counts(seed), seed, 0.5),
}
cases = pytest.mark.parametrize("case", CASES)


def anywhere(data: model.Data, seed: int) -> model.Point:
    rng = np.random.default_rng(seed)
    over, under = rng.normal(size=(2, *data.counts.shape)) * (data.price is not None)
    return model.Point(rng.normal(size=len(data.costs)), over, under)


@cases
@pytest.mark.parametrize("shares", ["whole", "any"])
def test_both_languages_and_numpy_say_the_same(case, shares):
    data = replace(CASES[case](1), shares=shares)
    at = anywhere(data, 0)
    declared, also = model.build(data, "cvxpy"), model.build(data, "pyomo")
    for name, value in at._asdict().items():
        if name in declared.var_dict:
            declared.var_dict[name].save_value(value.ravel())
        for i in getattr(also, name):
            getattr(also, name)[i].set_value(value.ravel()[i], skip_validation=True)
    assert float(declared.objective.value) == pytest.approx(model.objective(data, at))
    assert pyo.value(also.cost) == pytest.approx(model.objective(data, at))
    worst = max(np.max(c.violation()) for c in declared.constraints)
    blocks = also.component_objects(pyo.Constraint)
    assert max(missed_by(c) for block in blocks for c in block.values()) == (
        pytest.approx(worst)
    )
    assert model.MODEL.violation(data, at) >= worst - 1e-9
    if shares == "any":
        assert model.MODEL.violation(data, at) == pytest.approx(worst)


@MILP
@cases
def test_the_best_of_all_choices_is_found(name, case):
    data = CASES[case](3)
    problem = model.build(data, SOLVERS[name].language)
    outcome = solve(problem, name)
    best = least(data)
    assert np.isfinite(best) == outcome.status.usable
    if outcome.status.usable:
        at = model.point(data, model.categories(problem, data))
        assert outcome.status is Status.OPTIMAL
        assert model.objective(data, at) == pytest.approx(best)
        assert model.MODEL.violation(data, at) < 1e-9


@pytest.mark.parametrize("language", model.LANGUAGES)
@cases
def test_multipliers_of_the_relaxation_prove_its_value(language, case):
    data = replace(CASES[case](4), shares="any")
    problem = model.build(data, language)
    outcome = solve(problem, "highs")
    found = model.multipliers(problem, data)
    bound = model.proven(data, found)
    assert bound == pytest.approx(outcome.bound, abs=1e-6)
    assert bound <= least(data)
    assert model.multipliers(problem, replace(data, shares="whole")) is None


@examples(60)
@given(
    seed=st.integers(0, 40),
    case=st.sampled_from(sorted(CASES)),
    prices=st.lists(
        st.floats(-4, 4) | st.sampled_from([np.nan, np.inf, -1e300, 1e9]), min_size=6
    ),
)
def test_no_multipliers_prove_more_than_the_optimum(seed, case, prices):
    data = CASES[case](seed)
    with np.errstate(over="ignore", invalid="ignore"):
        bound = model.proven(data, np.resize(prices, data.counts.shape))
    assert 0 <= bound <= least(data)


def test_the_dual_says_by_how_much_a_pair_raises_the_bound():
    data = nominal(counts(5), slack=1)
    t, c = data.pairs
    prices = np.array([[0.5, -0.25, 0.0]])
    bound, raised = model.compute_dual_bound(data, prices)
    assert np.min(raised) == 0
    for q, group in enumerate(data.classes[0][t]):
        only = data.loss.copy()
        only[group, np.arange(3) != c[q]] = np.inf
        forced, _ = model.compute_dual_bound(replace(data, loss=only), prices)
        assert forced == pytest.approx(bound + raised[q])


def test_bounds_of_whole_losses_are_whole():
    data = nominal(counts(2), slack=1)
    assert model.round_bound_up(data, 2.1) == 3
    assert model.round_bound_up(replace(data, shares="any"), 2.1) == 2.1
    assert model.round_bound_up(replace(data, loss=data.loss / 3), 2.1) == 2.1
    priced = nominal(counts(2), price=2.0)
    assert model.round_bound_up(priced, 2.1) == 3
    assert model.round_bound_up(replace(priced, price=0.5), 2.1) == 2.1


def test_symmetric_groups_are_one_whole_number():
    data = nominal(np.tile(counts(0, 4), (5, 1)), slack=1)
    assert len(data.classes[0]) == len(np.unique(counts(0, 4), axis=0))
    assert data.classes[2].sum() == 20
    alone = replace(data, loss=data.loss + np.arange(20)[:, None])
    assert len(alone.classes[0]) == 20
    best = [solve(model.build(d, "cvxpy")).bound for d in (data, alone)]
    assert best[1] == pytest.approx(best[0] + np.arange(20).sum(), abs=1e-4)


def test_a_choice_is_read_back_up_to_symmetry():
    data = nominal(np.tile(counts(0, 4), (5, 1)), slack=1)
    y = count_choices(data, np.random.default_rng(0).integers(0, 3, 20))
    assert (count_choices(data, read_choice(data, y)) == y).all()
    assert read_choice(data, y + 0.1) is None
    assert read_choice(data, y + 1) is None
    assert read_choice(data, np.where(y > 0, -y, y)) is None


def test_a_category_of_infinite_loss_is_not_published():
    data = nominal(counts(1), price=5.0)
    loss = data.loss.copy()
    loss[:, 0] = np.inf
    loss[0] = [np.inf, np.inf, 1.0]
    barred = replace(data, loss=loss)
    for language in model.LANGUAGES:
        problem = model.build(barred, language)
        assert solve(problem).status is Status.OPTIMAL
        found = model.categories(problem, barred)
        assert (found > 0).all()
        assert found[0] == 2
    with refused(JobError, "may not publish"):
        model.point(barred, np.zeros(5, int))


GOOD = {"loss": np.ones((2, 3)), "weights": np.ones((1, 2)), "counts": np.ones((1, 3))}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({}, JobError),
        ({"slack": np.ones((1, 3)), "price": 1.0}, JobError),
        ({"price": 0.0}, JobError),
        ({"price": np.inf}, JobError),
        ({"price": True}, JobError),
        ({"price": 1.0, "shares": "half"}, UnknownNameError),
        ({"price": 1.0, "loss": np.ones(3)}, TableError),
        ({"price": 1.0, "loss": -np.ones((2, 3))}, TableError),
        ({"price": 1.0, "weights": np.ones((2, 1))}, TableError),
        ({"price": 1.0, "weights": np.full((1, 2), np.inf)}, TableError),
        ({"price": 1.0, "counts": np.ones((1, 2))}, TableError),
        ({"price": 1.0, "counts": np.full((1, 3), np.nan)}, TableError),
        ({"slack": np.ones(3)}, TableError),
        ({"slack": -np.ones((1, 3))}, TableError),
        ({"price": 1.0, "loss": np.full((2, 3), np.inf)}, InfeasibleInputError),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, error):
    with refused(error) as error:
        model.Data(**(GOOD | wrong))
    assert isinstance(error.value, AggoptError)
