"""Joint one-sided P3M and satisfaction: declarations, formula, what they refuse."""

import numpy as np
import pyomo.environ as pyo
import pytest
from joint_instances import beside, instance, of_model, rotation, standardised
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models import p3m_joint, p3m_onesided, p3m_onesided_joint
from aggopt.models import satisfaction_joint as counted
from aggopt.models.shared.joint_wishes import bound_norm

KINDS = [p3m_onesided_joint, counted]
kinds = pytest.mark.parametrize("kind", KINDS, ids=["onesided", "satisfaction"])
seeds = pytest.mark.parametrize("seed", range(3))


def somewhere(kind, data, seed):
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=data.means.shape)
    if kind is p3m_onesided_joint:
        return kind.Point(shift, rng.normal(size=data.Z.shape))
    return kind.Point(shift, *rng.uniform(size=(2, *data.Z.shape)))


def by_hand(kind, data, at):
    """Objective and largest violation, read off the heads of the models' files."""
    (n, d), cost, worst = data.Z.shape, 0.0, 0.0
    mean, kept, with_y = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    for j in range(max(data.labels) + 1):
        rows = np.flatnonzero(data.labels == j)
        c = data.Z[rows].mean(axis=0) + at.shift[j]
        price = data.price if kind is counted else 1 - data.alpha
        cost += price * len(rows) * (at.shift[j] ** 2).sum()
        mean, kept = mean + len(rows) * c, kept + len(rows) * np.outer(c, c)
        with_y += data.y[rows].sum() * c
        for i in rows:
            delta, w, lead = data.delta[i], data.importance[i], c - data.Z[i]
            if kind is counted:
                up, down = at.above[i], at.below[i]
                worst = max(worst, *(abs(x - round(x)) for x in (*up, *down)))
                far = np.sqrt(n / len(rows)) + abs(data.Z[i]) + delta
                cost -= (w * (up + down)).sum()
                off = delta - far * (1 - up) - lead, delta - far * (1 - down) + lead
                worst = max(worst, *off[0], *off[1], *(up + down - 1))
            else:
                cost += data.alpha * (at.gamma[i] ** 2).sum()
                near = delta**2 - (1 - w) * at.gamma[i] - lead**2
                worst = max(worst, *near, *-at.gamma[i])
    off = abs(kept - data.Z.T @ data.Z).max()
    beside_y = abs(with_y - data.Z.T @ data.y).max()
    return cost, max(worst, abs(mean).max() / n, off / n, beside_y / n)


@kinds
@seeds
def test_objective_and_violation_say_what_the_docstring_says(kind, seed):
    data = beside(of_model(kind, instance(seed)), seed)
    at = somewhere(kind, data, seed)
    cost, worst = by_hand(kind, data, at)
    assert kind.objective(data, at) == pytest.approx(cost)
    assert kind.MODEL.violation(data, at) == pytest.approx(worst)


@kinds
@seeds
def test_both_languages_and_numpy_say_the_same(kind, seed):
    data = beside(of_model(kind, instance(seed)), seed)
    at = somewhere(kind, data, seed)
    one, other = (kind.build(data, language) for language in kind.LANGUAGES)
    for name, value in at._asdict().items():
        one.var_dict[name].save_value(value)  # fractions of binaries, too
        for place, entry in np.ndenumerate(value):
            getattr(other, name)[place].set_value(entry, skip_validation=True)
    assert float(one.objective.value) == pytest.approx(kind.objective(data, at))
    assert float(pyo.value(other.cost)) == pytest.approx(kind.objective(data, at))
    said = kind.violations(data, at)
    share = dict.fromkeys(("mean", "covariance", "response"), len(data.Z))
    missed: dict[str, float] = {}
    for row in one.constraints:
        worst = np.max(row.violation()) / share.get(row.label, 1)
        missed[row.label] = max(missed.get(row.label, 0.0), worst)
    for name, worst in missed.items():
        assert max(said[name], 0.0) == pytest.approx(worst)
        rows = list(getattr(other, name).values())
        above = [pyo.value(row.body - row.upper) for row in rows if row.has_ub()]
        below = [pyo.value(row.lower - row.body) for row in rows if row.has_lb()]
        found = max(0.0, *above, *below) / share.get(name, 1)
        assert found == pytest.approx(worst, abs=1e-9)
    own = {"sign"} if kind is p3m_onesided_joint else {"whole"}
    bounds = {"lower", "upper"}  # of which there are none here
    assert set(said) - set(missed) - bounds == own  # those are of the variables


@kinds
@seeds
def test_a_point_is_the_best_with_its_centroids_and_read_back(kind, seed):
    data = of_model(kind, instance(seed, d=3, m=5))
    c = rotation(data, np.random.default_rng(seed))
    at = kind.point(data, c)
    assert kind.MODEL.violation(data, at) < 1e-9
    parts = [
        alone.objective(one, alone.point(one, column))
        for alone, one, column in zip([data.alone] * 3, data.apart, c.T, strict=True)
    ]
    assert kind.objective(data, at) == pytest.approx(sum(parts))
    for language in kind.LANGUAGES:
        problem = kind.build(data, language, start=c)
        assert kind.centroids(problem, data) == pytest.approx(c)


