"""No solver hangs its caller: it is killed after its limit, with what it started."""

import os
import signal
import threading
import time

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from hanging import (
    aborts,
    frees_the_lock,
    ignores_its_limit,
    is_killed,
    keeps_the_lock,
    prints,
    runs_out,
    sleeps,
)
from refusals import refused
from tables import job, people

from aggopt import mask
from aggopt.aggregate import p3m
from aggopt.core.deadline import compile_time
from aggopt.errors import JobError, SolverError
from aggopt.solvers import Status, logged, solve
from aggopt.solvers import process_pool as _pool

LABELS = np.repeat(np.arange(4), 5)
PACKAGE = """
import ctypes

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return ctypes.PyDLL(None).pause()
"""

pytestmark = pytest.mark.usefixtures("short_grace")


def eats_memory(model, data):
    return [np.ones(1 << 24) for _ in range(1000)]


def means(model, data):
    return data.renormalised


def masked(solver, **how):
    x = np.random.default_rng(0).normal(size=(20, 1))
    return p3m(x, LABELS, solver=solver, **how).certificates[0].status


def left():
    """Return the processes that this one started and that are there."""
    return [
        pid
        for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
        if pid != os.getpid() and _parent_of(pid) == os.getpid()
    ]


def _parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


@pytest.mark.parametrize(
    "solver",
    [
        keeps_the_lock,
        pytest.param(sleeps, marks=pytest.mark.slow),
        pytest.param(frees_the_lock, marks=pytest.mark.slow),
        pytest.param(ignores_its_limit, marks=pytest.mark.slow),
        pytest.param(prints, marks=pytest.mark.slow),
    ],
)
def test_one_of_the_users_that_hangs_is_killed(solver):
    assert masked(solver, time_limit=0.2) is Status.UNANSWERED
    assert not _pool._pool.idle


def test_one_that_eats_memory_or_aborts_fails_and_the_next_answers(monkeypatch):
    monkeypatch.setattr(_pool, "find_available_memory", lambda: 1 << 28)
    with refused(JobError, "eats_memory"):
        masked(eats_memory)
    assert masked(aborts) is Status.FAILED
    assert masked(means).usable


def needs_much(x, labels, sizes):
    c, much = cp.Variable(len(sizes), name="c"), cp.Variable((90, 90), PSD=True)
    cost = cp.sum_squares(c[labels] - x) + cp.trace(much)
    return cp.Problem(cp.Minimize(cost), [much >= 1])


@pytest.mark.slow
def test_one_that_ends_for_lack_of_memory_says_so_and_what_to_do(monkeypatch):
    monkeypatch.setattr(_pool, "find_available_memory", lambda: 1 << 24)
    asked = job(aggregation={"model": needs_much, "solver": "cvxpy:clarabel"})
    with refused(SolverError, "'age'"):
        mask(people(12), asked)


def is_exhausted(function, *arguments):
    with pytest.raises(_pool.NoAnswer) as none:
        _pool.call(function, *arguments, solver="own", limit=9, modules=("hanging",))
    return none.value.exhausted


def test_who_ends_a_process_for_lack_of_memory_is_noticed(tmp_path, monkeypatch):
    assert is_exhausted(runs_out)
    _pool.stop_all_workers()
    kills = tmp_path / "vmstat"
    kills.write_text("pgfault 7\noom_kill 3\n")
    monkeypatch.setattr(_pool, "KILLS", kills)
    assert is_exhausted(is_killed, kills, 4)
    assert not is_exhausted(is_killed, kills, 4)  # by somebody


