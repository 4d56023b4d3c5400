"""P3M as a user calls it: what it keeps, what it improves, how it fails."""

import numpy as np
import pytest
from conftest import require_solver
from refusals import refused

from aggopt.aggregate import mean, p3m, p3m_onesided, satisfaction
from aggopt.aggregate.shifted_means import ShiftOptions
from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.measure import sl
from aggopt.solvers import SOLVERS, Status

LOCAL = [n for n, s in SOLVERS.items() if s.fits("p3m", "NLP") and not s.is_global]
GLOBAL = [n for n, s in SOLVERS.items() if s.fits("p3m", "NLP") and s.is_global]
rng = np.random.default_rng(0)
X = rng.gamma(2.0, size=(60, 3)) * [1, 1e-9, 1e9] + [0, 0, 1e9]
LABELS = np.argsort(np.argsort(X[:, 0])) // 3


@pytest.mark.smoke
@pytest.mark.parametrize("solver", LOCAL)
def test_mean_and_variance_are_kept_and_certified(solver):
    require_solver(solver)
    masked = p3m(X, LABELS, solver=solver)
    assert masked.values.mean(axis=0) == pytest.approx(X.mean(axis=0), rel=1e-8)
    assert masked.values.std(axis=0) == pytest.approx(X.std(axis=0), rel=1e-8)
    for certificate in masked.certificates:
        assert certificate.status is Status.LOCAL
        assert certificate.solver == solver
        assert certificate.bound is None
        assert certificate.gap is None
        assert certificate.violation < 1e-8
        assert certificate.seconds > 0


def test_local_solvers_agree_at_mild_wishes():
    installed = [name for name in LOCAL if SOLVERS[name].installed]
    results = [p3m(X, LABELS, solver=solver) for solver in installed]
    first, *others = ([c.objective for c in r.certificates] for r in results)
    if not others:
        pytest.skip("one local solver only; to enable: pip install 'aggopt[pounce]'")
    for other in others:
        assert first == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solver", GLOBAL)
def test_no_local_solver_is_better_than_a_proven_bound(solver, seed):
    require_solver(solver)
    rng = np.random.default_rng(seed)
    few, labels = rng.gamma(2.0, size=(12, 1)), np.repeat(np.arange(4), 3)
    wish = {"delta": 0.8, "importance": rng.uniform(0, 0.9, (12, 1)), "alpha": 0.7}
    best = p3m(few, labels, solver=solver, time_limit=600, **wish).certificates[0]
    assert best.status is Status.OPTIMAL
    assert best.gap < 1e-4
    for name in LOCAL:
        if SOLVERS[name].installed:
            local = p3m(few, labels, solver=name, **wish).certificates[0]
            assert local.objective >= best.bound - 1e-6 * abs(best.bound)


@pytest.mark.parametrize("solver", [n for n in LOCAL if SOLVERS[n].language is None])
def test_an_unknown_option_is_refused(solver):
    require_solver(solver)
    with refused(JobError):
        p3m(X, LABELS, solver=solver, options={"no_such": 1})


def test_more_starts_never_make_it_worse():
    wish = {"delta": 0.9, "alpha": 0.9, "solver": "uno"}
    one = p3m(X, LABELS, **wish).certificates
    many = p3m(X, LABELS, **wish, starts=5, seed=1).certificates
    assert all(m.objective <= o.objective for m, o in zip(many, one, strict=True))
    assert any(m.objective < o.objective - 1e-6 for m, o in zip(many, one, strict=True))


def test_a_seed_makes_random_starts_the_same():
    wish = {"delta": 0.9, "alpha": 0.9, "solver": "uno", "starts": 2, "seed": 4}
    assert (p3m(X, LABELS, **wish).values == p3m(X, LABELS, **wish).values).all()


