"""Bounds of published values in the models: their rows, and what is infeasible."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from joint_instances import instance as joint
from joint_instances import of_model
from refusals import refused
from shift_instances import MODELS, instance

from aggopt.checks import _model as declared
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models import (
    p3m,
    p3m_joint,
    p3m_onesided,
    p3m_onesided_joint,
    satisfaction_joint,
)
from aggopt.models.shared.value_bounds import (
    fit_within,
    move_to_bounds,
    require_variance_range,
)

JOINT = [p3m_joint, p3m_onesided_joint, satisfaction_joint]
ENDS = {
    "both": {"lower": -1.0, "upper": 1.1},
    "lower": {"lower": -1.0},
    "upper": {"upper": 1.1},
}


def data_of(model, lower=-np.inf, upper=np.inf):
    """Return data with bounds of the one attribute, or of the second of two."""
    if model in JOINT:
        ends = {"lower": np.array([-np.inf, lower]), "upper": np.array([np.inf, upper])}
        return replace(of_model(model, joint(2)), **ends)
    return replace(instance(model, 2), lower=lower, upper=upper)


@pytest.mark.parametrize("model", [*MODELS, *JOINT], ids=lambda m: m.MODEL.name)
@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_each_language_and_numpy_miss_a_bound_by_the_same(model, ends) -> None:
    data = data_of(model, **ends)
    c = 2 * data.means + 0.5
    at = model.point(data, c)
    mine = c[:, 1] if c.ndim == 2 else c
    known = {
        "lower": max(ends.get("lower", -np.inf) - mine.min(), 0.0),
        "upper": max(mine.max() - ends.get("upper", np.inf), 0.0),
    }
    missed = model.violations(data, at)
    assert {side: missed[side] for side in known} == pytest.approx(known)
    for language in ("cvxpy", "pyomo"):
        problem = model.build(data, language)
        declared.set_values(problem, at)
        seen = declared.measure_point_violations(problem)
        assert set(ends) == {"lower", "upper"} & set(seen)
        for side in ends:
            assert seen[side] == pytest.approx(known[side])


@pytest.mark.parametrize("model", [*MODELS, *JOINT], ids=lambda m: m.MODEL.name)
def test_without_a_bound_there_is_no_row(model) -> None:
    data = data_of(model)
    assert not data.bounded
    for language in ("cvxpy", "pyomo"):
        names = declared.list_constraint_names(model.build(data, language))
        assert not names & {"lower", "upper"}


def most_spread(sizes, lower):
    """Return the largest variance of c >= lower with mean 0: one group takes it all."""
    n = sizes.sum()
    rest = n - sizes
    return max(lower**2 * (rest + rest**2 / sizes) / n)


@examples(60)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.floats(-3, -0.05))
def test_one_bound_is_refused_where_no_vertex_has_the_variance(sizes, lower) -> None:
    sizes = np.array(sizes, float)
    most = most_spread(sizes, lower)
    for ends in ((lower, np.inf), (-np.inf, -lower)):
        if most > 1 + 1e-6:
            require_variance_range(sizes, *ends)
        elif most < 1 - 1e-6:
            with pytest.raises(InfeasibleInputError, match=r"No .* centroids within"):
                require_variance_range(sizes, *ends)


@pytest.mark.parametrize(
    ("lower", "upper", "error"),
    [
        (1.0, 1.0, JobError),
        (np.nan, 1.0, JobError),
        (0.1, 2.0, InfeasibleInputError),
        (-2.0, -0.1, InfeasibleInputError),
        (0.0, 5.0, InfeasibleInputError),
        (-1.0, 0.99, InfeasibleInputError),
    ],
)
def test_bounds_that_leave_no_values_are_refused(lower, upper, error) -> None:
    with refused(error):
        require_variance_range(np.ones(20), lower, upper)
    require_variance_range(np.ones(20), -1.0, 1.0)


@examples(60)
@given(st.integers(0, 10**6), st.floats(-2.5, -0.3), st.floats(0.3, 4))
def test_means_stretched_within_bounds_keep_mean_and_variance(
    seed, lower, upper
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 8).astype(float)
    means = rng.gamma(1.0, size=8)
    means = np.clip(means - sizes @ means / sizes.sum(), lower, upper)
    means -= sizes @ means / sizes.sum()
    c = fit_within(sizes, means, lower, upper)
    if c is None:
        return
    n = sizes.sum()
    assert lower <= c.min()
    assert c.max() <= upper
    assert sizes @ c / n == pytest.approx(0, abs=1e-9)
    assert sizes @ c**2 / n == pytest.approx(1, abs=1e-9)
    assert (np.diff(c[np.argsort(means)]) >= -1e-12).all()


def test_renormalised_means_stay_within_where_stretching_can() -> None:
    data = instance(p3m, 3)
    free = data.renormalised
    ends = {"lower": float(free.min() + 0.05), "upper": float(free.max() + 0.5)}
    inside = replace(data, **ends).renormalised
    assert inside.min() == ends["lower"]
    at = p3m.point(replace(data, **ends), inside)
    missed = p3m.violations(replace(data, **ends), at)
    assert max(missed[row] for row in ("mean", "variance", "lower", "upper")) < 1e-12
    wide = replace(data, lower=-9.0, upper=9.0)
    assert (wide.renormalised == free).all()


def test_what_is_nearly_on_a_bound_is_put_on_it() -> None:
    c = np.array([-1.0 - 1e-7, -1.1, 0.5, 2.0 + 1e-8])
    assert move_to_bounds(c, -1.0, 2.0).tolist() == [-1.0, -1.1, 0.5, 2.0]
    assert move_to_bounds(c, -np.inf, np.inf).tolist() == c.tolist()


HARD = np.array([1.0, 0, 0, 0, 0, 0])


def demanding(model, lower, upper=np.inf, delta=0.5):
    """Return three groups, of which the first record insists on a distance."""
    x = np.array([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5])
    x /= x.std()
    ends = {"lower": lower, "upper": upper}
    return model.Data(x, np.arange(6) // 2, np.full(6, delta), HARD, 0.5, **ends)


def test_a_demand_has_the_values_within_the_bounds_alone() -> None:
    x = float(demanding(p3m, -np.inf).x[0])
    assert p3m.list_demanded_values(demanding(p3m, -np.inf))[1].tolist() == [
        [x - 0.5, x + 0.5]
    ]
    low, high = p3m.list_demanded_values(demanding(p3m, x - 0.4))[1][0]
    assert np.isnan(low)
    assert high == x + 0.5
    at_end = p3m.list_demanded_values(demanding(p3m, x - 0.5 + 1e-12))[1][0]
    assert at_end[0] == x - 0.5 + 1e-12


def test_a_least_distance_leaves_intervals_within_the_bounds() -> None:
    x = float(demanding(p3m_onesided, -np.inf).x[0])
    found = p3m_onesided.list_allowed_intervals(demanding(p3m_onesided, x - 0.7, 2.0))
    assert found == {0: [(x - 0.7, x - 0.5), (x + 0.5, 2.0)]}
    found = p3m_onesided.list_allowed_intervals(demanding(p3m_onesided, x - 0.2, 2.0))
    assert found == {0: [(x + 0.5, 2.0)]}


@pytest.mark.parametrize("model", [p3m, p3m_onesided])
def test_demands_that_leave_no_value_within_are_refused_by_groups(model) -> None:
    with refused(InfeasibleInputError):
        demanding(model, -1.5, 1.5, delta=3.5)


def test_bounds_of_each_attribute_go_to_its_own_program() -> None:
    data = data_of(p3m_joint, -1.0, 1.1)
    assert [(a.lower, a.upper) for a in data.apart] == [(-np.inf, np.inf), (-1.0, 1.1)]
    both = replace(of_model(p3m_joint, joint(2)), lower=-5.0)
    assert [(a.lower, a.upper) for a in both.apart] == [(-5.0, np.inf)] * 2
