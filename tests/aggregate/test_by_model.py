"""A model of the user's, a function, a file or a `Model`: it judges who solves it."""

import pickle
from dataclasses import replace
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from refusals import refused

from aggopt.aggregate import by_model, mean
from aggopt.aggregate.user_model import load_user_model
from aggopt.core.plugins.loading import load_plugin, trust_files
from aggopt.errors import JobError, SolverError, UnknownNameError
from aggopt.models import MODELS, covariance_mean
from aggopt.models.shared.user_model import PARTS, adopt_model
from aggopt.solvers import Status

FILE = Path(__file__).parent.parent.parent / "examples" / "own" / "median_mean.py"
X = np.sort(np.random.default_rng(0).normal(size=(12, 2)), axis=0)
LABELS = np.arange(12) // 3


def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    return cp.Problem(cp.Minimize(cp.sum_squares(off)), [cp.abs(off) <= cap])


def in_file(text: str, folder: Path, name: str = ""):
    path = folder / "mine.py"
    path.write_text(text)
    with trust_files([path]):
        return load_user_model(f"{path}{name}")


def median_mean():
    with trust_files([FILE]):
        return load_user_model(str(FILE))


@pytest.mark.parametrize("solver", [None, "clarabel", "cvxpy:OSQP"])
def test_a_function_gives_what_it_declares_with_its_own_judge(solver):
    made = by_model(X, LABELS, capped, cap=9.0, solver=solver)
    assert made.centroids == pytest.approx(mean(X, LABELS).centroids, abs=1e-5)
    for proof in made.certificates:
        assert proof.judge == "its own declaration, object capped"
        assert proof.violation < 1e-6
        assert proof.bound is not None
        assert proof.objective - 1e-4 < proof.bound <= proof.objective
    assert "judge" in made.certificates[0].to_dict()
    assert "judge='its own" in repr(made.certificates[0])


def test_a_tight_setting_is_kept_and_an_impossible_one_is_infeasible():
    width = np.ptp((X[:3, 0] - X[:, 0].mean()) / X[:, 0].std()) / 2
    tight = by_model(X[:, :1], LABELS, capped, cap=float(width) + 0.3, solver="highs")
    assert tight.certificates[0].status.usable
    none = by_model(X, LABELS, capped, cap=0.0, solver="clarabel")
    assert none.status == Status.INFEASIBLE
    assert none.certificates[0].violation == np.inf
    assert none.centroids == pytest.approx(mean(X, LABELS).centroids)


def test_settings_by_attribute_go_to_each():
    both = by_model(X, LABELS, capped, cap=np.array([9.0, 0.0]), solver="clarabel")
    assert [c.status.usable for c in both.certificates] == [True, False]
    each = by_model(X, LABELS, capped, cap=np.full(X.shape, 9.0), solver="clarabel")
    assert each.status == both.certificates[0].status


def test_a_constant_attribute_is_left_and_progress_is_told():
    flat, told = np.column_stack([X[:, 0], np.full(12, 7.0)]), []
    made = by_model(
        flat, LABELS, capped, cap=9.0, solver="clarabel", progress=told.append
    )
    assert (made.centroids[:, 1] == 7.0).all()
    assert told == [0.5, 1.0]


def test_a_file_is_judged_by_its_own_numpy():
    made = by_model(X, LABELS, median_mean())
    digest = median_mean().origin.sha256
    for j, proof in enumerate(made.certificates):
        z = (X[:, j] - X[:, j].mean()) / X[:, j].std()
        c = (made.centroids[:, j] - X[:, j].mean()) / X[:, j].std()
        assert proof.status is Status.OPTIMAL
        assert proof.objective == pytest.approx(np.abs(z - c[LABELS]).sum())
        assert proof.judge == f"median_mean.py, sha256 {digest}"
        assert np.bincount(LABELS) @ c == pytest.approx(0.0, abs=1e-6)


def test_the_file_of_an_outsider_has_at_most_70_lines():
    assert len(FILE.read_text("utf-8").splitlines()) <= 70


def test_all_that_a_file_lacks_is_named_at_once(tmp_path):
    with pytest.raises(JobError) as error:
        in_file('KIND = "LP"\ndef build(): ...\n', tmp_path)
    said = ", ".join(n for n in PARTS if n not in ("KIND", "build"))
    assert error.value.problem == f"mine.py lacks {said}, which a model has."