def test_a_relative_wish_is_a_share_of_the_z_score():
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    relative = p3m(X, LABELS, delta={"relative": 0.3}, solver="uno")
    absolute = p3m(X, LABELS, delta=0.3 * np.abs(z), solver="uno")
    assert relative.values == pytest.approx(absolute.values, rel=1e-9)


@pytest.mark.parametrize("solver", LOCAL)
def test_the_objective_is_no_worse_than_the_renormalised_means(solver):
    require_solver(solver)
    z = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    c = mean(z[:, None], LABELS, keep="variance").values.ravel()
    gamma = (0.1**2 - (c - z) ** 2) / (1 - 0.001)
    means = mean(z[:, None], LABELS).values.ravel()
    cost = 0.5 * (gamma**2).sum() + 0.5 * ((c - means) ** 2).sum()
    found = p3m(X, LABELS, solver=solver).certificates[0].objective
    assert found <= cost


def test_at_alpha_0_the_result_is_the_renormalised_mean():
    masked = p3m(X, LABELS, alpha=0)
    stretched = mean(X, LABELS, keep="variance")
    assert masked.values == pytest.approx(stretched.values, rel=1e-6)


def test_wishes_may_differ_by_attribute_and_record():
    everywhere = p3m(X, LABELS, delta=0.2, importance=0.3)
    by_attribute = p3m(X, LABELS, delta=[0.2] * 3, importance=[0.3] * 3)
    by_value = p3m(
        X, LABELS, delta=np.full(X.shape, 0.2), importance=np.full(X.shape, 0.3)
    )
    assert (everywhere.values == by_attribute.values).all()
    assert (everywhere.values == by_value.values).all()


def test_who_insists_is_heard_more():
    insists = np.full(X.shape, 0.05)
    insists[:20] = 0.95
    masked = p3m(X, LABELS, delta=0.6, importance=insists).values
    same = p3m(X, LABELS, delta=0.6, importance=0.05).values
    few = np.zeros(X.shape)
    few[:20] = 1
    heard = sl(X, masked, delta=0.5, importance=few)
    assert heard > sl(X, same, delta=0.5, importance=few)


def test_a_constant_attribute_is_returned_as_it_is():
    constant = np.column_stack([X[:, 0], np.full(60, 4.2)])
    masked = p3m(constant, LABELS)
    assert (masked.values[:, 1] == 4.2).all()
    assert masked.certificates[1].solver == "constant attribute"


def test_stopped_at_once_the_renormalised_means_come_back_and_it_says_so():
    masked = p3m(X, LABELS, solver="uno", options={"max_iterations": 1})
    assert {c.status for c in masked.certificates} == {Status.FALLBACK}
    stretched = mean(X, LABELS, keep="variance").values
    assert masked.values == pytest.approx(stretched, rel=1e-9)
    assert max(c.violation for c in masked.certificates) < 1e-12


def test_coinciding_group_means_are_no_obstacle():
    x = np.array([[-1.0], [1.0], [-1.0], [1.0], [-2.0], [2.0]])
    masked = p3m(x, [0, 0, 1, 1, 2, 2])
    assert masked.values.std() == pytest.approx(x.std(), rel=1e-6)


def test_progress_reaches_one():
    told = []
    p3m(X, LABELS, progress=told.append)
    assert told == pytest.approx([1 / 3, 2 / 3, 1.0])


@pytest.mark.parametrize("f", [p3m, p3m_onesided, satisfaction])
def test_progress_that_cannot_be_told_is_refused(f):
    with refused(JobError):
        f(X, LABELS, delta=0.1, progress=3)


