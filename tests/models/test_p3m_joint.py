"""Joint P3M: the two declarations, the formula in NumPy, and what it refuses."""

import dataclasses

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from joint_instances import beside, circle, instance
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.models import p3m
from aggopt.models import p3m_joint as model

seeds = pytest.mark.parametrize("seed", range(4))


def somewhere(data: model.Data, seed: int) -> model.Point:
    rng = np.random.default_rng(seed)
    return model.Point(rng.normal(size=data.means.shape), rng.normal(size=data.Z.shape))


def by_hand(data: model.Data, at: model.Point) -> tuple[float, float]:
    """Objective and largest violation, read off the head of the model's file."""
    (n, d), cost, worst = data.Z.shape, 0.0, 0.0
    mean, kept, with_y = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    for j in range(max(data.labels) + 1):
        members = data.Z[data.labels == j]
        c = members.mean(axis=0) + at.shift[j]
        cost += (1 - data.alpha) * len(members) * (at.shift[j] ** 2).sum()
        mean += len(members) * c
        kept += len(members) * np.outer(c, c)
        with_y += data.y[data.labels == j].sum() * c
        for i in np.flatnonzero(data.labels == j):
            cost += data.alpha * (at.gamma[i] ** 2).sum()
            left = (c - data.Z[i]) ** 2
            right = data.delta[i] ** 2 - (1 - data.importance[i]) * at.gamma[i]
            worst = max(worst, abs(left - right).max())
    off = abs(kept - data.Z.T @ data.Z).max()
    beside_y = abs(with_y - data.Z.T @ data.y).max()
    return cost, max(worst, abs(mean).max() / n, off / n, beside_y / n)


@seeds
def test_objective_and_violation_say_what_the_docstring_says(seed):
    data = beside(instance(seed), seed)
    at = somewhere(data, seed)
    cost, worst = by_hand(data, at)
    assert model.objective(data, at) == pytest.approx(cost)
    assert model.MODEL.violation(data, at) == pytest.approx(worst)


@seeds
def test_both_languages_and_numpy_say_the_same(seed):
    data = beside(instance(seed), seed)
    at = somewhere(data, seed)
    one, other = (model.build(data, language) for language in model.LANGUAGES)
    for name, value in at._asdict().items():
        one.var_dict[name].value = value
        for place, entry in np.ndenumerate(value):
            getattr(other, name)[place] = entry
    assert float(one.objective.value) == pytest.approx(model.objective(data, at))
    assert float(pyo.value(other.cost)) == pytest.approx(model.objective(data, at))
    n = len(data.Z)
    distance, *moments = [
        abs(np.atleast_1d(r.violation())).max() for r in one.constraints
    ]
    worst = max(distance, *(missed / n for missed in moments))
    assert model.MODEL.violation(data, at) == pytest.approx(worst)
    shares = {"distance": 1, "mean": 1 / n, "covariance": 1 / n, "response": 1 / n}
    for block, share in shares.items():
        rows = getattr(other, block).values()
        missed = max(abs(pyo.value(row.body) - pyo.value(row.upper)) for row in rows)
        assert missed * share <= worst * (1 + 1e-9)


@seeds
def test_each_attribute_alone_costs_its_part_of_the_whole(seed):
    data = instance(seed, d=3, m=5)
    at = model.point(data, data.renormalised)
    assert model.MODEL.violation(data, at) < 1e-12
    parts = [
        p3m.objective(alone, p3m.point(alone, c))
        for alone, c in zip(data.apart, data.renormalised.T, strict=True)
    ]
    assert model.objective(data, at) == pytest.approx(sum(parts))


def test_every_point_of_the_circle_is_feasible():
    data = instance(0, m=3)
    for c in circle(data, 7):
        assert model.MODEL.violation(data, model.point(data, c)) < 1e-12


def test_a_problem_starts_where_it_is_told_and_is_read_back():
    data, start = instance(1), np.arange(8.0).reshape(4, 2)
    for language in model.LANGUAGES:
        problem = model.build(data, language, start=start)
        assert model.centroids(problem, data) == pytest.approx(start)
    problem.shift[1, 1].value = None
    assert model.centroids(problem, data) is None
    assert not isinstance(problem, cp.Problem)


def changed(**fields):
    data = instance(0)
    return {f.name: getattr(data, f.name) for f in dataclasses.fields(data)} | fields


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"Z": instance(0).Z * 2}, TableError),
        ({"labels": np.arange(14) // 7}, InfeasibleInputError),
        ({"y": np.arange(14.0)}, TableError),
        ({"y": np.full(14, np.nan)}, TableError),
        ({"y": instance(0).Z[:, 0]}, InfeasibleInputError),
        ({"alpha": 1.5}, JobError),
        ({"delta": np.full((14, 2), -0.1)}, JobError),
        ({"importance": np.full((14, 2), 1.1)}, JobError),
        ({"importance": np.ones((14, 2))}, InfeasibleInputError),
    ],
)
def test_data_that_states_no_program_is_refused(fields, error):
    with refused(error):
        model.Data(**changed(**fields))


def test_a_missed_demand_is_a_violation():
    importance, i = np.zeros((14, 2)), int(abs(instance(0).Z[:, 1]).argmin())
    importance[i, 1] = 1.0
    data = model.Data(**changed(importance=importance))
    found = []
    for off in (0.0, 0.25):
        c = data.renormalised.copy()
        c[data.labels[i], 1] = data.Z[i, 1] + data.delta[i, 1] + off
        at = model.point(data, c)
        away = abs(abs(c[data.labels] - data.Z) - data.delta)[i, 1]
        found.append(away)
        assert model.MODEL.violation(data, at) >= away - 1e-12
        assert at.gamma[i, 1] == 0
    assert found == pytest.approx([0, 0.25])
