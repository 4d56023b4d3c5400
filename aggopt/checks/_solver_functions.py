"""Laws of a function that solves: its answers are points, its claims are true."""

import threading
from functools import partial
from math import isnan

import numpy as np

from aggopt.checks._interrupt import InterruptedTrialError, interrupted
from aggopt.checks._solver_function import (
    Posed,
    TriedSolverFunction,
    endless,
    lasting,
    nothing_feasible,
    posed_by,
)
from aggopt.checks.law import laws, not_tried, refused, require
from aggopt.core.compile_time import compile_time
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.errors import AggoptError
from aggopt.solvers.answer import Answer

SOON = 10.0  # seconds within which a short limit is kept
NEAR = 1e-4  # of a known optimum
HELD = 1e-6  # allowed violation of a published constraint
LASTS = 60  # groups of the program that lasts


def answers_are_points(f: TriedSolverFunction) -> None:
    """What it finds of small data, of some model at least, misses no constraint."""
    for posed, found in f.answers:
        missed = posed.model.violation(posed.data, _at(posed, found))
        require(missed <= HELD, f"{posed.name}: the answer misses by {missed:.3g}")


def known_optima_are_found(f: TriedSolverFunction) -> None:
    """What it finds costs no more than the optimum, which is known."""
    for posed, found in f.answers:
        cost = posed.model.objective(posed.data, _at(posed, found))
        near = cost <= _above(posed)
        seen = f"it finds {cost:.9g}, the optimum is {posed.best:.9g}"
        require(near, f"{posed.name}: {seen}")


def no_bound_is_a_lie(f: TriedSolverFunction) -> None:
    """What it claims that no point goes below, the optimum does not."""
    claims = [(posed, a.claimed.bound) for posed, a in f.answers if a.claimed]
    if not claims:
        not_tried("it claims no bound")
    for posed, bound in claims:
        require(not isnan(bound), f"{posed.name}: its bound is no number")
        seen = f"it claims {bound:.9g}, and {posed.best:.9g} is reached"
        require(bound <= _above(posed), f"{posed.name}: {seen}")


def infeasible_is_said(f: TriedSolverFunction) -> None:
    """Of a program without a feasible point it finds none: it returns None."""
    found = _of_programs(f, posed_by(nothing_feasible))
    require(found.reading is None, "it returns a point, and there is none")


def unbounded_is_said(f: TriedSolverFunction) -> None:
    """Where the cost falls for ever it finds no point, and claims no bound."""
    found = _of_programs(f, posed_by(endless))
    require(found.reading is None, "it returns a point, and no point is best")
    require(found.claimed is None, "it claims a bound, and there is none")


def a_time_limit_is_kept(f: TriedSolverFunction) -> None:
    """With a limit of 0.05 seconds it is back within 10, of a program that lasts."""
    _require_limit(f)
    started = compile_time.now()
    _last(f, time_limit=0.05)
    spent = compile_time.now() - started
    require(spent < SOON, f"with a limit of 0.05 seconds it took {spent:.1f}")


def an_interrupt_is_raised(f: TriedSolverFunction) -> None:
    """An interrupt that comes while it works is raised, at its limit at the latest."""
    if threading.current_thread() is not threading.main_thread():
        not_tried("signals reach the main thread only")
    _require_limit(f)
    started = compile_time.now()
    with interrupted(after=0.1) as came:
        try:
            with reraise_interrupts():
                _last(f, time_limit=0.5)
        except InterruptedTrialError:
            spent = compile_time.now() - started
            require(spent < SOON, f"it took {spent:.1f} seconds to hear it")
            return
    require(not came, "it was interrupted, and went on as if it had not been")


def unknown_options_are_refused(f: TriedSolverFunction) -> None:
    """An option that it does not have is refused, of each model that it takes."""
    if not f.takes("options"):
        not_tried("it takes no options")
    for posed, _ in f.answers:
        refused(
            partial(f.answer, posed, options={"no_such": 1}),
            f"{posed.name}: the option 'no_such'",
            AggoptError,
        )


def another_start_is_taken(f: TriedSolverFunction) -> None:
    """From another start it finds a point, too, and leaves the start as it was."""
    if not f.takes("start"):
        not_tried("it takes no start")
    for posed, _ in f.answers:
        start = np.linspace(-1.0, 1.0, int(posed.data.labels.max()) + 1)
        again = f.answer(posed, start=start)
        require(again.reading is not None, f"{posed.name}: it finds nothing from there")
        missed = posed.model.violation(posed.data, _at(posed, again))
        require(missed <= HELD, f"{posed.name}: from there it misses by {missed:.3g}")


def it_repeats_itself(f: TriedSolverFunction) -> None:
    """The same data get the same answer, whatever NumPy's global state."""
    for posed, found in f.answers:
        before = np.random.get_state()  # noqa: NPY002
        np.random.seed(len(posed.data.x))  # noqa: NPY002
        same = np.array_equal(f.answer(posed).reading, found.reading)
        np.random.set_state(before)  # noqa: NPY002
        require(same, f"{posed.name}: it finds another point the second time")


def _at(posed: Posed, found: Answer) -> object:
    return posed.model.point(posed.data, found.reading)


def _above(posed: Posed) -> float:
    """Return the limit up to which a cost counts as the optimum."""
    best = float(posed.best)  # type: ignore[arg-type]
    return best + NEAR * max(1.0, abs(best))


def _of_programs(f: TriedSolverFunction, posed: Posed) -> Answer:
    _require_programs(f)
    limit = {"time_limit": SOON} if f.takes("time_limit") else {}
    return f.answer(posed, **limit)


def _require_limit(f: TriedSolverFunction) -> None:
    if not f.takes("time_limit"):
        not_tried("it takes no time_limit")
    _require_programs(f)


def _last(f: TriedSolverFunction, time_limit: float) -> None:
    """Have it solve a program that lasts."""
    try:
        f.answer(posed_by(lasting, LASTS), time_limit=time_limit)
    except AggoptError as error:
        not_tried(f"it fails on an integer program, and no other lasts: {error}")


def _require_programs(f: TriedSolverFunction) -> None:
    """Raise NotTriedError if it does not solve programs of functions."""
    if not any(posed.model.origin for posed, _ in f.answers):
        not_tried("it does not solve programs that functions declare")


LAWS = laws(
    answers_are_points,
    known_optima_are_found,
    no_bound_is_a_lie,
    infeasible_is_said,
    unbounded_is_said,
    a_time_limit_is_kept,
    an_interrupt_is_raised,
    unknown_options_are_refused,
    another_start_is_taken,
    it_repeats_itself,
)
