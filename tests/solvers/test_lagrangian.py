"""Solver `lagrangian`, against brute force, local solvers, laws and named edges."""

from itertools import product

import numpy as np
import pytest
from from_python import from_python
from refusals import refused
from scipy.optimize import minimize

from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import Box, compute_implied_box
from aggopt.algorithms.lagrangian.solve import solve_separable
from aggopt.errors import JobError
from aggopt.models import p3m, p3m_onesided, satisfaction
from aggopt.models.shared.shift_data import renormalise_means
from aggopt.solvers import SOLVERS, Status

MODELS = (p3m, p3m_onesided, satisfaction)
ULP = 1e-12


def seeds(few, all_of_them):
    """Return few seeds, and more that `make test` leaves out."""
    more = range(few, all_of_them)
    return [*range(few), *(pytest.param(s, marks=pytest.mark.slow) for s in more)]


def standard(x):
    z = (x - x.mean()) / x.std()
    return (z - z.mean()) / z.std()


def instance(model, seed, n=20, m=4, *, delta=None, importance=None, weight=None):
    rng = np.random.default_rng(seed)
    x = standard(rng.normal(size=n) ** (1 + 2 * (seed % 2)))
    labels = rng.permutation(np.r_[np.arange(m), rng.integers(m, size=n - m)])
    scale = (0.1, 0.5, 1.0, 3.0)[seed % 4]
    delta = scale * rng.uniform(0, 1, n) if delta is None else np.full(n, delta)
    w = rng.uniform(0, 0.95, n) if importance is None else np.full(n, importance)
    alpha = rng.uniform(0.05, 0.95) if weight is None else weight
    return model.Data(x, labels, delta, w, alpha)


def value(model, data, centroids):
    return model.objective(data, model.point(data, centroids))


def solved(model, data, **options):
    """Solve, and check all that must hold of any answer."""
    found = solve_separable(build_separable_program(data), **options)
    assert found.status.usable
    at = model.point(data, found.centroids)
    assert model.MODEL.violation(data, at) <= 1e-9
    assert found.objective == pytest.approx(model.objective(data, at), rel=1e-9)
    assert found.bound <= found.objective
    return found


def feasible(data, directions):
    """Return centroids (k, m) that keep mean and variance, one for each direction.

    sqrt(n_j) c_j lies on a sphere, across sqrt(n_j).
    """
    root = np.sqrt(data.sizes)
    across = np.linalg.svd(root[None])[2][1:]
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return np.sqrt(len(data.x)) * (unit @ across) / root


def all_directions(m):
    """Directions that leave no gap of consequence on a sphere of m - 1 dimensions."""
    if m == 2:
        return np.array([[1.0], [-1.0]])
    turn = np.linspace(0, 2 * np.pi, 20_000 if m == 3 else 400)
    if m == 3:
        return np.column_stack([np.cos(turn), np.sin(turn)])
    rise = np.linspace(-np.pi / 2, np.pi / 2, 200)
    t, r = (grid.ravel() for grid in np.meshgrid(turn, rise))
    return np.column_stack([np.cos(t) * np.cos(r), np.sin(t) * np.cos(r), np.sin(r)])


def costs(data, many):
    """Return the cost of each row of centroids (k, m), piece by piece."""
    program = build_separable_program(data)
    total = np.zeros(len(many))
    for j in range(len(data.sizes)):
        t, least = many[:, j] - data.means[j], np.full(len(many), np.inf)
        for p in range(program.first[j], program.first[j + 1]):
            inside = (program.low[p] <= t) & (t <= program.high[p])
            cost = np.polynomial.polynomial.polyval(t, program.quartic[p])
            least = np.where(inside, np.minimum(least, cost), least)
        total += least
    return total


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", seeds(4, 8))
def test_the_pieces_cost_what_the_model_says(model, seed):
    data = instance(model, seed)
    many = np.random.default_rng(seed).normal(size=(50, len(data.sizes)))
    expected = [value(model, data, c) for c in many]
    assert costs(data, many) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("seed", seeds(4, 8))
