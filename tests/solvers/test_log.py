"""What solvers print: nowhere, unless it is asked for; then for its owner alone."""

import os
import stat

import cvxpy as cp
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from refusals import refused

from aggopt.errors import JobError, TableError
from aggopt.experiments.grid_run import require_jobs
from aggopt.solvers import logged, solve
from aggopt.solvers import solver_log as _log


def small(language):
    if language == "cvxpy":
        x = cp.Variable(2)
        return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, x[0] + 2 * x[1] >= 4])
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var([0, 1], bounds=(1, 9))
    problem.row = pyo.Constraint(expr=problem.x[0] + 2 * problem.x[1] >= 4)
    problem.cost = pyo.Objective(expr=problem.x[0] + problem.x[1])
    return problem


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("solver", "word"),
    [("cvxpy:highs", "HiGHS"), ("cvxpy:clarabel", "Clarabel"), ("pyomo:highs", "iGHS")],
)
def test_what_a_solver_prints_is_in_the_log_and_nowhere_else(
    solver, word, tmp_path, capfd
):
    log = tmp_path / "solver.log"
    with logged(log):
        assert solve(small(solver.partition(":")[0]), solver).status.usable
    said = log.read_text()
    assert said.startswith(f"--- {solver}\n")
    assert word in said
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    solve(small(solver.partition(":")[0]), solver)
    assert log.read_text() == said
    assert capfd.readouterr() == ("", "")


def test_a_local_solver_prints_where_it_is_kept(tmp_path, capfd):
    x = cp.Variable(2, value=[1.0, 2.0])
    problem = cp.Problem(cp.Minimize(x[0] * x[1]), [cp.sum_squares(x) == 4])
    with logged(tmp_path / "solver.log"):
        solve(problem, "uno")
    assert len((tmp_path / "solver.log").read_text().splitlines()) > 3
    assert capfd.readouterr() == ("", "")


def test_a_program_prints_in_the_log_once_and_nowhere_else(tmp_path, capfd):
    require_solver("pyomo:ripopt")
    problem = small("pyomo")
    problem.cost.set_value(problem.x[0] ** 2 + problem.x[1] ** 2)
    with logged(tmp_path / "solver.log"):
        solve(problem, "pyomo:ripopt")
    assert (tmp_path / "solver.log").read_text().count("Number of Iterations") == 1
    solve(problem, "pyomo:ripopt")
    assert capfd.readouterr() == ("", "")


def test_what_was_printed_before_and_after_stays_where_it_was(tmp_path, capfd):
    print("before")
    with logged(tmp_path / "solver.log"):
        print("within")
        solve(small("cvxpy"), "highs")
        os.write(1, b"raw\n")
    print("after")
    assert capfd.readouterr().out.split() == ["before", "within", "raw", "after"]


@pytest.mark.usefixtures("own_process")
def test_a_process_of_its_own_prints_into_the_log(tmp_path, capfd):
    with logged(tmp_path / "solver.log"):
        assert solve(small("cvxpy"), "highs").status.usable
    said = (tmp_path / "solver.log").read_text()
    assert said.startswith("--- cvxpy:highs\n")
    assert "HiGHS" in said
    assert capfd.readouterr() == ("", "")


def test_a_process_of_ours_prints_where_it_is(capfd):
    with _log.print_to_log():
        solve(small("cvxpy"), "highs")
    assert "HiGHS" in capfd.readouterr().out


def test_no_file_is_lost_and_none_made_where_it_cannot_be(tmp_path):
    (tmp_path / "there").write_text("mine")
    with (
        pytest.raises(TableError, match="cannot be made: File exists"),
        logged(tmp_path / "there"),
    ):
        pass
    with (
        pytest.raises(TableError, match="cannot be made: No such file"),
        logged(tmp_path / "none" / "solver.log"),
    ):
        pass
    assert (tmp_path / "there").read_text() == "mine"
    assert not _log.is_logged()


def test_a_log_is_of_one_process(tmp_path):
    with logged(tmp_path / "solver.log"):
        require_jobs(1)
        with refused(JobError):
            require_jobs(2)
    require_jobs(2)
