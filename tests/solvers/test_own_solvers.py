"""Solvers of the user's, and those that a language has: their word proves nothing."""

import pickle
from functools import partial
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from refusals import refused

import aggopt
from aggopt.aggregate import AGGREGATORS, by_model, p3m
from aggopt.core.plugins import loading as own_code
from aggopt.core.plugins.loading import trust_files
from aggopt.errors import JobError, SolverError, UnknownNameError, UntrustedCodeError
from aggopt.job import Recommended
from aggopt.partition import PARTITIONERS, univariate
from aggopt.privacy.model import REQUIREMENTS
from aggopt.solvers import SOLVERS, Status, choose_solver, solve
from aggopt.solvers._cvxpy import list_classes
from aggopt.solvers.certificate import Answer
from aggopt.solvers.solver import LOCAL_OPTIMUM

X = np.sort(np.random.default_rng(0).normal(size=(12, 1)), axis=0)
LABELS = np.arange(12) // 3


def stretch(model, data, *, start):
    return data.renormalised


def answering(status, bound, reading=True):
    def solver(model, data):
        found = data.renormalised if reading else None
        return Answer(found, status, bound, "mine", 0.0)

    return solver


def test_what_an_own_solver_finds_is_judged_and_its_bound_is_a_claim():
    plain = p3m(X, LABELS, solver=stretch).certificates[0]
    assert (plain.status, plain.bound, plain.claimed) == (Status.LOCAL, None, None)
    assert plain.solver == "stretch"

    def claiming(model, data):
        return data.renormalised, 0.01

    proof = p3m(X, LABELS, solver=claiming).certificates[0]
    assert proof.bound is None
    assert (proof.claimed.bound, proof.claimed.by) == (0.01, "object claiming")
    assert proof.objective == plain.objective

    def lying(model, data):
        return data.renormalised, 1e9

    assert p3m(X, LABELS, solver=lying).certificates[0].claimed is None


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (answering(Status.OPTIMAL, 0.01), Status.LOCAL),
        (answering(Status.LIMIT, None), Status.LIMIT),
        (answering(Status.INFEASIBLE, None, reading=False), Status.FAILED),
        (lambda model, data: None, Status.FAILED),
        (lambda model, data: data.means * 5, Status.FAILED),
    ],
)
def test_its_word_is_worth_that_of_a_local_solver(said, status):
    proof = p3m(X, LABELS, solver=said).certificates[0]
    assert proof.status is status
    assert proof.bound is None


def test_it_gets_the_limit_and_options_that_it_takes(ticking):
    seen = {}

    def noting(model, data, *, time_limit, options):
        seen.update(time_limit=time_limit, options=options)
        return data.renormalised

    p3m(X, LABELS, solver=noting, time_limit=7.0, options={"a": 1})
    assert seen["time_limit"] == pytest.approx(7.0, abs=0.1)
    assert seen["options"] == {"a": 1}
    with refused(JobError):
        p3m(X, LABELS, solver=stretch, options={"a": 1})
    with refused(JobError, "time_limit = -1"):
        p3m(X, LABELS, solver=noting, time_limit=-1.0)
    assert choose_solver(noting, "NLP").limited
    assert not choose_solver(stretch, "NLP").limited


def test_it_gets_none_of_what_is_not_given():
    seen = []

    def documented(model, data, *, start, time_limit, options):
        seen.append((time_limit, options))
        return data.renormalised

    def of_any(model, data, **how):
        seen.append((how["time_limit"], how["options"]))
        return data.renormalised

    p3m(X, LABELS, solver=documented)
    p3m(X, LABELS, solver=of_any)
    assert seen == [(None, None)] * 2


def test_it_gets_copies_and_cannot_change_what_judges_it():
    def cheat(model, data, *, start):
        object.__setattr__(model, "objective", lambda data, at: -1.0)
        start[...] = 0.0
        data.sizes[...] = 3 * (data.renormalised > 0)
        data.x[...] = 0.0
        data.labels[...] = 0
        return data.renormalised

    plain = p3m(X, LABELS, solver=stretch)
    made = p3m(X, LABELS, solver=cheat)
    assert (made.centroids == plain.centroids).all()
    theirs, ours = made.certificates[0], plain.certificates[0]
    assert (theirs.objective, theirs.violation) == (ours.objective, ours.violation)


def test_a_function_is_judged_by_its_program_whatever_a_solver_says_of_a_point():
    def lying(model, data):
        problem = model.build(data, "cvxpy")
        problem.var_dict["c"].value = np.full(len(data.sizes), 0.0)
        return model.reader(problem, data)._replace(cost=-1e9)

    made = by_model(X, LABELS, near, solver=lying)
    assert made.certificates[0].objective == pytest.approx(12.0)