def test_no_point_of_a_fine_grid_is_better(model, m, seed):
    data = instance(model, seed, m=m)
    found = solved(model, data)
    best = costs(data, feasible(data, all_directions(m))).min()
    size = max(1.0, abs(best))
    assert found.bound <= best + 1e-9 * size
    assert found.objective <= best + 1e-6 * size
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("model", [p3m, p3m_onesided])
@pytest.mark.parametrize("seed", seeds(3, 6))
def test_no_local_solver_gets_below_the_bound(model, seed):
    data = instance(model, seed, n=24, m=6)
    found = solved(model, data)
    rng, n = np.random.default_rng(seed), len(data.x)
    rows = (
        {"type": "eq", "fun": lambda c: data.sizes @ c / n},
        {"type": "eq", "fun": lambda c: data.sizes @ c**2 / n - 1},
    )
    reached = []
    for start in feasible(data, rng.normal(size=(15, 5))):
        local = minimize(
            lambda c: value(model, data, c), start, method="SLSQP", constraints=rows
        )
        exact = (local.x - data.sizes @ local.x / n)[None]
        exact /= np.sqrt(exact**2 @ data.sizes / n)
        reached.append(costs(data, exact)[0])
    assert found.bound <= min(reached) + ULP * abs(min(reached))
    assert found.objective <= min(reached) + 1e-6 * max(1.0, abs(min(reached)))


def best_of_all_patterns(data, kinds):
    """Return the least cost SLSQP reaches from each choice of a side by each group.

    Group g is like g + kinds: a choice by other groups of the same kind is no other.
    """
    q, n, C = build_separable_program(data).quartic, data.sizes, data.means
    records = len(data.x)
    powers = np.arange(5)

    def cost(c):
        return np.sum(q * (c - C)[:, None] ** powers)

    def slope(c):
        return np.sum(q[:, 1:] * powers[1:] * (c - C)[:, None] ** powers[:-1], axis=1)

    rows = (
        {"type": "eq", "fun": lambda c: n @ c / records, "jac": lambda c: n / records},
        {
            "type": "eq",
            "fun": lambda c: n @ c**2 / records - 1,
            "jac": lambda c: 2 * n * c / records,
        },
    )
    reached = []
    every = np.array(list(product((-1, 1), repeat=len(n))))
    ordered = np.sort(every.reshape(len(every), -1, kinds), axis=1)
    for signs in np.unique(ordered.reshape(every.shape), axis=0):
        start = C + 0.7 * signs
        local = minimize(cost, start, jac=slope, method="SLSQP", constraints=rows)
        c = local.x - n @ local.x / records
        reached.append(cost(c / np.sqrt(n @ c**2 / records)))
    return min(reached)


