"""The models of t-closeness: both declarations, NumPy, and every partition."""

from fractions import Fraction

import closeness as oracle
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from programs import missed_by
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, TableError, UnknownNameError
from aggopt.models import closeness_assign as assign
from aggopt.models import closeness_bound as bound
from aggopt.models import closeness_merge as merge
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.solvers import SOLVERS, Status, solve

HEADINGS = ("Data", "Variables", "Minimise", "Subject to", "Class:", "Source:")
NAMES = {
    assign: (
        "one",
        "mates",
        "first",
        "second",
        "transit",
        "above",
        "under",
        "close",
        "whole",
    ),
    bound: ("share", "lipschitz"),
    merge: ("cover", "sign", "close", "whole"),
}
MILP = pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs"])


def merging(seed=0, shares="whole", t=0.2, k=3):
    Z, values = oracle.instance(seed, 12)
    labels = np.arange(12) // 2
    pairs = [[g] for g in range(6)] + [[g, h] for g in range(6) for h in range(g)]
    unions = [sorted(u) for u in pairs] + [[0, 1, 2], [3, 4, 5], list(range(6))]
    column = np.repeat(np.arange(len(unions)), [len(u) for u in unions])
    group = np.concatenate(unions).astype(int)
    return merge.Data(Z, labels, Ordered.of(values), t, k, column, group, shares)


def assigning(seed=0, n=7, t=0.2, k=2):
    Z, values = oracle.instance(seed, n)
    return assign.Data(Z, Ordered.of(values), t, k)


def bounding(seed=0, n=12, t=0.1, pieces=3):
    Z, values = oracle.instance(seed, n)
    ordered = Ordered.of(values)
    return bound.Data(Z, ordered.place / (ordered.m - 1), t, pieces)


def somewhere(model, data, seed=0):
    rng = np.random.default_rng(seed)
    if model is merge:
        return merge.Point(rng.normal(size=len(data.first)))
    p, s = len(data.distances), len(data.sizes)
    shapes = ((len(data.x), s), (p, s), (len(data.x), data.ordered.m))
    return assign.Point(*(rng.normal(size=shape) for shape in shapes))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("model", "make"),
    [(merge, merging), (merge, lambda s: merging(s, "any")), (assign, assigning)],
)
def test_both_languages_and_numpy_say_the_same(model, make, seed):
    data = make(seed)
    at = somewhere(model, data, seed)
    declared, also = model.build(data, "cvxpy"), model.build(data, "pyomo")
    for name, value in at._asdict().items():
        # a value that is not whole: save_value does not ask
        declared.var_dict[name].save_value(value)
        for i in np.ndindex(value.shape):
            getattr(also, name)[i if len(i) > 1 else i[0]].set_value(
                value[i], skip_validation=True
            )
    assert float(declared.objective.value) == pytest.approx(model.objective(data, at))
    assert pyo.value(also.cost) == pytest.approx(model.objective(data, at))
    blocks = also.component_objects(pyo.Constraint)
    for one, block in zip(declared.constraints, blocks, strict=True):
        other = [missed_by(c) for c in block.values()]
        assert np.sort(np.ravel(one.violation())) == pytest.approx(np.sort(other))
    worst = max(np.max(c.violation()) for c in declared.constraints)
    assert model.MODEL.violation(data, at) >= worst - 1e-9
    if model is assign or data.shares == "any":
        assert model.MODEL.violation(data, at) == pytest.approx(worst)


@MILP
@pytest.mark.parametrize(("seed", "k", "t"), [(0, 2, 0.25), (1, 2, 0.15), (2, 3, 0.3)])
def test_assign_finds_the_best_of_all_partitions(name, seed, k, t):
    require_solver(name)
    data = assigning(seed, 7, t, k)
    problem = assign.build(data, SOLVERS[name].language)
    outcome = solve(problem, name, time_limit=600)
    Z, values = oracle.instance(seed, 7)
    labels = assign.labels(problem, data)
    assert oracle.holds(values, labels, k, Fraction(str(t)))
    best = float(oracle.least(Z, values, k, Fraction(str(t))))
    assert assign.objective(data, assign.point(data, labels)) == pytest.approx(best)
    assert outcome.bound == pytest.approx(best, rel=1e-4)
    assert assign.MODEL.violation(data, assign.point(data, labels)) < 1e-9


@MILP
def test_merge_finds_the_best_choice(name):
    require_solver(name)
    data = merging(3, t=0.25)
    problem = merge.build(data, SOLVERS[name].language)
    outcome = solve(problem, name)
    labels = merge.labels(problem, data)
    at = merge.point(data, labels)
    assert merge.MODEL.violation(data, at) == 0
    assert merge.objective(data, at) == pytest.approx(outcome.bound)
    loss = oracle.sse(data.x, oracle.parts(labels))
    assert merge.objective(data, at) == pytest.approx(float(loss))


def test_costs_and_numerators_are_those_of_exact_arithmetic():
    data = merging(1)
    _, values = oracle.instance(1, 12)
    for q, union in enumerate(np.split(data.group, data.first[1:])):
        rows = np.flatnonzero(np.isin(data.labels, union)).tolist()
        assert data.costs[q] == pytest.approx(float(oracle.sse(data.x, [rows])))
        unit = 12 * (data.ordered.m - 1) * len(rows)
        assert Fraction(int(data.numerators[q]), unit) == oracle.emd(values, rows)
        close = oracle.emd(values, rows) <= Fraction(1, 5)
        assert (q in data.barred) == (not close or len(rows) < 3)


