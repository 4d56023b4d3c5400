"""An earlier result to set out from: of the same groups, and never lost."""

from types import ModuleType

import cvxpy as cp
import numpy as np
import pytest
from refusals import refused

from aggopt.aggregate import by_model, mean, p3m
from aggopt.core.plugins.loading import find_origin
from aggopt.errors import JobError
from aggopt.models.shared.user_model import adopt_model
from aggopt.solvers import Status

X = np.sort(np.random.default_rng(0).normal(size=(12, 1)), axis=0)
LABELS = np.arange(12) // 3


def idle(model, data, *, start):
    """Return a feasible point that costs more than the optimum."""
    return data.renormalised


def test_an_earlier_result_is_kept_where_a_solver_finds_nothing_better():
    best = p3m(X, LABELS, delta=0.5)
    plain = p3m(X, LABELS, delta=0.5, solver=idle).certificates[0]
    assert plain.objective > best.certificates[0].objective + 1e-3
    again = p3m(X, LABELS, delta=0.5, solver=idle, start=best)
    (proof,) = again.certificates
    assert proof.status is Status.KEPT
    assert proof.objective == pytest.approx(best.certificates[0].objective)
    assert again.centroids == pytest.approx(best.centroids)


def test_what_is_better_than_the_start_is_published():
    worse = p3m(X, LABELS, delta=0.5, alpha=0.0)
    (proof,) = p3m(X, LABELS, delta=0.5, solver="uno", start=worse).certificates
    assert proof.status is Status.LOCAL
    alone = p3m(X, LABELS, delta=0.5, solver=idle).certificates[0]
    assert proof.objective <= alone.objective


def test_a_start_that_may_not_be_published_is_only_where_it_sets_out():
    started = []

    def noting(model, data, *, start):
        started.append(start)
        return data.renormalised

    far = np.full((4, 1), 3.0)
    (proof,) = p3m(X, LABELS, solver=noting, start=far).certificates
    assert proof.status is Status.LOCAL
    assert started[0] == pytest.approx((far[:, 0] - X.mean()) / X.std())


def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    rows = [cp.abs(c[labels] - x) <= cap, sizes @ c == 0]
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), rows)


def worse(model, data):
    return data.labels.max() * 0.0 + np.array([-0.9, -0.3, 0.3, 0.9])


def test_own_models_keep_a_start_that_is_better_and_prove_what_is_proven():
    best = by_model(X, LABELS, capped, cap=9.0, solver="clarabel")
    (proof,) = by_model(
        X, LABELS, capped, cap=9.0, solver=worse, start=best
    ).certificates
    assert proof.status is Status.KEPT
    assert proof.objective == pytest.approx(best.certificates[0].objective, abs=1e-6)
    assert proof.multipliers is None
    again = by_model(X, LABELS, capped, cap=9.0, solver="clarabel", start=best)
    assert again.certificates[0].status is Status.OPTIMAL
    assert again.certificates[0].objective <= best.certificates[0].objective
    wide = by_model(X, LABELS, capped, cap=9.0, solver=worse, start=9 + best.centroids)
    assert wide.certificates[0].status is Status.LOCAL  # it misses the mean


def test_a_model_that_takes_no_start_is_solved_without():
    seen = []
    plain = ModuleType("plain")

    def build(data, language):
        seen.append(language)

    parts = {
        "KIND": "QP",
        "LANGUAGES": ("cvxpy",),
        "Data": lambda x, labels: None,
        "build": build,
        "objective": len,
        "violations": len,
        "centroids": len,
        "point": len,
    }
    vars(plain).update(parts)
    own = adopt_model(plain, find_origin("models", plain))
    own.build(None, "cvxpy", start=np.zeros(2))
    assert seen == ["cvxpy"]


@pytest.mark.parametrize("labels", [np.arange(12) // 4, np.arange(12)[::-1] // 3])
def test_a_result_of_other_groups_is_refused(labels):
    earlier = mean(X, LABELS)
    for call in (
        lambda: p3m(X, labels, solver="uno", start=earlier),
        lambda: by_model(X, labels, capped, start=earlier),
    ):
        with refused(JobError, "12"):
            call()


def test_centroids_of_another_shape_are_refused():
    with refused(JobError, "start has shape"):
        by_model(X, LABELS, capped, start=np.zeros((3, 1)))
    with refused(JobError, "start has shape"):
        by_model(X, LABELS, capped, start="means")
