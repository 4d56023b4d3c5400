"""The program of an attribute is declared, solved by anybody, judged by its model."""

import cvxpy as cp
import numpy as np
import pytest
from tables import job, people

import aggopt
from aggopt.errors import JobError, UnknownNameError
from aggopt.pipeline.declared import declared_of, judged
from aggopt.solvers import Status, solve

P3M = {"method": "p3m", "delta": 0.3}


def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    return cp.Problem(cp.Minimize(cp.sum_squares(off)), [cp.abs(off) <= cap])


@pytest.mark.parametrize(
    ("language", "solver"), [("cvxpy", "uno"), ("pyomo", "pyomo:ripopt")]
)
def test_a_problem_of_p3m_is_judged_where_it_was_solved(language, solver):
    asked, table = job(aggregation=P3M), people()
    problem = aggopt.declare(table, asked, "age", language=language)
    solve(problem, solver)
    made = aggopt.adopt(problem, table, asked, "age")
    (proof,) = made.certificates
    assert (proof.status, proof.bound) == (Status.HEURISTIC, None)
    assert (proof.solver, proof.judge) == ("adopted", None)
    assert proof.violation < 1e-6
    ages = table["age"].to_numpy(float)
    published = made.centroids[made.labels, 0]
    assert published.mean() == pytest.approx(ages.mean())
    assert published.std() == pytest.approx(ages.std())
    cost = problem.value if language == "cvxpy" else problem.cost()
    assert proof.objective == pytest.approx(cost, rel=1e-6)


def test_a_problem_that_was_changed_is_judged_by_the_model_alone():
    asked, table = job(aggregation={"model": capped, "cap": 9.0}), people()
    problem = aggopt.declare(table, asked, "income")
    c = problem.var_dict["c"]
    other = cp.Problem(problem.objective, [*problem.constraints, c >= 0])
    other.solve(solver="CLARABEL")
    made = aggopt.adopt(other, table, asked, "income")
    assert made.certificates[0].status is Status.HEURISTIC
    assert made.certificates[0].judge == "its own declaration, object capped"
    assert made.centroids.min() >= table["income"].mean() - 1e-3
    c.save_value(np.full(c.shape, 20.0))
    wrong = aggopt.adopt(problem, table, asked, "income").certificates[0]
    assert wrong.status is Status.FAILED
    assert wrong.violation > 1


def test_what_was_not_declared_of_this_is_refused():
    asked, table = job(aggregation=P3M), people()
    problem = aggopt.declare(table, asked, "age")
    with pytest.raises(JobError, match="declared of 'age', or of another table"):
        aggopt.adopt(problem, table, asked, "income")
    with pytest.raises(JobError, match="or of another table"):
        aggopt.adopt(problem, people(seed=1), asked, "age")
    for row in problem.variables():
        row.save_value(None)
    with pytest.raises(JobError, match="holds no centroids"):
        aggopt.adopt(problem, table, asked, "age")
    plain = cp.Problem(cp.Minimize(cp.norm(cp.Variable(2))))
    with pytest.raises(JobError, match="was not declared here"):
        aggopt.adopt(plain, table, asked, "age")


def near(x, labels, sizes):
    c, t = cp.Variable(len(sizes), name="c"), cp.Variable(name="t")
    cost = cp.Minimize(cp.sum_squares(c[labels] - x))
    return cp.Problem(cost, [cp.abs(c) <= t, t <= 0.1])


def test_constraints_taken_out_and_other_costs_change_no_judgement():
    asked, table = job(aggregation={"model": capped, "cap": 9.0}), people()
    problem = aggopt.declare(table, asked, "age")
    problem.solve(solver="CLARABEL")
    (honest,) = aggopt.adopt(problem, table, asked, "age").certificates
    free = cp.Problem(cp.Minimize(problem.objective.expr * 0 - 5), [])
    (proof,) = aggopt.adopt(free, table, asked, "age").certificates
    assert (proof.objective, proof.violation) == (honest.objective, honest.violation)
    asked = job(aggregation={"model": near})
    problem = aggopt.declare(table, asked, "age")
    free = cp.Problem(problem.objective, [])
    free.solve(solver="CLARABEL")
    (proof,) = aggopt.adopt(free, table, asked, "age").certificates
    assert proof.status is Status.FAILED
    gone = cp.Problem(cp.Minimize(problem.var_dict["t"] ** 2))
    with pytest.raises(JobError, match="holds no centroids"):
        aggopt.adopt(gone, table, asked, "age")