def test_merge_violation_by_hand():
    data = merging(0, t=0.9)
    y = np.zeros(len(data.first))
    y[-1] = 1
    assert merge.MODEL.violation(data, merge.Point(y)) == 0
    y[-1] = 0.75
    assert merge.MODEL.violation(data, merge.Point(y)) == 0.25
    y[[-1, 0]] = 1, 1  # a group of two, k = 3
    assert merge.MODEL.violation(data, merge.Point(y)) == 1


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_below_the_best_partition(seed):
    require_solver("cvxpy:clarabel")
    for t in (Fraction(1, 20), Fraction(1, 5)):
        Z, values = oracle.instance(seed, 7)
        data = bounding(seed, 7, float(t))
        problem = bound.build(data, "cvxpy")
        outcome = solve(problem, "cvxpy:clarabel")
        proven = bound.proven(data, bound.multipliers(problem, data))
        best = float(oracle.least(Z, values, 2, t)) / Z.size
        assert proven <= best
        at = bound.Point(problem.var_dict["Y"].value)
        assert bound.MODEL.violation(data, at) < 1e-5
        assert bound.objective(data, at) == pytest.approx(proven, abs=1e-5)
        assert outcome.status.usable


def test_any_multipliers_prove_no_more_than_the_best():
    data = bounding(1, 9)
    problem = bound.build(data, "cvxpy")
    solve(problem, "cvxpy:clarabel")
    most = bound.proven(data, bound.multipliers(problem, data))
    assert most > 0.01
    rng = np.random.default_rng(0)
    for _ in range(50):
        z = rng.exponential(size=4) * rng.choice([0.01, 0.1, 1, 10])
        assert bound.proven(data, z) <= most + 1e-6


def test_the_root_is_one():
    data = bounding(2)
    assert data.root @ data.root.T == pytest.approx(data.covariance)
    assert data.along.shape[0] == 4


@pytest.mark.parametrize("model", NAMES, ids=lambda m: m.MODEL.name)
def test_the_head_states_the_model(model):
    places = [model.__doc__.find(f"\n{heading}") for heading in HEADINGS]
    assert min(places) > 0
    assert places == sorted(places)
    assert f"Class: {model.MODEL.kind}" in model.__doc__
    for name in NAMES[model]:
        assert f"\n    {name}: " in model.__doc__


@pytest.mark.parametrize(
    ("model", "data"),
    [(merge, merging()), (assign, assigning()), (bound, bounding())],
    ids=["merge", "assign", "bound"],
)
def test_data_shows_no_record_and_a_language_may_be_unknown(model, data):
    assert "array" not in repr(data)
    with refused(UnknownNameError, "'cvxpy'"):
        model.build(data, "cvxpi")
    assert model.build(data, "cvxpy").status is None


def test_data_that_states_no_program_is_refused():
    with refused(JobError, "not strictly between"):
        merging(t=1.0)
    with refused(UnknownNameError, "'any'"):
        merging(shares="an")
    with refused(InfeasibleInputError):
        assigning(n=31)
    with refused(JobError, "12"):
        bounding(pieces=0)
    with refused(TableError, "in each row"):
        bound.Data(np.zeros((3, 1)), np.zeros(2), 0.1)
    data = merging()
    same = (data.x, data.labels, data.ordered, 0.2, 3)
    with refused(JobError, "twice in one"):
        merge.Data(*same, np.zeros(7, int), np.array([0, 1, 2, 3, 4, 5, 5]))
    with refused(JobError, "not numbered"):
        merge.Data(*same, data.column[::-1], data.group)
    with refused(JobError, "not proposed"):
        merge.point(data, np.array([0] * 8 + [1] * 4))


LOOSE = [
    {"mip_rel_gap": 0.3},
    {"mip_feasibility_tolerance": 0.4},
    {"dual_feasibility_tolerance": 10.0},
    {"primal_feasibility_tolerance": 0.1},
]


@MILP
@pytest.mark.parametrize("options", LOOSE, ids=lambda options: next(iter(options)))
def test_no_option_puts_a_bound_above_what_is_reached(name, options):
    require_solver(name)
    language = SOLVERS[name].language
    t, Z, values = Fraction(1, 5), *oracle.instance(1, 7)
    cases = [
        (assign.build(assigning(1), language), float(oracle.least(Z, values, 2, t))),
        (merge.build(merging(3), language), _best_of_unions(merging(3))),
        (merge.build(merging(3, "any"), language), _best_of_unions(merging(3))),
    ]
    for problem, best in cases:
        outcome = solve(problem, name, options=options, time_limit=20)
        assert outcome.bound is None or outcome.bound <= best + 1e-9


def _best_of_unions(data):
    """Return the least loss of a choice of unions, by looking at all of them."""
    unions = [set(u.tolist()) for u in np.split(data.group, data.first[1:])]
    fit = [q for q in range(len(unions)) if q not in data.barred]

    def least(left):
        if not left:
            return 0.0
        first = min(left)
        own = [q for q in fit if first in unions[q] and unions[q] <= left]
        rest = [data.costs[q] + least(left - unions[q]) for q in own]
        return min(rest, default=np.inf)

    return float(least(set(range(len(data.sizes)))))


@pytest.mark.parametrize("tolerance", [0.1, 0.5, 10.0])
def test_no_tolerance_puts_the_semidefinite_bound_above_a_partition(tolerance):
    require_solver("cvxpy:clarabel")
    Z, values = oracle.instance(1, 7)
    data = bounding(1, 7, 0.2)
    problem = bound.build(data, "cvxpy")
    loose = {"tol_gap_rel": tolerance, "tol_gap_abs": tolerance, "tol_feas": tolerance}
    outcome = solve(problem, "clarabel", options=loose)
    assert (outcome.status, outcome.bound) == (Status.UNPROVEN, None)
    best = float(oracle.least(Z, values, 2, Fraction(1, 5))) / Z.size
    assert bound.proven(data, bound.multipliers(problem, data)) <= best