@pytest.mark.parametrize("seed", seeds(2, 6))
@pytest.mark.parametrize("kinds", [2, 8])
def test_no_choice_of_sides_is_better(seed, kinds):
    """Eight groups, all near a tie; of one kind by fours where there are two kinds."""
    rng = np.random.default_rng(seed)
    x = np.tile(rng.normal(size=(kinds, 1)), (8 // kinds, 3))
    spread = np.tile(0.1 * rng.normal(size=(kinds, 3)), (8 // kinds, 1))
    x = standard((x + spread).ravel())
    labels, many = np.repeat(np.arange(8), 3), np.full(24, 0.8)
    data = p3m.Data(x, labels, many, many, 0.8)
    found, best = solved(p3m, data, nodes=100), best_of_all_patterns(data, kinds)
    assert found.status is Status.OPTIMAL
    assert found.bound <= best * (1 + 1e-9)
    assert found.objective <= best + 1e-6 * max(1.0, abs(best))


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_what_is_handed_on_bounds_the_cardinalities_beyond(seed):
    from aggopt.algorithms.lagrangian.branch_and_bound import BoxNode, BranchAndBound
    from aggopt.algorithms.lagrangian.dual_optimum import MOST_EVALUATIONS, maximise
    from aggopt.algorithms.lagrangian.solve import compute_upper_bound

    rng = np.random.default_rng(seed)
    x = standard(np.repeat(rng.normal(size=80), 3) + 0.01 * rng.normal(size=240))
    many, labels = np.full(240, 0.8), np.repeat(np.arange(80), 3)
    program = build_separable_program(p3m.Data(x, labels, many, 0.5 * many, 0.8))
    box = compute_implied_box(program)
    search = BranchAndBound(program, 1e-12, compute_upper_bound(program, box))
    search.process(-np.inf, BoxNode(program, box, np.zeros(3), 1.0))
    handed = 0
    while search.heap and not any(node.direction for _, _, node in search.heap):
        search.process(*search.heap.pop(0)[::2])
    for _ in range(3):
        for lower, _, node in [entry for entry in search.heap if entry[2].direction]:
            search.heap = [entry for entry in search.heap if entry[2] is not node]
            before = {id(entry[2]) for entry in search.heap}
            search.process(lower, node)
            for bound, _, beyond in search.heap:
                if id(beyond) not in before and beyond.direction:
                    start = beyond.program, beyond.box, beyond.y, 1.0
                    top = maximise(*start, 1e-9, MOST_EVALUATIONS)
                    here = dual_value(beyond.program, beyond.box, top.y)
                    assert bound <= here + 1e-6 * abs(here)
                    handed += 1
    assert handed > 0


def dual_value(program, box, y):
    from aggopt.algorithms.lagrangian.dual_function import bound_dual

    return bound_dual(program, box, y)


def test_where_one_interval_ends_and_another_begins_nobody_is_near():
    x = standard(np.array([-1.0, 1.0, -1.0, 1.0]))
    data = satisfaction.Data(x, np.array([0, 0, 1, 1]), np.ones(4), np.ones(4), 1.0)
    between = np.zeros((1, 2))
    assert costs(data, between) == pytest.approx(-4)
    assert costs(data, between + 1e-6)[0] > -3


def test_points_that_miss_the_rows_are_not_called_restored():
    from aggopt.algorithms.lagrangian.restore import restore_rows

    x = standard(np.random.default_rng(0).normal(size=30))
    w = np.zeros(30)
    w[::3] = 1
    data = p3m.Data(x, np.arange(30) // 3, np.full(30, 0.5), w, 0.5)
    program = build_separable_program(data)
    t = program.low[program.first[:-1]]
    moved, exact = restore_rows(
        program, compute_implied_box(program), t, np.ones(10), False
    )
    assert not exact
    assert (moved == t).all()


def kernels_of_minima():
    """Return what kernels alone call, to be called from here."""
    from aggopt.algorithms.lagrangian import local_minima as kernels

    names = ("find_local_minima", "find_lowest", "make_workspace")
    return [from_python(getattr(kernels, name)) for name in names]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", seeds(4, 10))
def test_every_local_minimum_is_found(model, seed):
    local_minima, lowest, workspace = kernels_of_minima()

    data = instance(model, seed, n=12, m=2, importance=0.7 if seed % 3 else None)
    program, rng = build_separable_program(data), np.random.default_rng(seed)
    box, found = compute_implied_box(program), workspace(program)
    whole = costs(data, data.means[None])[0]
    own = [costs_of_one(data, j) for j in (0, 1)]
    for _ in range(20):
        y = np.array([*rng.normal(size=2) * 3, 0.0])
        for j in range(2):
            grid = np.linspace(box.low[j], box.high[j], 4001)
            grid = np.union1d(
                grid, program.low[program.first[j] : program.first[j + 1]]
            )
            grid = grid[(grid >= box.low[j]) & (grid <= box.high[j])]
            c, n = data.means[j] + grid, data.sizes[j]
            other = np.tile(data.means, (len(grid), 1))
            other[:, j] = c
            h = costs(data, other) - y[0] * n * c - y[1] * n * c**2
            h -= whole - own[j]
            count = local_minima(program, j, box.low[j], box.high[j], y, found)
            least = found[:count, 1].min()
            slack = 1e-9 * (1 + np.abs(h).max())
            assert least <= h.min() + slack
            assert lowest(program, j, box.low[j], box.high[j], y, found)[1] == (
                pytest.approx(least, abs=slack)
            )


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_a_local_minimum_under_a_lone_record_is_found(seed):
    """The slope's second derivative is 0 in the middle of the piece of one record."""
    local_minima, lowest, workspace = kernels_of_minima()

    rng = np.random.default_rng(seed)
    x = standard(rng.gamma(2.0, size=18))
    labels = rng.permutation(np.arange(18) // 3)
    wish = np.full(18, 0.3), np.full(18, 0.001)
    data = p3m_onesided.Data(x, labels, *wish, 0.9)
    program = build_separable_program(data)
    box, found = compute_implied_box(program), workspace(program)
    prices = rng.normal(size=(40, 2)) * 10 ** rng.uniform(-3, 0, (40, 2))
    for j in range(6):
        grid = np.linspace(box.low[j], box.high[j], 20_001)
        held = np.full(len(grid), np.inf)
        for p in range(program.first[j], program.first[j + 1]):
            on = (program.low[p] <= grid) & (grid <= program.high[p])
            here = np.polyval(program.quartic[p][::-1], grid[on])
            held[on] = np.minimum(held[on], here)
        c = data.means[j] + grid
        for y in prices:
            least = (held - 3 * c * (y[0] + y[1] * c)).min()
            full = np.array([*y, 0.0])
            args = program, j, box.low[j], box.high[j], full, found
            assert found[: local_minima(*args), 1].min() <= least + 1e-12
            assert lowest(*args)[1] <= least + 1e-12


def costs_of_one(data, j):
    """Return f_j at the group's own mean."""
    program = build_separable_program(data)
    held = [
        program.quartic[p, 0]
        for p in range(program.first[j], program.first[j + 1])
        if program.low[p] <= 0 <= program.high[p]
    ]
    return min(held)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", seeds(2, 4))
def test_laws(model, seed):
    data = instance(model, seed, n=60, m=12)
    found = solved(model, data)
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(60), rng.permutation(12)
    weight = data.price if model is satisfaction else data.alpha
    x, labels = data.x[order], names[data.labels[order]]
    wishes = (data.delta[order], data.importance[order])
    twice = [np.repeat(part, 2) for part in (x, labels, *wishes)]
    near = 3e-6 * max(1.0, abs(found.objective))
    for same, times in (
        (model.Data(x, labels, *wishes, weight), 1),
        (model.Data(-x, labels, *wishes, weight), 1),
        (model.Data(*twice, weight), 2),
    ):
        other = solved(model, same)
        assert other.objective == pytest.approx(times * found.objective, abs=2 * near)


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.5, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("w", [0.0, 0.5, 0.999999])
def test_the_ends_of_every_range(alpha, delta, w):
    rng = np.random.default_rng(7)
    x = standard(rng.normal(size=150))
    labels = np.argsort(np.argsort(x + 0.3 * rng.normal(size=150))) // 3
    data = p3m.Data(x, labels, np.full(150, delta), np.full(150, w), alpha)
    found = solved(p3m, data)
    assert found.status is Status.OPTIMAL
    if alpha == 0:
        assert found.centroids == pytest.approx(renormalise_means(data), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_two_groups_leave_two_points(seed):
    data = instance(p3m, seed, m=2)
    points = feasible(data, all_directions(2))
    best = min(value(p3m, data, c) for c in points)
    assert solved(p3m, data).objective == pytest.approx(best, rel=1e-9)


def test_group_means_that_coincide():
    x = np.array([-1.0, 1.0] * 3)
    data = p3m.Data(
        x, np.repeat(np.arange(3), 2), np.full(6, 0.5), np.full(6, 0.1), 0.5
    )
    found = solved(p3m, data)
    assert found.status is Status.OPTIMAL


def test_groups_of_equal_values_tie_by_the_hundred():
    """Their basins are symmetric: the dual divides every one of them."""
    rng = np.random.default_rng(3)
    x = standard(np.repeat(rng.normal(size=400), 3))
    n, labels = len(x), np.repeat(np.arange(400), 3)
    data = p3m.Data(x, labels, np.full(n, 0.8), np.full(n, 0.5), 0.8)
    found = solved(p3m, data)
    assert found.status is Status.OPTIMAL


def test_groups_of_one_kind_can_change_places():
    x = standard(np.r_[np.full(30, -1.0), np.full(30, 1.0)])
    n, labels = 60, np.arange(60) // 3
    data = p3m.Data(x, labels, np.full(n, 0.5), np.full(n, 0.1), 0.9)
    assert solved(p3m, data, nodes=200).status is Status.OPTIMAL


def test_a_hard_wish_leaves_two_values():
    rng = np.random.default_rng(2)
    x, w = standard(rng.normal(size=90)), np.full(90, 0.2)
    w[::30] = 1
    data = p3m.Data(x, np.arange(90) // 3, np.full(90, 0.5), w, 0.5)
    found = solved(p3m, data)
    groups, values = p3m.list_demanded_values(data)
    off = np.abs(values - found.centroids[groups, None]).min(axis=1)
    assert found.status is Status.OPTIMAL
    assert off.max() < 1e-12


def test_a_hard_one_sided_wish_is_kept():
    rng = np.random.default_rng(2)
    x, w = standard(rng.normal(size=90)), np.full(90, 0.2)
    w[::5] = 1
    data = p3m_onesided.Data(x, np.arange(90) // 3, np.full(90, 0.4), w, 0.5)
    assert solved(p3m_onesided, data).status is Status.OPTIMAL


def test_demands_that_leave_no_point_are_said_to():
    x = standard(np.array([-2.0, -1.0, 1.0, 2.0]))
    ones = np.ones(4)
    data = p3m_onesided.Data(x, np.array([0, 0, 1, 1]), 9 * ones, ones, 0.5)
    found = solve_separable(build_separable_program(data))
    assert found.status is Status.INFEASIBLE
    assert found.centroids is None


def test_a_limit_leaves_a_point_and_an_honest_bound():
    rng = np.random.default_rng(0)
    x = standard(rng.normal(size=300))
    many = np.full(300, 0.8)
    data = p3m.Data(x, np.arange(300) // 3, many, many, 0.8)
    first = solved(p3m, data, gap_tol=1e-15, time_limit=1e-9)
    assert first.status is Status.LIMIT
    assert first.nodes == 1
    best = solved(p3m, data).objective
    assert first.bound <= best <= first.objective * (1 + ULP)


def test_a_better_start_is_never_lost():
    data = instance(p3m, 1, n=40, m=8)
    best = solved(p3m, data)
    again = solved(p3m, data, start=best.centroids, nodes=0)
    assert again.objective <= best.objective * (1 + ULP)


def test_the_bound_is_below_every_feasible_point():
    data = instance(p3m, 5, n=40, m=8)
    found = solved(p3m, data)
    many = feasible(data, np.random.default_rng(0).normal(size=(5000, 7)))
    assert costs(data, many).min() >= found.bound


def test_no_group_can_be_outside_the_implied_box():
    data = instance(p3m, 3, n=30, m=5)
    box = compute_implied_box(build_separable_program(data))
    t = feasible(data, np.random.default_rng(0).normal(size=(20_000, 4))) - data.means
    assert (t >= box.low).all()
    assert (t <= box.high).all()
    assert (t.max(axis=0) > 0.9 * box.high).all()


def test_a_box_that_misses_a_group_is_empty():
    from aggopt.algorithms.lagrangian.program import is_in_every_group

    data = instance(p3m, 3, n=30, m=5)
    program = build_separable_program(data)
    low = np.zeros(5)
    assert is_in_every_group(program, Box(low, low + 1))
    assert not is_in_every_group(program._replace(low=low + 2), Box(low, low + 1))


def test_an_option_that_it_does_not_have_is_refused():
    from aggopt.algorithms import lagrangian as _lagrangian

    data = instance(p3m, 3)
    own = SOLVERS["lagrangian"]
    with refused(JobError, "gap_tolerance"):
        _lagrangian.run(data, own, {"gap_tolerance": 1.0}, data.means)
    found = _lagrangian.run(data, own, {"gap_tol": 1e-3}, data.means)
    assert found.status is Status.OPTIMAL
    assert found.bound <= value(p3m, data, found.reading)


@pytest.mark.slow
def test_a_hundred_thousand_groups():
    rng = np.random.default_rng(1)
    x = standard(rng.normal(size=300_000))
    labels = np.argsort(np.argsort(x)) // 3
    many = np.full(len(x), 0.5)
    found = solved(p3m, p3m.Data(x, labels, many, many, 0.5))
    assert found.status is Status.OPTIMAL


def everywhere(sizes, count, rng):
    """Return points (count, m) spread over all that keep mean and variance."""
    root = np.sqrt(sizes.astype(float))
    frame = np.column_stack([root, rng.normal(size=(len(root), len(root) - 1))])
    across = np.linalg.qr(frame)[0][:, 1:]
    way = rng.normal(size=(count, across.shape[1]))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    return way @ across.T * np.sqrt(sizes.sum()) / root


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.667, 1.0])
@pytest.mark.parametrize("seed", seeds(4, 8))
def test_nothing_is_certified_that_sampling_beats(model, weight, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    labels = np.tile(np.arange(m), 3)
    x = standard([rng.normal(size=3 * m), np.arange(3.0 * m) % 4][seed % 2])
    delta = np.full(3 * m, rng.choice([0.1, 0.5, 1.5]))
    importance = rng.uniform(0, 0.9, 3 * m) if seed % 3 else np.full(3 * m, 0.5)
    weight = weight or 1e-3 if model is satisfaction else weight
    data = model.Data(x, labels, delta, importance, weight)
    found = solve_separable(build_separable_program(data))
    points = everywhere(data.sizes, 1000, rng)
    least = min(model.objective(data, model.point(data, c)) for c in points)
    slack = 1e-6 * max(1.0, abs(least))
    assert found.bound <= least + slack
    if found.status is Status.OPTIMAL:
        assert found.objective <= least + slack


def test_a_flat_basin_is_not_cut_off():
    values = [-0.885198, -0.336872, 0.861761, -0.567366, 0.297517, -0.633685]
    half = np.full(6, 0.5)
    data = p3m_onesided.Data(
        standard(np.array(values)), np.array([0, 1, 2, 0, 1, 2]), half, half, 1.0
    )
    assert solve_separable(build_separable_program(data)).objective == pytest.approx(
        0, abs=1e-9
    )