def test_a_problem_is_adopted_under_its_own_job_alone(tmp_path):
    asked, table = job(aggregation=P3M), people()
    problem = aggopt.declare(table, asked, "age")
    for row in problem.variables():
        row.save_value(np.zeros(row.shape))
    others = job(5, aggregation=P3M), job(aggregation={**P3M, "delta": 0.4})
    for other in others:
        with pytest.raises(JobError, match="declared under another job"):
            aggopt.adopt(problem, table, other, "age")
    (tmp_path / "job.toml").write_text(asked.to_toml())
    aggopt.adopt(problem, table, tmp_path / "job.toml", "age")
    asked = job(aggregation={"model": capped})
    problem = aggopt.declare(table, asked, "age")
    problem.solve(solver="CLARABEL")
    aggopt.adopt(problem, table, job(aggregation={"model": capped}), "age")

    def other(x, labels, sizes, *, cap=1.0):
        return None

    other.__name__ = "capped"
    again = job(aggregation={"model": other})
    with pytest.raises(JobError, match="declared under another job"):
        aggopt.adopt(problem, table, again, "age")


OWN = """
import cvxpy as cp

def {name}(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), [])
"""


def test_a_job_that_is_a_file_is_adopted_with_the_code_that_it_trusts(tmp_path):
    code, file, table = tmp_path / "own.py", tmp_path / "job.toml", people()
    code.write_text(OWN.format(name="first"))
    file.write_text(job().to_toml().split("[aggregation]")[0])
    file.write_text(file.read_text() + '[aggregation]\nmodel = "own.py:first"\n')
    problem = aggopt.declare(table, file, "age", trust=[code])
    problem.solve(solver="CLARABEL")
    (proof,) = aggopt.adopt(problem, table, file, "age", trust=[code]).certificates
    assert proof.status is Status.HEURISTIC
    code.write_text(OWN.format(name="first") + "# changed")
    with pytest.raises(JobError, match="declared under another job"):
        aggopt.adopt(problem, table, file, "age", trust=[code])


@pytest.mark.parametrize("model", [P3M, {"model": capped, "cap": 9.0}])
def test_values_of_another_shape_or_complex_are_refused(model):
    asked, table = job(aggregation=model), people()
    problem = aggopt.declare(table, asked, "age")
    first = problem.variables()[0]
    for wrong in (np.zeros(1), np.full(first.shape, 1 + 1j)):
        for each in problem.variables():
            each.save_value(np.zeros(each.shape))
        first.save_value(wrong)
        with pytest.raises(JobError, match="or complex ones"):
            aggopt.adopt(problem, table, asked, "age")


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros(13, complex), ["x"] * 13])
def test_centroids_are_one_real_number_for_each_group(wrong):
    made = declared_of(people(), job(aggregation=P3M), "age", "cvxpy", ())[1]
    assert made.labels.max() == 12
    with pytest.raises(
        JobError, match=r"There are centroids of shape .* for 13 groups"
    ):
        judged(made, wrong, by="hand")


def test_jobs_without_a_program_of_one_attribute_are_refused():
    table = people()
    with pytest.raises(JobError, match="'mean' publishes by a formula"):
        aggopt.declare(table, job(), "age")
    more = job(aggregation={**P3M, "keep": "covariance"})
    with pytest.raises(JobError, match="keeps more than variances"):
        aggopt.declare(table, more, "age")
    with pytest.raises(JobError, match="'age' has one value only"):
        aggopt.declare(table.assign(age=7), job(aggregation=P3M), "age")
    with pytest.raises(UnknownNameError, match="did you mean 'age'"):
        aggopt.declare(table, job(aggregation=P3M), "agee")
    own = job(aggregation={"model": capped})
    with pytest.raises(UnknownNameError, match="modelling language of this model"):
        aggopt.declare(table, own, "age", language="pyomo")
    holed = table.astype({"age": float})
    holed.loc[[0, 5, 9, 12], "age"] = np.nan
    apart = job(aggregation=P3M, missing={"policy": "patterns"})
    with pytest.raises(JobError, match="declared of complete tables"):
        aggopt.declare(holed, apart, "age")