def test_what_it_raises_is_told_by_type():
    def failing(model, data):
        raise ValueError("4711")

    with refused(JobError) as error:
        p3m(X, LABELS, solver=failing)
    assert "4711" not in str(error.value)

    def strange(model, data):
        return data.renormalised, "low"

    with refused(JobError):
        p3m(X, LABELS, solver=strange)


class Telling:
    def __array__(self, *how, **more):
        raise RuntimeError("4711")

    c = property(__array__)


def near(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), [c <= 9])


@pytest.mark.parametrize(
    "returned",
    [
        lambda m: np.zeros(m - 1),
        lambda m: np.zeros((m, 1)),
        lambda m: np.full(m, 1j),
        lambda m: "4711",
        lambda m: Answer(np.zeros(m), "4711", None, "mine", 0.0),
        lambda m: Telling(),
    ],
)
def test_what_cannot_be_judged_is_refused_in_words(returned):
    def wrong(model, data):
        return returned(4)

    runs = (lambda: p3m(X, LABELS, solver=wrong), lambda: own(X, LABELS, solver=wrong))
    own = partial(by_model, model=near)
    for run in runs:
        with refused(JobError) as error:
            run()
        assert "4711" not in str(error.value)


@pytest.mark.parametrize("returned", [np.zeros(3, int), np.full(12, 0.5), "4711"])
def test_labels_that_cannot_be_judged_are_refused_in_words(returned):
    with refused(JobError):
        univariate(X[:, 0], 3, solver=lambda model, data: returned)


def test_a_file_with_a_solver_is_run_only_if_it_is_trusted(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def stretch(model, data):\n    return data.renormalised, 0.0\n")
    name = f"{path}:stretch"
    with pytest.raises(UntrustedCodeError):
        p3m(X, LABELS, solver=name)
    with trust_files([path]):
        proof = p3m(X, LABELS, solver=name).certificates[0]
        solver = choose_solver(name, "NLP")
    assert proof.solver == "mine.py:stretch"
    assert proof.claimed.by.startswith("mine.py, sha256 ")
    assert choose_solver(solver, "NLP") is solver
    assert pickle.loads(pickle.dumps(solver)).name == solver.name
    assert hash(solver) == hash(pickle.loads(pickle.dumps(solver)))


def test_a_solver_object_of_the_users_proves_nothing():
    from dataclasses import replace

    theirs = replace(SOLVERS["cvxpy:highs"], name="mine")
    own = choose_solver(theirs, "LP")
    assert (own.finds, own.duals, own.harmless) == (LOCAL_OPTIMUM, False, frozenset())
    assert own.origin is not None
    with refused(JobError):
        choose_solver(replace(SOLVERS["cvxpy:highs"], when="mine"), "LP")
    assert choose_solver(SOLVERS["cvxpy:highs"], "LP") is SOLVERS["cvxpy:highs"]


@pytest.mark.parametrize("name", ["scip", "cvxpy:HIGHS", "closed form", "adopted"])
def test_what_would_look_like_another_solver_is_refused(name):
    def own(model, data):
        return data.renormalised

    own.__name__ = name
    with pytest.raises(JobError, match=f"is called '{name}', as other solvers are"):
        choose_solver(own, "NLP")


def test_what_is_no_solver_is_refused():
    with pytest.raises(UnknownNameError):
        choose_solver(3, "LP")
    with refused(JobError):
        choose_solver(lambda: 3, "LP")
    problem = cp.Problem(cp.Minimize(cp.Variable(nonneg=True)))
    with refused(JobError):
        solve(problem, stretch)


def box() -> cp.Problem:
    x = cp.Variable(2, bounds=[0, 3])
    return cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) >= 2])


@pytest.mark.parametrize("name", ["cvxpy:OSQP", "cvxpy:osqp"])
def test_any_solver_of_cvxpy_solves_and_its_bound_is_recomputed(name):
    problem = box()
    ended = solve(problem, name)
    assert ended.solver == "cvxpy:OSQP"
    assert ended.status is Status.LOCAL  # its word; the bound is ours
    assert 2 - 1e-5 < ended.bound <= 2
    assert problem.value == pytest.approx(2, abs=1e-3)


def test_what_cannot_be_recomputed_is_not_proven():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.norm(x - 1)), [cp.sum(x) == 1])
    ended = solve(problem, "cvxpy:SCS")
    assert (ended.status, ended.bound) == (Status.LOCAL, None)


def test_options_of_any_solver_are_its_own_and_a_limit_is_taken():
    assert solve(box(), "cvxpy:OSQP", options={"max_iter": 1}).status is Status.LIMIT
    assert solve(box(), "cvxpy:OSQP", time_limit=3.0).status is Status.LOCAL