@pytest.mark.parametrize(
    "change",
    [
        ('"LP"', '"PL"'),
        ('("cvxpy",)', '("cvxpi",)'),
        ('("cvxpy",)', '"cvxpy"'),
        ('("cvxpy",)', "()"),
        ("def objective", "objective = 3\ndef _"),
    ],
)
def test_parts_that_cannot_be_are_refused(change, tmp_path):
    text = FILE.read_text("utf-8").replace(*change)
    with refused(JobError):
        in_file(text, tmp_path)


def test_what_a_file_raises_is_told_by_type_and_line(tmp_path):
    text = FILE.read_text("utf-8").replace(
        "return at.e.sum()", "raise KeyError('4711')"
    )
    model = in_file(text, tmp_path)
    with refused(JobError, "mine.py") as error:
        by_model(X, LABELS, model)
    assert "4711" not in str(error.value)
    broken = text.replace("raise KeyError('4711')", "return 'much'")
    with refused(JobError):
        by_model(X, LABELS, in_file(broken, tmp_path))


@pytest.mark.parametrize(
    "returned",
    [
        "None",
        "np.zeros(3)",
        "np.full(4, np.nan)",
        "'many'",
        "problem.var_dict['c'].value + 1j",
    ],
)
def test_centroids_that_are_none_are_refused(returned, tmp_path):
    text = FILE.read_text("utf-8").replace(
        'return problem.var_dict["c"].value', f"return {returned}"
    )
    if returned == "None":
        made = by_model(X, LABELS, in_file(text, tmp_path))
        assert made.status == Status.FAILED
        return
    with refused(JobError):
        by_model(X, LABELS, in_file(text, tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        "x[...] = 0.0; self.x, self.labels = x, labels",
        "labels[0] = 1; self.x, self.labels = x, labels",
        "self.x, self.labels = x, labels[:-1]",
    ],
)
def test_data_that_are_not_those_of_the_attribute_are_refused(change, tmp_path):
    text = FILE.read_text("utf-8").replace("self.x, self.labels = x, labels", change)
    labels = LABELS.copy()
    with refused(JobError):
        by_model(X, labels, in_file(text, tmp_path))
    assert (labels == LABELS).all()


def test_an_answer_that_the_file_finds_infeasible_is_not_published(tmp_path):
    text = FILE.read_text("utf-8").replace('"mean": mean', '"mean": 0.5')
    made = by_model(X, LABELS, in_file(text, tmp_path))
    assert made.status == Status.FAILED
    assert made.certificates[0].violation == 0.5
    assert made.certificates[0].bound is None
    nan = text.replace('"mean": 0.5', '"mean": float("nan")')
    assert by_model(X, LABELS, in_file(nan, tmp_path)).status == Status.FAILED


def test_what_a_file_proves_is_claimed_and_a_false_claim_is_dropped(tmp_path):
    proves = (
        "\n\ndef multipliers(problem, data):\n    return 1.0\n"
        "\n\ndef proven(data, found):\n    return {}\n"
    )
    text = FILE.read_text("utf-8")
    model = in_file(text + proves.format("0.5"), tmp_path)
    proof = by_model(X, LABELS, model).certificates[0]
    assert proof.claimed is not None
    assert proof.claimed.bound == 0.5
    assert proof.claimed.by == str(model.origin)
    assert proof.bound > 0.5
    words = in_file(text + proves.format("'many'"), tmp_path)
    with refused(JobError):
        by_model(X, LABELS, words)
    lies = in_file(text + proves.format("1e9"), tmp_path)
    proof = by_model(X, LABELS, lies).certificates[0]
    assert proof.claimed is None
    assert proof.status is Status.OPTIMAL  # which does not rest on it


def test_a_model_object_is_one_of_the_users_and_goes_to_another_process():
    theirs = replace(MODELS["p3m"], name="nearly")
    model = load_user_model(theirs)
    assert (model.name, model.kind, model.declared) == ("nearly", theirs.kind, False)
    assert pickle.loads(pickle.dumps(model)) == model
    assert pickle.loads(pickle.dumps(load_user_model(capped))) == load_user_model(
        capped
    )
    assert load_user_model(capped) != model
    file = median_mean()
    assert pickle.loads(pickle.dumps(file)) == file
    assert hash(file) == hash(median_mean())