@kinds
def test_what_makes_no_sense_is_refused(kind):
    data = of_model(kind, instance(0))
    asked = data.Z, data.labels, data.delta, data.importance
    with pytest.raises(
        JobError, match=r"Attribute 0 of those that vary: (alpha|price)"
    ):
        kind.Data(*asked, -1.0)
    with refused(JobError, "negative"):
        kind.Data(*asked[:2], -data.delta, data.importance, 0.5)


def demanding(kind, seed, c_of, *, d=2, Z=None):
    """Data whose records demand, to the last digit, the centroids c (m, d)."""
    plain = instance(seed, n=20, d=d, m=5)
    Z = plain.Z if Z is None else Z
    data = kind.Data(Z, plain.labels, plain.delta, plain.importance, 0.5)
    delta = abs(c_of(data)[data.labels] - Z)
    return (Z, data.labels, delta, np.ones(Z.shape), 0.5)


@pytest.mark.parametrize("kind", [p3m_joint, p3m_onesided_joint])
@seeds
def test_demands_that_some_values_meet_are_taken(kind, seed):
    rng = np.random.default_rng(seed)
    asked = demanding(kind, seed, lambda data: rotation(data, rng), d=3)
    kind.Data(*asked)
    x = np.column_stack([asked[0], asked[0] @ [1.0, 2.0, -1.0]])
    Z = standardised(x)  # four attributes of rank 3
    twice = demanding(kind, seed, lambda data: rotation(data, rng), d=4, Z=Z)
    kind.Data(*twice)


def test_demands_farther_out_than_the_covariance_leaves_room_for_are_refused():
    plain = instance(1, n=20, d=2, m=5)
    x = plain.Z[:, 0]
    Z = standardised(np.column_stack([x, x + 0.3 * plain.Z[:, 1]]))
    importance, delta = np.zeros(Z.shape), np.full(Z.shape, 0.1)
    importance[3], n_j = 1.0, (plain.labels == plain.labels[3]).sum()
    out = 0.8 * np.sqrt(20 / n_j - 1)  # which each attribute has room for
    delta[3] = abs(np.array([out, -out]) - Z[3])
    away = Z[3] + np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * delta[3]
    R = np.corrcoef(Z.T)
    room = [c @ np.linalg.solve(R, c) <= 20 / n_j - 1 for c in away]
    asked = Z, plain.labels, delta, importance, 0.5
    assert not any(room)
    with refused(InfeasibleInputError, "within 1 group"):
        p3m_joint.Data(*asked)
    importance[3, 1] = 0.9
    p3m_joint.Data(*asked)


def test_demands_that_equations_of_attributes_contradict_are_refused():
    plain = instance(1, n=20, d=2, m=5)
    Z = np.column_stack([plain.Z, -plain.Z[:, 0]])  # the last mirrors the first
    importance, delta = np.zeros(Z.shape), np.full(Z.shape, 0.1)
    importance[:, [0, 2]] = np.arange(20)[:, None] == 7
    delta[7] = [0.2, 0.1, 0.2]
    asked = Z, plain.labels, delta, importance, 0.5
    p3m_joint.Data(*asked)
    delta[7, 2] = 0.3
    with refused(InfeasibleInputError):
        p3m_joint.Data(*asked)
    p3m_onesided_joint.Data(*asked)  # at least so far: both can be


def test_least_distances_are_those_of_the_nearest_point_of_a_box():
    R = np.eye(2)
    assert bound_norm(R, {0: (2.0, 2.0)}) == pytest.approx(4, rel=1e-6)
    assert bound_norm(R, {0: (1.0, np.inf), 1: (-np.inf, -2.0)}) == pytest.approx(
        5, 1e-6
    )
    assert bound_norm(R, {0: (-1.0, np.inf)}) == 0
    assert bound_norm(R[:1], {0: (1.0, 2.0)}) == pytest.approx(1, 1e-6)
    assert bound_norm(np.ones((1, 2)), {0: (1.0, 1.0), 1: (2.0, 2.0)}) > 1e6


@seeds
def test_what_demands_leave_is_what_no_demand_bars(seed):
    plain = instance(seed, n=20, d=1, m=5)
    importance = (np.random.default_rng(seed).random((20, 1)) < 0.5).astype(float)
    data = p3m_onesided_joint.Data(plain.Z, plain.labels, plain.delta, importance, 0.5)
    (alone,) = data.apart
    left = p3m_onesided.list_allowed_intervals(alone)
    assert set(left) == set(alone.labels[alone.hard & (alone.delta > 0)])
    for j, intervals in left.items():
        rows = alone.hard & (alone.labels == j)
        for c in np.linspace(-4, 4, 801):
            away = abs(c - alone.x[rows]) >= alone.delta[rows]
            assert away.all() == any(low <= c <= high for low, high in intervals)
