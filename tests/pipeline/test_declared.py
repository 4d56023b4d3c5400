"""The program of an attribute is declared, solved by anybody, judged by its model."""

from dataclasses import replace
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt.errors import AggoptError, JobError
from aggopt.pipeline.programs.declare import declare_program, judge_centroids
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
    for other, name in ((table, "income"), (people(seed=1), "age")):
        with refused(AggoptError, "'age'"):
            aggopt.adopt(problem, other, asked, name)
    for row in problem.variables():
        row.save_value(None)
    with refused(AggoptError):
        aggopt.adopt(problem, table, asked, "age")
    plain = cp.Problem(cp.Minimize(cp.norm(cp.Variable(2))))
    with refused(AggoptError):
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
    with refused(JobError, "holds no centroids"):
        aggopt.adopt(gone, table, asked, "age")


def test_a_problem_is_adopted_under_its_own_job_alone(tmp_path):
    asked, table = job(aggregation=P3M), people()
    problem = aggopt.declare(table, asked, "age")
    for row in problem.variables():
        row.save_value(np.zeros(row.shape))
    others = job(5, aggregation=P3M), job(aggregation={**P3M, "delta": 0.4})
    for other in others:
        with refused(AggoptError):
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
    with refused(JobError):
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
    with refused(JobError):
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
        with refused(AggoptError, repr(first.name()), str(first.shape)):
            aggopt.adopt(problem, table, asked, "age")


@pytest.fixture(scope="module")
def stated():
    return declare_program(people(), job(aggregation=P3M), "age", "cvxpy", ())[1]


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros(13, complex), ["x"] * 13])
def test_centroids_are_one_real_number_for_each_group(stated, wrong):
    assert stated.labels.max() == 12
    kind = np.asarray(wrong)
    with refused(AggoptError, str(kind.shape), str(kind.dtype)):
        judge_centroids(stated, wrong, by="hand")


def judged_by(stated, reading, missed=0.0):
    """Judge a reading by a model for which all points miss as much."""
    model = SimpleNamespace(
        point=lambda data, reading: getattr(reading, "point", reading),
        objective=lambda data, at: 7.0,
        violation=lambda data, at: missed,
        judge=None,
    )
    made = replace(stated, model=model)
    return judge_centroids(made, reading, by="hand")


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, np.float64])
def test_whole_numbers_are_numbers(stated, kind):
    found = judged_by(stated, np.arange(13, dtype=kind))
    assert found.certificates[0].seconds == 0
    expected = stated.scale.undo(np.arange(13.0)[:, None])
    assert found.centroids == pytest.approx(expected)
    assert found.centroids.dtype == np.float64


def test_of_a_point_its_centroids_are_published(stated):
    point = SimpleNamespace(c=np.arange(13.0) / 2)
    found = judged_by(stated, SimpleNamespace(c=np.arange(13), point=point))
    assert found.centroids == pytest.approx(stated.scale.undo(point.c[:, None]))


def test_what_misses_by_no_more_than_a_millionth_fits(stated):
    found = [
        judged_by(stated, np.zeros(13), missed).certificates[0].status
        for missed in (1e-6, 1.01e-6)
    ]
    assert found == [Status.HEURISTIC, Status.FAILED]


def test_jobs_without_a_program_of_one_attribute_are_refused():
    table = people()
    with refused(AggoptError, "'mean'", "[aggregation]"):
        aggopt.declare(table, job(), "age")
    more = job(aggregation={**P3M, "keep": "covariance"})
    with refused(AggoptError, "[aggregation]"):
        aggopt.declare(table, more, "age")
    with refused(AggoptError, "'age'"):
        aggopt.declare(table.assign(age=7), job(aggregation=P3M), "age")
    with refused(AggoptError, "'agee'", "'age'"):
        aggopt.declare(table, job(aggregation=P3M), "agee")
    own = job(aggregation={"model": capped})
    with refused(AggoptError, "'pyomo'"):
        aggopt.declare(table, own, "age", language="pyomo")
    holed = table.astype({"age": float})
    holed.loc[[0, 5, 9, 12], "age"] = np.nan
    apart = job(aggregation=P3M, missing={"policy": "patterns"})
    with refused(AggoptError):
        aggopt.declare(holed, apart, "age")


def test_a_program_is_of_the_groups_and_the_price_of_its_attribute():
    apart = {"method": "mdav", "attributes": "one by one"}
    blocks = {"k": 3, "scope": "blocks"}
    for name in ("age", "income"):
        asked = job(partition=apart, privacy=blocks, aggregation=P3M)
        made = declare_program(people(), asked, name, "cvxpy", ())[1]
        alone = aggopt.partition.mdav(people()[[name]], 3).labels
        assert made.labels.tolist() == alone.tolist()
    dear = job(aggregation={"method": "satisfaction", "price": 0.125})
    assert declare_program(people(), dear, "age", "cvxpy", ())[1].data.price == 0.125


def test_a_model_is_told_bounds_where_there_are_some_and_it_takes_them():
    seen = []

    def above(x, labels, sizes, *, lower=-9.0):
        seen.append(lower)
        c = cp.Variable(len(sizes), name="c")
        return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), [c >= -9.0])

    def declared(**sections):
        seen.clear()
        asked = job(aggregation={"model": above}, **sections)
        declare_program(people(), asked, "age", "cvxpy", ())

    declared()
    assert set(seen) == {-9.0}
    declared(attributes={"age": {"lower": 0}})
    ages = people()["age"]
    assert seen[-1] == pytest.approx(-ages.mean() / ages.std(ddof=0))


def test_a_program_is_by_weight():
    w = 1.0 + np.arange(40) % 3
    asked = job(
        aggregation=P3M, roles={**ROLES, "weight": "w"}, weights={"dominance": 1.0}
    )
    made = declare_program(people().assign(w=w), asked, "age", "cvxpy", ())[1]
    assert made.data.weights == pytest.approx(w / w.mean())
    ages = people()["age"].to_numpy(float)
    assert made.scale.spread[0] == pytest.approx(
        np.cov(ages, aweights=w, ddof=0) ** 0.5
    )


def test_the_secret_of_the_margins_makes_the_same_program_again():
    asked, known = job(aggregation={**P3M, "margin": 0.1}), "ab" * 16

    def asks(known=None):
        made = declare_program(people(), asked, "age", "cvxpy", (), known)
        return made[1].data.delta.tolist(), made[2]

    assert asks(known) == asks(known)
    assert asks(known)[1] == known
    assert asks()[0] != asks(known)[0]