def test_any_solver_of_pyomo_solves_and_its_bound_is_recomputed():
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var([0, 1], bounds=(0, 3))
    problem.row = pyo.Constraint(expr=problem.x[0] + problem.x[1] >= 2)
    problem.cost = pyo.Objective(expr=problem.x[0] + 2 * problem.x[1])
    ended = solve(problem, "pyomo:appsi_highs")
    assert ended.status is Status.LOCAL
    assert ended.bound == pytest.approx(2, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("cvxpy:OSPQ", UnknownNameError),
        ("pyomo:gurbi", UnknownNameError),
        ("cvxpy:GUROBI", SolverError),
        ("pyomo:glpk", SolverError),
        ("julia:HiGHS", UnknownNameError),
        ("cvxpy:", UnknownNameError),
    ],
)
def test_solvers_that_a_language_has_not_are_refused(name, error):
    with refused(error):
        choose_solver(name, "LP")


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("OSQP", {"LP", "QP"}),
        ("SCS", {"LP", "QP", "SOCP", "SDP"}),
        ("CVXOPT", {"LP", "QP", "SOCP", "SDP"}),
        ("ECOS", {"LP", "QP", "SOCP"}),
        ("SCIPY", {"LP", "MILP"}),
        ("GLOP", {"LP"}),
        ("XPRESS", {"LP", "QP", "SOCP", "MILP", "MIQP"}),
        ("IPOPT", {"NLP"}),
        ("nobody", set()),
    ],
)
def test_a_solver_of_cvxpy_takes_the_classes_that_it_is_handed(name, classes):
    assert list_classes(name) == classes


def test_a_class_that_it_does_not_take_is_refused_with_those_that_it_does():
    with refused(JobError, "NLP", "QP"):
        choose_solver("cvxpy:OSQP", "p3m", "NLP")
    with refused(JobError, "LP", "p3m_onesided"):
        choose_solver("lagrangian", "LP")
    with refused(JobError, "OSQP", "NLP"):
        aggopt.Job(
            roles={"quasi-identifier": ["age"]},
            privacy={"k": 3},
            aggregation={"method": "p3m", "solver": "cvxpy:OSQP"},
        )


def test_a_solver_that_is_known_here_is_the_one_that_is_known():
    assert choose_solver("cvxpy:HIGHS", "LP") is SOLVERS["cvxpy:highs"]
    assert choose_solver("cvxpy:Clarabel", "QP") is SOLVERS["cvxpy:clarabel"]


def test_highs_that_gives_up_on_exact_reduced_costs_is_asked_again():
    x = np.sort(np.random.default_rng(0).normal(size=(20, 2)), axis=0)[:, 0]
    x, labels = (x - x.mean()) / x.std(), np.arange(20) // 4
    c = cp.Variable(5)
    rows = [cp.abs(c[labels] - x) <= 1.0, 4 * cp.sum(c) == 0]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), rows)
    ended = solve(problem, "highs")
    assert ended.status.usable
    assert ended.bound == pytest.approx(problem.value, abs=1e-4)
    tight = solve(problem, "highs", options={"dual_feasibility_tolerance": 1e-9})
    assert tight.status is Status.FAILED  # as it was asked


class Plugin(SimpleNamespace):
    """An entry point that must not be loaded."""

    value, dist = "evil:thing", None

    def load(self):
        raise AssertionError(f"{self.name} is loaded")


@pytest.mark.parametrize(
    ("kind", "registry", "names"),
    [
        ("solvers", SOLVERS, ["uno", "cvxpy:uno", "cvxpy:OSQP", "adopted"]),
        ("partitioners", PARTITIONERS, ["mdav", "recommended", "loss_bound"]),
        ("aggregators", AGGREGATORS, ["mean", "by_model"]),
        ("privacy_models", REQUIREMENTS, ["l", "repair", "own"]),
    ],
)
def test_no_entry_point_takes_a_name_that_means_something_here(
    monkeypatch, kind, registry, names
):
    points = [Plugin(name=name) for name in (*names, "free")]
    monkeypatch.setattr(own_code, "entry_points", lambda *, group: points)
    assert [name for name in names if registry.names_user_code(name)] == []
    assert registry.names_user_code("free")
    assert registry.plugin_kind == kind


def test_a_job_means_what_it_says_whatever_is_installed(monkeypatch):
    points = [Plugin(name=name) for name in ("uno", "recommended", "by_model")]
    monkeypatch.setattr(own_code, "entry_points", lambda *, group: points)
    roles, privacy = {"quasi-identifier": ["age"]}, {"k": 3}

    def job(**sections):
        return aggopt.Job(roles=roles, privacy=privacy, **sections).load_code()

    uno = job(aggregation={"method": "p3m", "solver": "uno"})
    assert uno.aggregation.solver == "uno"
    assert choose_solver("uno", "p3m", "NLP").name == "cvxpy:uno"
    for said in ({"method": "recommended"}, {"attributes": "together"}):
        assert isinstance(job(partition=said).partition, Recommended)
    with refused(UnknownNameError):
        job(aggregation={"method": "by_model"})
