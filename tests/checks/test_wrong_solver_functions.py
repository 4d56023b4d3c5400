"""Functions that solve wrongly, each caught by the law that it breaks."""

import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from checks.tried import by, caught

from aggopt.checks import Ending, _solver_functions, report
from aggopt.checks import _solver_functions as _solver_function
from aggopt.core.plugins.loading import load_plugin, trust_files
from aggopt.solvers import process_pool as _pool

STRETCH = Path(__file__).parents[2] / "examples" / "own" / "stretch.py"


def by_clarabel(model, data, *, time_limit=None, options=None):
    """Return what Clarabel finds, of programs that are declared; a right solver."""
    problem = model.build(data, "cvxpy")
    limit = {} if time_limit is None else {"time_limit": time_limit}
    problem.solve(solver="CLARABEL", **limit, **(options or {}))
    return None if problem.status != "optimal" else model.reader(problem, data)


def centres(model, data):
    """Return group means or medians, of programs of functions."""
    middle = np.mean if model.name == "least_squares" else np.median
    if model.name not in ("least_squares", "least_distances"):
        return None
    groups = range(int(data.labels.max()) + 1)
    return np.array([middle(data.x[data.labels == g]) for g in groups])


def no_answer(model, data):
    return None


def crashing(model, data):
    return data.nothing


def off_the_program(model, data):
    return data.renormalised + 0.5


def far_from_the_optimum(model, data):
    return centres(model, data) + 0.1


def lying(model, data):
    found = centres(model, data)
    return None if found is None else (found, 1e3)


def lying_in_words(model, data):
    found = centres(model, data)
    return None if found is None else (found, float("nan"))


def always_a_point(model, data):
    return np.zeros(int(data.labels.max()) + 1)


def bounded_anyway(model, data):
    if model.name == "endless":
        return None, -1e6
    return centres(model, data)


def sleeping(model, data, *, time_limit=None):
    time.sleep(0.2 if model.name == "lasting" else 0.0)
    return centres(model, data)


def deaf(model, data, *, time_limit=None):
    interrupted = model.name != "lasting"
    while not interrupted:
        try:
            time.sleep(1.0)
        except BaseException:
            interrupted = True
            time.sleep(0.3)
    return centres(model, data)


def any_option(model, data, *, options=None):
    return centres(model, data)


def from_here_alone(model, data, *, start=None):
    if start is not None and start[0] == -1.0:
        return None
    return centres(model, data)


def off_from_there(model, data, *, start):
    away = 0.0 if np.array_equal(start, data.means) else 0.5
    return data.renormalised + away


def by_chance(model, data):
    found = centres(model, data)
    return None if found is None else found + 1e-7 * np.random.rand(len(found))


WRONG = [
    (no_answer, "answers_are_points"),
    (crashing, "answers_are_points"),
    (off_the_program, "answers_are_points"),
    (far_from_the_optimum, "known_optima_are_found"),
    (lying, "no_bound_is_a_lie"),
    (lying_in_words, "no_bound_is_a_lie"),
    (always_a_point, "infeasible_is_said"),
    (always_a_point, "unbounded_is_said"),
    (bounded_anyway, "unbounded_is_said"),
    (any_option, "unknown_options_are_refused"),
    (from_here_alone, "another_start_is_taken"),
    (off_from_there, "another_start_is_taken"),
    (by_chance, "it_repeats_itself"),
]


@pytest.mark.parametrize(
    ("wrong", "law"), WRONG, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_wrong_function_is_caught(wrong, law):
    caught(law, wrong)


def test_what_was_seen_is_said():
    assert "least_squares: it claims 1000" in caught("no_bound_is_a_lie", lying)
    said = caught("known_optima_are_found", far_from_the_optimum)
    assert said.startswith("least_squares: it finds ")


def test_one_that_takes_its_time_is_caught(monkeypatch):
    monkeypatch.setattr(_solver_functions, "SOON", 0.1)
    said = caught("a_time_limit_is_kept", sleeping)
    assert said.startswith("with a limit of 0.05 seconds it took ")


def test_one_that_hears_an_interrupt_is_right(monkeypatch):
    assert by("an_interrupt_is_raised", sleeping).ending is Ending.KEPT
    monkeypatch.setattr(_solver_functions, "SOON", 0.3)
    said = caught("an_interrupt_is_raised", deaf)
    assert said.startswith("it took ")
    assert said.endswith(" seconds to hear it")


def test_right_ones_break_no_law():
    for right in (centres, by_clarabel):
        endings = {v.law.name: v.ending for v in report(right)}
        assert Ending.BROKEN not in endings.values(), endings
    assert endings["unknown_options_are_refused"] is Ending.KEPT
    assert endings["infeasible_is_said"] is Ending.KEPT
    assert endings["unbounded_is_said"] is Ending.KEPT
    assert endings["known_optima_are_found"] is Ending.KEPT


def test_the_example_is_right_but_for_what_it_declares():
    with trust_files([STRETCH]):
        stretch, _ = load_plugin("solvers", str(STRETCH))
    endings = {verdict.law.name: verdict.ending for verdict in report(stretch)}
    assert endings["known_optima_are_found"] is Ending.EXCUSED
    assert Ending.BROKEN not in endings.values(), endings


def test_settings_reach_the_function():
    def moved(model, data, *, by=0.0):
        found = centres(model, data)
        return None if found is None else found + by

    assert by("known_optima_are_found", moved).ending is Ending.KEPT
    caught("known_optima_are_found", partial(moved, by=0.1))


def hanging(model, data):
    with Path(os.environ["TEST_OF_HANGING"]).open("a") as calls:
        calls.write("called\n")
    time.sleep(1e6)


@pytest.mark.usefixtures("own_process")
def test_one_that_hangs_is_killed_and_not_called_again(tmp_path, monkeypatch):
    monkeypatch.setattr(_solver_function, "LIMIT", 0.2)
    monkeypatch.setattr(_pool, "GRACE", 0.3)
    monkeypatch.setenv("TEST_OF_HANGING", str(tmp_path / "calls"))
    endings = {verdict.ending: verdict.why for verdict in report(hanging)}
    assert "it does not answer within its limit" in endings[Ending.BROKEN]
    assert Ending.KEPT not in endings
    calls = tmp_path / "calls"  # on a loaded machine it is killed before the call
    assert not calls.exists() or calls.read_text() == "called\n"
