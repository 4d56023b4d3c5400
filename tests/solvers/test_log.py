"""Logs, silence and threads of solvers."""

import json
import logging
import os
import stat
import warnings
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from conftest import require_solver
from pyomo.common.tempfiles import TempfileManager
from refusals import refused
from shift_instances import instance
from silent import sections
from tables import ROLES_AND_K, people

from aggopt.errors import JobError, SolverError, TableError
from aggopt.experiments.grid_run import require_jobs
from aggopt.models import p3m
from aggopt.solvers import SOLVERS, logged, solve
from aggopt.solvers import solver_log as _log
from aggopt.solvers.run_solver import run_here


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


# --- no solver writes to standard output uninvited, at the level of the descriptor


INSTALLED = [name for name, solver in SOLVERS.items() if solver.installed]
JOBS = {
    "lagrangian": '[aggregation]\nmethod = "p3m"\nsolver = "lagrangian"\n',
    "ipopt": '[aggregation]\nmethod = "p3m"\nsolver = "ipopt"\n',
    "cvxpy:uno": '[aggregation]\nmethod = "p3m"\nsolver = "cvxpy:uno"\n',
    "pyomo:scip": '[aggregation]\nmethod = "p3m"\nsolver = "pyomo:scip"\n'
    "time_limit = 2\n",
    "cvxpy:highs": '[partition]\nmethod = "optimal"\nsolver = "cvxpy:highs"\n'
    "time_limit = 20\n",
}
LIMITED = "pyomo:scip"  # on a loaded machine it may find nothing within its limit


@pytest.fixture(scope="module")
def printed(forked):
    """What all solvers wrote, here and in processes of their own."""
    code = "from silent import ask_each; ask_each({names}, here={here})"
    return {
        here: sections(forked(code.format(names=[*INSTALLED, "prints"], here=here)))
        for here in (True, False)
    }


@pytest.mark.parametrize("here", [True, False], ids=["here", "apart"])
@pytest.mark.parametrize("name", SOLVERS)
def test_no_solver_writes_to_standard_output(name, here, printed):
    require_solver(name)
    assert printed[here][name] == ""


def test_nothing_is_written_at_the_end_either(printed):
    assert (printed[True]["end"], printed[False]["end"]) == ("", "")


def test_one_that_prints_is_noticed_here_and_silent_in_a_process_of_its_own(printed):
    for line in ("of Python", "of C", "without a buffer"):
        assert f"A line {line}.\n" in printed[True]["prints"]
    assert printed[False]["prints"] == ""


@pytest.mark.slow
def test_mask_with_json_prints_one_object_whatever_the_solver(tmp_path, forked):
    people(12).to_csv(tmp_path / "people.csv", index=False)
    names = [name for name in JOBS if name in INSTALLED]
    for name in names:
        job = tmp_path / f"{name.replace(':', '-')}.toml"
        job.write_text(ROLES_AND_K + JOBS[name])
    code = f"from silent import mask_each; mask_each({names})"
    written = sections(forked(code, cwd=tmp_path))
    for name in names:
        said = json.loads(written[name])
        late = name == LIMITED and said.get("exit") == SolverError.exit_code
        assert late or {"files", "audit"} <= set(said), (name, said)
    assert written["end"] == ""


# --- solvers in several threads at once say what they say alone


THREADS, CALLS = 4, 8


@pytest.mark.parametrize("name", ["pyomo:ripopt", "cvxpy:uno", "ipopt"])
def test_threads_find_what_one_finds(name):
    require_solver(name)
    data = [instance(p3m, seed, n=8, m=3) for seed in range(CALLS)]

    def solved(one):
        found = run_here(p3m.MODEL, one, SOLVERS[name], None, 20, None)
        return found.status, found.reading

    alone = [solved(one) for one in data]
    filters = list(warnings.filters)
    handlers = list(logging.getLogger("pyomo").handlers)
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(solved, data))
    for (status, reading), (also, other) in zip(alone, together, strict=True):
        assert status is also
        assert reading == pytest.approx(other, abs=1e-6)
    assert np.array_equal([id(h) for h in handlers], _handlers())
    assert warnings.filters == filters
    assert TempfileManager.tempdir is None


def _handlers():
    return [id(handler) for handler in logging.getLogger("pyomo").handlers]