def test_one_of_cvxpy_that_hangs_is_killed(tmp_path, monkeypatch):
    (tmp_path / "clarabel.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    ended = solve(problem, "cvxpy:clarabel", time_limit=0.2)
    assert (ended.status, ended.bound, x.value) == (Status.UNANSWERED, None, None)


def test_a_program_that_hangs_is_killed_with_its_worker(tmp_path, monkeypatch):
    program, seen = tmp_path / "ipopt", tmp_path / "seen"
    program.write_text(f"#!/bin/sh\necho $$ >> {seen}\nexec sleep 1000\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var(bounds=(1, 9), initialize=2)
    problem.cost = pyo.Objective(expr=problem.x**4)
    monkeypatch.setattr(_pool, "GRACE", 3)  # until it was started, on a busy machine
    assert solve(problem, "pyomo:ipopt", time_limit=2).status is Status.UNANSWERED
    assert problem.x.value == 2
    gone = time.monotonic() + 30
    while any(map(_parent_of, map(int, seen.read_text().split()))):
        assert time.monotonic() < gone


def test_an_interrupt_is_heard_and_ends_the_process():
    before = {*left()}  # other tests have processes of their own
    raised = threading.Timer(3, os.kill, [os.getpid(), signal.SIGINT])
    raised.start()
    with pytest.raises(KeyboardInterrupt):
        masked(keeps_the_lock, time_limit=500)
    _pool.guardian.stop()
    assert {*left()} <= before


def test_a_log_of_one_that_prints_for_ever_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(_pool, "LOGGED", 5000)
    with logged(tmp_path / "log"):
        assert masked(prints, time_limit=0.2) is Status.UNANSWERED
    said = (tmp_path / "log").read_text()
    assert said.endswith("aggopt keeps no more of what this solver prints\n")
    assert len(said) < 6000


def test_a_process_answers_again_and_brings_all_back():
    x, y = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + cp.trace(y)), [y >> 1, x >= 1])
    first = solve(problem, "clarabel")
    worker = _pool._pool.idle[0]
    assert solve(problem, "clarabel").status is first.status
    assert [worker] == _pool._pool.idle
    assert np.allclose(x.value, 1, atol=1e-4)
    assert problem.value == pytest.approx(4, abs=1e-3)
    assert problem.constraints[1].dual_value == pytest.approx([2, 2], abs=1e-3)


def test_values_and_suffixes_of_a_block_come_back():
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], bounds=(1, 9))
    model.part = pyo.Block()
    model.part.row = pyo.Constraint(expr=model.x[0] + 2 * model.x[1] >= 4)
    model.part.cost = pyo.Objective(expr=model.x[0] + model.x[1])
    ended = solve(model.part, "pyomo:highs")
    assert ended.status is Status.OPTIMAL
    assert [model.x[i].value for i in (0, 1)] == pytest.approx([1, 1.5])
    assert model.part.dual[model.part.row] == pytest.approx(0.5)


def test_what_cannot_be_sent_is_refused():
    lock = threading.Lock()

    def held(model, data):
        with lock:
            return data.renormalised

    with refused(JobError):
        masked(held)


def test_a_process_begins_in_the_surroundings_of_the_call(monkeypatch):
    assert masked(means).usable
    monkeypatch.setenv("AGGOPT_TEST_OF_SURROUNDINGS", "1")
    before = _pool._pool.idle[0]
    assert masked(means).usable
    assert _pool._pool.idle[0] is not before
    assert before.process.poll() is not None


@pytest.mark.parametrize("option", ["small_matrix_value", "numerics/epsilon"])
def test_an_option_that_changes_the_program_is_refused(option):
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 2])
    with pytest.raises(
        JobError, match=f"{option}' is not allowed: it changes the prog"
    ):
        solve(problem, "cvxpy:highs", options={option: 0.5})


def compiles(seconds, again):
    for _ in range(again):
        compile_time.begin("a kernel")
        time.sleep(seconds)
        compile_time.end()
    return again


@pytest.mark.slow
def test_no_limit_counts_what_compiles_as_often_as_it_does(monkeypatch):
    def asked(*how):
        return _pool.call(compiles, *how, solver="own", limit=0.2, modules=(__name__,))

    assert asked(0.7, 3) == 3
    monkeypatch.setattr(_pool, "LONGEST", 0.5)
    with pytest.raises(_pool.NoAnswer) as none:
        asked(1e6, 1)
    assert none.value.at_limit
