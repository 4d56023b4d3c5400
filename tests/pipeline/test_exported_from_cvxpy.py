"""What cvxpy declares goes to other solvers in files, with the same optimum."""

import json

import cvxpy as cp
import highspy
import numpy as np
import pytest
from refusals import refused
from scipy.optimize import Bounds, LinearConstraint, milp
from tables import job, people

from aggopt.aggregate import by_model
from aggopt.errors import AggoptError, JobError
from aggopt.pipeline.programs.declare import declare
from aggopt.pipeline.programs.export import export, import_solution
from aggopt.solvers import Status, solve
from aggopt.solvers.cvxpy_file import write_program

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


def read_mps(path):
    """Return what an MPS file says, line by line, as arrays: no package reads it."""
    rows, columns, lower, upper, whole = {}, {}, {}, {}, set()
    entries, right, offset, marked, section = [], {}, 0.0, False, ""
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or line[0] == "*":
            continue
        if line[0] != " ":
            section = words[0]
        elif section == "ROWS":
            rows[words[1]] = words[0]
        elif section == "COLUMNS" and words[1] == "'MARKER'":
            marked = words[2] == "'INTORG'"
        elif section == "COLUMNS":
            column = columns.setdefault(words[0], len(columns))
            whole |= {column} if marked else set()
            pairs = zip(words[1::2], words[2::2], strict=True)
            entries += [(row, column, float(number)) for row, number in pairs]
        elif section == "RHS":
            words = words[1:] if len(words) % 2 else words
            pairs = zip(words[::2], words[1::2], strict=True)
            right |= {row: float(number) for row, number in pairs}
        elif section == "BOUNDS":
            kind, column = words[0], columns[words[2]]
            number = float(words[3]) if len(words) > 3 else np.inf
            if kind in ("LO", "FX", "MI", "FR", "BV", "LI"):
                low = {"MI": -np.inf, "FR": -np.inf, "BV": 0.0}
                lower[column] = low.get(kind, number)
            if kind in ("UP", "FX", "PL", "FR", "BV", "UI"):
                high = {"PL": np.inf, "FR": np.inf, "BV": 1.0}
                upper[column] = high.get(kind, number)
            whole |= {column} if kind in ("BV", "LI", "UI") else set()
        else:
            assert section in ("NAME", "OBJSENSE", "ENDATA"), section
    (cost,) = (row for row, kind in rows.items() if kind == "N")
    others = [row for row in rows if row != cost]
    A, c = np.zeros((len(others), len(columns))), np.zeros(len(columns))
    for row, column, number in entries:
        if row == cost:
            c[column] += number
        else:
            A[others.index(row), column] += number
    offset = -right.get(cost, 0.0)
    b = np.array([right.get(row, 0.0) for row in others])
    kinds = np.array([rows[row] for row in others])
    within = (np.where(kinds == "L", -np.inf, b), np.where(kinds == "G", np.inf, b))
    every = range(len(columns))
    box = ([lower.get(j, 0.0) for j in every], [upper.get(j, np.inf) for j in every])
    return c, offset, A, within, box, np.isin(every, list(whole)).astype(int)


@pytest.mark.parametrize("model", [medians, whole])
def test_a_foreign_reader_of_the_file_reaches_the_same_optimum(model, tmp_path):
    asked = job(aggregation={"model": model})
    made = export(TABLE, asked, "age", tmp_path / "age.mps", format="mps")
    c, offset, A, within, box, integrality = read_mps(made.program)
    found = milp(
        c,
        constraints=LinearConstraint(A, *within),
        bounds=Bounds(*box),
        integrality=integrality,
        options={"mip_rel_gap": 0.0},
    )
    assert found.success
    problem = declare(TABLE, asked, "age")
    assert solve(problem, "cvxpy:highs").status.usable
    assert found.fun + offset == pytest.approx(problem.value, abs=1e-6)


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


@pytest.mark.parametrize("model", [near, largest_eigenvalue])
def test_a_class_that_no_file_holds_is_refused_by_name(model, tmp_path):
    asked = job(aggregation={"model": model})
    with refused(AggoptError, "'mps'", "MILP"):
        export(TABLE, asked, "age", tmp_path / "age.mps", format="mps")
    assert not list(tmp_path.iterdir())


def test_a_number_that_highs_takes_for_zero_is_refused(tmp_path):
    asked = job(aggregation={"model": with_tiny_entry})
    with refused(JobError):
        export(TABLE, asked, "age", tmp_path / "age.lp", format="lp")


def test_a_solution_of_another_program_is_refused(tmp_path):
    asked = job(aggregation={"model": means})
    export(TABLE, asked, "age", tmp_path / "age.lp", format="lp")
    (tmp_path / "age.sol").write_text("objective value: 3\ny7 1.5\n")
    with refused(JobError):
        import_solution(TABLE, asked, "age", tmp_path / "age.sol")
