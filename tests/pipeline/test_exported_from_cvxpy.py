"""What cvxpy declares goes to other solvers in files, with the same optimum."""

import json

import cvxpy as cp
import highspy
import numpy as np
import pytest
from refusals import refused
from tables import job, people

from aggopt.aggregate import by_model
from aggopt.errors import JobError
from aggopt.pipeline.declared import declare
from aggopt.pipeline.exported import export, import_solution
from aggopt.solvers import Status, solve
from aggopt.solvers._cvxpy_file import write_program

TABLE = people(12)


def means(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x) + 3))


def medians(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c", bounds=[-9, 9])
    return cp.Problem(cp.Minimize(cp.norm1(c[labels] - x) - 1), [cp.sum(c) <= 1])


def crossed(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    root = np.tri(len(sizes)) + 1.0
    cost = cp.quad_form(c - 1, root @ root.T)
    return cp.Problem(cp.Minimize(cost + cp.sum_squares(c[labels] - x)), [c >= -5])


def whole(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    tenths, is_high = cp.Variable(len(sizes), integer=True), cp.Variable(boolean=True)
    rows = [c == tenths / 10, tenths <= 100 * is_high, tenths >= -100]
    return cp.Problem(cp.Minimize(cp.norm1(c[labels] - x) + is_high), rows)


def near(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.norm(c[labels] - x)))


def largest_eigenvalue(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.lambda_max(cp.diag(c))), [c >= -1])


def with_tiny_entry(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.norm1(c[labels] - x)), [c[0] + 1e-13 * c[1] <= 9])


def solved_by_highs(program, solution):
    """Return the optimum of a file, and write the solution beside it."""
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(program)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    solver.writeSolution(str(solution), 0)
    return solver.getObjectiveValue()


@pytest.mark.parametrize("format", ["lp", "mps"])
@pytest.mark.parametrize("model", [means, medians, crossed, whole])
def test_the_file_has_the_same_optimum_and_its_solution_is_read(
    model, format, tmp_path
):
    asked = job(aggregation={"model": model})
    made = export(TABLE, asked, "age", tmp_path / f"age.{format}", format=format)
    best = solved_by_highs(made.program, tmp_path / "age.sol")
    problem = declare(TABLE, asked, "age")
    assert solve(problem, "cvxpy:highs").status.usable
    assert best == pytest.approx(problem.value, abs=1e-6)
    found = import_solution(TABLE, asked, "age", tmp_path / "age.sol")
    (proof,) = found.certificates
    assert (proof.status, proof.solver, proof.bound) == (Status.HEURISTIC, "file", None)
    assert proof.objective == pytest.approx(best, abs=1e-5)
    own = by_model(TABLE[["age"]], found.labels, model, solver="cvxpy:highs")
    assert found.centroids == pytest.approx(own.centroids, abs=1e-3)


@pytest.mark.parametrize("format", ["lp", "mps"])
def test_what_is_maximised_is_maximised_in_the_file(format, tmp_path):
    x = cp.Variable(2, name="c")
    problem = cp.Problem(cp.Maximize(5 - cp.sum_squares(x - 1)), [cp.sum(x) == 1])
    file = tmp_path / f"program.{format}"
    write_program(problem, file)
    assert solved_by_highs(file, tmp_path / "x.sol") == pytest.approx(4.5, abs=1e-6)


def test_the_files_are_for_their_owner_and_have_no_name_of_the_problem(tmp_path):
    asked = job(aggregation={"model": whole})
    made = export(TABLE, asked, "age", tmp_path / "program", format="lp")
    assert {path.stat().st_mode & 0o777 for path in made} == {0o600}
    assert "tenths" not in made.program.read_text()
    assert "x1" in made.program.read_text()
    assert json.loads(made.key.read_text())["format"] == "lp"


@pytest.mark.parametrize(
    ("model", "kind"), [(near, "SOCP"), (largest_eigenvalue, "SDP")]
)
def test_a_class_that_no_file_holds_is_refused_by_name(model, kind, tmp_path):
    asked = job(aggregation={"model": model})
    with refused(
        f"The format 'mps' does not hold this program, which is of class {kind}.",
        "declare one with linear constraints and a linear or quadratic cost (LP, MILP, "
        "QP); or solve the problem of aggopt.declare.",
    ):
        export(TABLE, asked, "age", tmp_path / "age.mps", format="mps")
    assert not list(tmp_path.iterdir())


def test_a_number_that_highs_takes_for_zero_is_refused(tmp_path):
    asked = job(aggregation={"model": with_tiny_entry})
    with pytest.raises(JobError, match="a number of it is tiny or huge"):
        export(TABLE, asked, "age", tmp_path / "age.lp", format="lp")


def test_a_solution_of_another_program_is_refused(tmp_path):
    asked = job(aggregation={"model": means})
    export(TABLE, asked, "age", tmp_path / "age.lp", format="lp")
    (tmp_path / "age.sol").write_text("objective value: 3\ny7 1.5\n")
    with pytest.raises(JobError, match=r"age\.sol is no solution of the program"):
        import_solution(TABLE, asked, "age", tmp_path / "age.sol")
