"""Programs within bounds: against all feasible points, and who may solve them."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import require_solver
from joint_instances import instance as joint
from refusals import refused
from shift_instances import MODELS as SHIFTS
from shift_instances import instance

from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.solve import solve_separable
from aggopt.algorithms.reduced import JointReduced, Reduced
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.models import MODELS, p3m
from aggopt.solvers import SOLVERS, Status, choose_solver
from aggopt.solvers.registry import list_able_solvers
from aggopt.solvers.run_solver import run_here

ANGLES = 800


def all_points(data, lower, upper):
    """Return the feasible points (k, m) of three groups, up to a step of the angle."""
    turn = np.linspace(0, 2 * np.pi, ANGLES, endpoint=False)
    root = np.sqrt(data.sizes)  # root * c lies on a sphere, across root
    across = np.linalg.svd(root[None])[2][1:]
    unit = np.column_stack([np.cos(turn), np.sin(turn)])
    every = np.sqrt(len(data.x)) * (unit @ across) / root
    inside = (every >= lower) & (every <= upper)
    return every[inside.all(axis=1)]


@pytest.mark.parametrize("model", SHIFTS, ids=lambda m: m.MODEL.name)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_within_bounds_is_the_least_of_all_points(model, seed) -> None:
    free = instance(model, seed, n=12, m=3)
    best = solve_separable(build_separable_program(free)).centroids
    # the optimum without bounds is cut off
    ends = {"lower": float(best.min() + 0.05), "upper": float(best.max() + 1.0)}
    points = all_points(free, **ends)
    try:
        data = replace(free, **ends)
    except InfeasibleInputError:
        assert not len(points)
        return
    found = solve_separable(build_separable_program(data))
    if not len(points):
        assert found.status in (Status.INFEASIBLE, Status.FAILED)
        return
    least = min(model.objective(data, model.point(data, c)) for c in points)
    assert found.status is Status.OPTIMAL
    assert found.bound <= least + 1e-9
    assert found.objective <= least + 1e-6 * max(1, abs(least))
    assert found.centroids.min() >= data.lower - 1e-15
    at = model.point(data, found.centroids)
    assert model.MODEL.violation(data, at) <= 1e-9


def test_bounds_that_do_not_cut_change_no_bit() -> None:
    free = instance(p3m, 1, n=12, m=3)
    wide = replace(free, lower=-50.0, upper=50.0)
    one, other = (
        solve_separable(build_separable_program(free)),
        solve_separable(build_separable_program(wide)),
    )
    assert (one.centroids == other.centroids).all()
    assert one.bound == other.bound


def test_a_group_without_a_value_within_makes_it_infeasible() -> None:
    program = build_separable_program(instance(p3m, 1, n=12, m=3))
    group = np.arange(len(program.low)) > 0
    cut = program._replace(
        first=np.concatenate([[0], program.first[1:] - 1]),
        low=program.low[group],
        high=program.high[group],
        quartic=program.quartic[group],
        level=program.level[group],
    )
    assert solve_separable(cut).status is Status.INFEASIBLE


def test_ipopt_is_told_the_bounds_and_demands_within_them() -> None:
    data = replace(instance(p3m, 1, n=12, m=3), lower=-1.25, upper=2.0)
    low, high = Reduced(data).bounds(data.means)
    assert low + data.means == pytest.approx(np.full(3, -1.25))
    assert high + data.means == pytest.approx(np.full(3, 2.0))


@pytest.mark.parametrize("name", ["ipopt", "cvxpy:uno"])
def test_local_solvers_stay_within(name) -> None:
    require_solver(name)
    free = instance(p3m, 2, n=20, m=5)
    best = solve_separable(build_separable_program(free)).centroids
    data = replace(free, lower=float(best.min() + 0.05))
    found = run_here(p3m.MODEL, data, SOLVERS[name], None, None, None)
    at = p3m.point(data, found.reading)
    assert p3m.MODEL.violation(data, at) < 1e-6
    proven = solve_separable(build_separable_program(data)).bound
    assert p3m.objective(data, at) >= proven - 1e-6 * max(1.0, abs(proven))


@pytest.mark.slow
@pytest.mark.parametrize("model", SHIFTS, ids=lambda m: m.MODEL.name)
def test_the_bound_is_never_above_what_scip_reaches(model) -> None:
    require_solver("pyomo:scip")
    free = instance(model, 2, n=12, m=4)
    best = solve_separable(build_separable_program(free)).centroids
    data = replace(free, lower=float(best.min() + 0.05))
    found = run_here(model.MODEL, data, SOLVERS["pyomo:scip"], None, 60.0, None)
    at = model.point(data, found.reading)
    assert model.MODEL.violation(data, at) < 1e-5
    own = solve_separable(build_separable_program(data))
    assert own.bound <= model.objective(data, at) + 1e-5
    assert own.objective <= model.objective(data, at) + 1e-4


def test_a_solver_that_keeps_no_bounds_is_refused_in_words() -> None:
    kinds = MODELS["p3m_joint"].kinds
    assert choose_solver("stiefel", *kinds).name == "stiefel"
    with refused(JobError) as error:
        choose_solver("stiefel", *kinds, within=True)
    solvers = list_able_solvers(*kinds, within=True)
    first = next(solver.name for solver in solvers if solver.installed)
    assert error.value.fix.startswith(f"choose one of {first}")
    able = [solver.name for solver in solvers]
    assert "stiefel" not in able
    assert {"ipopt", "cvxpy:uno", "pyomo:scip"} <= set(able)
    assert choose_solver(None, *kinds, within=True).boxes
    assert choose_solver(None, *kinds).name == "stiefel"


def test_joint_programs_of_ipopt_have_the_bounds_of_each_attribute() -> None:
    data = replace(joint(2), lower=np.array([-np.inf, -1.5]), upper=np.array([2.5, 9]))
    low, high = JointReduced(data).bounds(data.means)
    back = low.reshape(data.means.shape) + data.means
    assert np.isneginf(back[:, 0]).all()
    assert back[:, 1] == pytest.approx(-1.5)
    assert high.reshape(data.means.shape)[:, 0] + data.means[:, 0] == pytest.approx(2.5)
