"""P3M: the two declarations, the formula in NumPy, and what it refuses."""

import numpy as np
import pytest
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.models import p3m as model
from aggopt.models.shared.shift_data import renormalise_means


def instance(seed: int, n: int = 14, m: int = 4, alpha: float = 0.3) -> model.Data:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    x = (x - x.mean()) / x.std()
    labels = rng.permutation(np.r_[np.arange(m), rng.integers(m, size=n - m)])
    return model.Data(x, labels, rng.uniform(0, 1, n), rng.uniform(0, 0.99, n), alpha)


def somewhere(data: model.Data, seed: int) -> model.Point:
    rng = np.random.default_rng(seed)
    return model.Point(rng.normal(size=len(data.sizes)), rng.normal(size=len(data.x)))


def by_hand(data: model.Data, at: model.Point) -> tuple[float, float]:
    """Objective and largest violation, read off the head of the model's file."""
    n, cost, worst = len(data.x), 0.0, 0.0
    for i in range(n):
        j = data.labels[i]
        members = data.x[data.labels == j]
        cost += data.alpha * at.gamma[i] ** 2
        left = (members.mean() + at.shift[j] - data.x[i]) ** 2
        right = data.delta[i] ** 2 - (1 - data.importance[i]) * at.gamma[i]
        worst = max(worst, abs(left - right))
    mean = variance = 0.0
    for j in range(max(data.labels) + 1):
        members = data.x[data.labels == j]
        cost += (1 - data.alpha) * len(members) * at.shift[j] ** 2
        mean += len(members) * at.shift[j]
        variance += len(members) * (members.mean() + at.shift[j]) ** 2
    return cost, max(worst, abs(mean) / n, abs(variance - n) / n)


@pytest.mark.parametrize("seed", range(5))
def test_objective_and_violation_say_what_the_docstring_says(seed):
    data = instance(seed)
    at = somewhere(data, seed)
    cost, worst = by_hand(data, at)
    assert model.objective(data, at) == pytest.approx(cost)
    assert model.MODEL.violation(data, at) == pytest.approx(worst)


def test_coinciding_group_means_still_have_a_feasible_point():
    x = np.array([-1.0, 1.0, -1.0, 1.0])
    ones = np.full(4, 0.1)
    data = model.Data(x, np.array([0, 0, 1, 1]), ones, ones, 0.5)
    assert (
        model.MODEL.violation(data, model.point(data, renormalise_means(data))) < 1e-12
    )


def changed(**fields):
    data = instance(0)
    return {name: getattr(data, name) for name in data.__dataclass_fields__} | fields


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"x": np.arange(14.0)}, TableError),
        ({"labels": np.zeros(14, int)}, InfeasibleInputError),
        ({"alpha": 1.5}, JobError),
        ({"alpha": float("nan")}, JobError),
        ({"delta": np.full(14, -0.1)}, JobError),
        ({"delta": np.full(14, np.nan)}, JobError),
        ({"importance": np.full(14, 1.1)}, JobError),
        ({"importance": np.full(14, np.nan)}, JobError),
    ],
)
def test_data_that_states_no_program_is_refused(fields, error):
    with refused(error):
        model.Data(**changed(**fields))


def test_hard_wishes_leave_a_group_two_values_or_one():
    x = np.array([-1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
    labels = np.array([0, 0, 1, 1, 2, 2])
    delta = np.array([0.5, 0.0, 0.5, 0.5, 2.0, 0.0])
    hard = np.array([1.0, 0.2, 1.0, 1.0, 1.0, 1.0])
    groups, values = model.list_demanded_values(model.Data(x, labels, delta, hard, 0.5))
    assert groups.tolist() == [0, 1, 2]
    assert values[0].tolist() == [-1.5, -0.5]
    assert values[1].tolist() == [0.5, 1.5]
    assert np.isnan(values[2, 0])
    assert values[2, 1] == 1.0


def test_contradicting_demands_are_refused_by_group_and_count():
    x = np.array([-1.0, 1.0, -1.0, 1.0])
    with refused(InfeasibleInputError):
        model.Data(x, np.array([0, 0, 1, 1]), np.full(4, 0.1), np.ones(4), 0.5)


def test_a_missed_demand_is_a_violation():
    x = np.array([-1.0, 1.0, -1.0, 1.0])
    hard = np.array([1.0, 0, 0, 0])
    data = model.Data(x, np.array([0, 1, 0, 1]), np.full(4, 0.5), hard, 0.5)
    assert model.MODEL.violation(data, model.point(data, np.array([-1.0, 1.0]))) == 0.5
    assert model.MODEL.violation(data, model.point(data, np.array([-0.9, 0.9]))) == 0.4