@pytest.mark.parametrize(
    "wish",
    [
        {"delta": -0.1},
        {"delta": [0.1, 0.1]},
        {"delta": "far"},
        {"delta": [[0.1], [0.1, 0.2]]},
        {"delta": {"relative": [[1], [1, 2]]}},
        {"importance": [0.1, [0.2]]},
        {"importance": 1.1},
        {"importance": np.ones((60, 2))},
        {"alpha": 2},
        {"solver": "highs"},
        {"time_limit": -1},
        {"delta": np.full((60, 3), np.nan)},
        {"delta": 1e9},
        {"alpha": "a"},
        {"time_limit": "3"},
        {"time_limit": np.inf},
        {"delta": {"relativ": 0.1}},
        {"start": "mean"},
        {"starts": -1},
        {"seed": 1},
        {"options": {"no_such": 1}},
    ],
)
def test_unusable_wishes_are_refused(wish):
    with refused(JobError):
        p3m(X, LABELS, **wish)


def test_unknown_solver_and_one_group_are_refused():
    with refused(UnknownNameError, "'ipopt'"):
        p3m(X, LABELS, solver="ipop")
    with refused(InfeasibleInputError, "one group only"):
        p3m(X, np.zeros(60, int))


@pytest.mark.parametrize("solver", LOCAL)
def test_a_hard_wish_is_met_exactly(solver):
    require_solver(solver)
    insists = np.full(X.shape, 0.001)
    insists[3] = 1.0
    masked = p3m(X, LABELS, delta=0.2, importance=insists, solver=solver)
    assert all(c.status.usable for c in masked.certificates)
    moved = np.abs(masked.values[3] - X[3]) / X.std(axis=0)
    assert moved == pytest.approx(0.2, abs=1e-6)


def test_demands_that_contradict_each_other_are_refused():
    with refused(InfeasibleInputError, "contradict each other"):
        p3m(X, LABELS, importance=1.0)


def test_a_hard_wish_that_no_answer_meets_is_a_failure():
    insists = np.full(X.shape, 0.001)
    insists[3] = 1.0
    masked = p3m(
        X,
        LABELS,
        delta=0.2,
        importance=insists,
        solver="uno",
        options={"max_iterations": 1},
    )
    assert not any(c.status.usable for c in masked.certificates)
    assert all(c.violation > 1e-6 for c in masked.certificates)


def test_a_contradiction_names_its_column():
    insists = np.zeros(X.shape)
    insists[:, 1] = 1.0
    with refused(InfeasibleInputError):
        p3m(X, LABELS, importance=insists)


@pytest.mark.parametrize(
    "options",
    [
        {"gap_tol": "x"},
        {"gap_tol": float("nan")},
        {"gap_tol": -1},
        {"nodes": 0},
        {"nodes": 2.5},
        {"time_limit": -1},
        {"max_iter": 3},
    ],
)
def test_options_that_the_dual_does_not_have_are_refused(options):
    with pytest.raises(
        JobError, match=f"lagrangian refused one of its.*{next(iter(options))}"
    ):
        p3m(X, LABELS, options=options)


def test_options_of_the_dual_act():
    wish = {"delta": 0.9, "alpha": 0.9}
    rough = p3m(X, LABELS, options={"gap_tol": 0.5}, **wish).certificates
    fine = p3m(X, LABELS, **wish).certificates
    assert max(c.gap for c in fine) <= 1e-6
    assert max(c.gap for c in rough) <= 0.5
    assert sum(c.gap for c in rough) > sum(c.gap for c in fine)


def test_a_failure_proves_nothing():
    insists = np.full(X.shape, 0.001)
    insists[3] = 1.0
    stopped = {"solver": "uno", "options": {"max_iterations": 1}}
    for c in p3m(X, LABELS, importance=insists, **stopped).certificates:
        assert c.bound is None
        assert c.gap is None


@pytest.mark.parametrize(
    ("solver", "limit"),
    [("pyomo:scip", 600.0), ("lagrangian", None), ("cvxpy:uno", None)],
)
def test_what_branches_and_might_never_end_has_a_limit(solver, limit):
    assert ShiftOptions(SOLVERS[solver]).limit == limit
    assert ShiftOptions(SOLVERS[solver], time_limit=5.0).limit == 5.0