def test_models_of_this_package_are_named_by_their_aggregation():
    for named in ("p3m", MODELS["p3m"]):
        with refused(JobError):
            load_user_model(named)
    with refused(JobError):
        load_user_model(replace(MODELS["p3m"], when="mine"))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, labels, sizes: 3,
        lambda x, labels, sizes: cp.Problem(cp.Maximize(-cp.norm(cp.Variable(2)))),
        lambda x, labels, sizes: cp.Problem(cp.Minimize(cp.Variable(nonneg=True))),
        lambda x, labels, sizes: cp.Problem(
            cp.Minimize(cp.norm(cp.Variable(7, name="c")))
        ),
        lambda x, labels, sizes: cp.Problem(
            cp.Minimize(cp.norm(cp.Variable(4, name="c", complex=True)))
        ),
        lambda x, labels, sizes: cp.Problem(
            cp.Minimize(-cp.sum(cp.abs(cp.Variable(4, name="c") - 4711)))
        ),
        lambda x, labels, sizes: type("Own", (cp.Problem,), {})(
            cp.Minimize(cp.norm(cp.Variable(4, name="c")))
        ),
        lambda x: 3,
        lambda x, labels, sizes, *, solver: 3,
        3,
    ],
)
def test_functions_that_declare_no_such_program_are_refused(function):
    with refused(JobError):
        by_model(X, LABELS, function)


def test_settings_are_checked_by_the_function_and_by_data():
    with refused(UnknownNameError, "'cap'"):
        by_model(X, LABELS, capped, capp=2.0)
    with refused(JobError, "takes no settings"):
        by_model(X, LABELS, median_mean(), cap=2.0)


def test_a_start_is_checked_and_handed_on():
    seen = []

    def noting(model, data, *, start):
        seen.append(start)
        return start

    start = mean(X, LABELS).centroids
    made = by_model(X, LABELS, capped, cap=9.0, solver=noting, start=start)
    assert made.centroids == pytest.approx(start)
    assert seen[0] == pytest.approx((start[:, 0] - X[:, 0].mean()) / X[:, 0].std())
    with refused(JobError):
        by_model(X, LABELS, capped, start=start[:2])


def test_variables_beside_the_centroids_are_best_where_only_those_are_known():
    def absolute(x, labels, sizes):
        c = cp.Variable(len(sizes), name="c", nonneg=True)
        e = cp.Variable(len(x))
        off = c[labels] - x
        return cp.Problem(cp.Minimize(cp.sum(e)), [e >= off, e >= -off])

    model = load_user_model(absolute)
    x = np.array([-1.0, 0.0, 1.0, 2.0])
    data = model.data(x, np.array([0, 0, 1, 1]))
    at = model.point(data, np.array([0.0, 1.5]))
    assert model.objective(data, at) == pytest.approx(2.0, abs=1e-6)
    assert model.violation(data, at) < 1e-6
    assert model.violation(data, model.point(data, np.array([-0.5, 1.5]))) == np.inf


def test_what_a_variable_is_declared_to_be_is_a_constraint():
    def positive(x, labels, sizes):
        c = cp.Variable(len(sizes), name="c", nonneg=True)
        most = (cp.max(c) <= 1).set_label("most")
        return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), [most, c[0] <= 3])

    model = load_user_model(positive)
    data = model.data(np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0, 0, 1, 1]))
    found = model.violations(data, model.point(data, np.array([-0.5, 1.5])))
    assert found == {"most": 0.5, "constraint 2": 0.0, "variable c": 0.5}


def test_what_a_model_falls_back_on_is_kept_after_a_limit(tmp_path):
    text = FILE.read_text("utf-8") + (
        "\n\ndef fallback(data):\n    return np.zeros(len(data.sizes))\n"
    )

    def slow(model, data):
        from aggopt.solvers.certificate import Answer

        return Answer(None, Status.LIMIT, None, "slow", 0.0)

    made = by_model(X, LABELS, in_file(text, tmp_path), solver=slow)
    assert made.status == Status.FALLBACK
    assert made.centroids == pytest.approx(np.tile(X.mean(axis=0), (4, 1)))
    without = by_model(X, LABELS, median_mean(), solver=slow)
    assert without.status == Status.FAILED


def test_a_solver_of_another_language_is_refused():
    with refused(JobError):
        by_model(X, LABELS, capped, solver="pyomo:highs")
    with pytest.raises((SolverError, UnknownNameError)):
        by_model(X, LABELS, capped, solver="cvxpy:GUROBI2")


def test_a_module_without_a_file_of_its_own_is_a_model_too():
    model = adopt_model(covariance_mean, load_origin())
    assert model.kind == "NLP"


def load_origin():
    with trust_files([FILE]):
        return load_plugin("models", str(FILE))[1]
