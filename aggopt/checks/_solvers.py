"""Laws of a solver: programs whose ends are known, and small data of models."""

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from aggopt.checks import _declared as declared
from aggopt.checks import _programs as programs
from aggopt.checks._interrupt import InterruptedTrialError, interrupted
from aggopt.checks._model import TriedModel
from aggopt.checks._solver import LIMIT, NUMBERS, TriedSolver
from aggopt.checks.law import laws, not_tried, refused, require
from aggopt.core.compile_time import compile_time
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.errors import AggoptError, JobError
from aggopt.models import MODELS
from aggopt.solvers import Status
from aggopt.solvers.solver import CLASSES

SOON = 10.0  # seconds within which a short limit is kept
NEAR = 1e-4  # of a known optimum
EXACT = ("LP", "MILP", "MIQP")  # whose optimum a global solver shows


def it_says_what_it_takes(f: TriedSolver) -> None:
    """It takes classes or models that there are, and says how it is installed."""
    unknown = sorted(f.solver.takes - {*CLASSES, *MODELS})
    require(not unknown, f"it takes {', '.join(unknown)}, which is nothing")
    require(f.solver.takes, "it takes nothing")
    both = (f.solver.language is None) == (":" not in f.solver.name)
    require(both, "its name has a language where it has one, and only there")
    require(f.solver.install, "it does not say how it is installed")


def known_optima_are_found(f: TriedSolver) -> None:
    """Each class that it claims it solves, minimised and maximised."""
    f.require_here()
    for kind, best, value, outcome, _ in f.known:
        ended = outcome.status in (Status.OPTIMAL, Status.LOCAL)
        require(ended, f"{kind}: it ends as {outcome.status.value}")
        if f.solver.is_global or kind != "NLP":
            near = abs(value - best) <= NEAR
            require(near, f"{kind}: it finds {value:.9g}, the optimum is {best:.9g}")
        if f.solver.is_global and kind in EXACT:
            shown = outcome.status is Status.OPTIMAL
            require(shown, f"{kind}: it ends as {outcome.status.value}, not as optimal")


def it_proves_no_more_than_is_so(f: TriedSolver) -> None:
    """No bound lies beyond the optimum; a solver that is local proves none."""
    f.require_here()
    for kind, best, _, outcome, sign in f.known:
        if outcome.bound is None:
            continue
        require(f.solver.is_global, f"{kind}: it is local, and states a bound")
        bound = sign * outcome.bound
        lies = f"{kind}: it proves {bound:.9g}, and {best:.9g} is reached"
        require(bound <= best + 1e-7, lies)
        require(bound >= best - NEAR, f"{kind}: it proves {bound:.9g} of {best:.9g}")


def infeasible_is_said(f: TriedSolver) -> None:
    """Without a feasible point it finds none, and a global solver says that."""
    f.require_here()
    for kind in f.classes:
        problem = programs.infeasible(str(f.solver.language), kind)
        status = f.ended(problem, time_limit=LIMIT).status
        shown = not status.usable or status.is_open
        require(shown, f"{kind}: it ends as {status.value}")
        if f.solver.is_global and kind in EXACT:
            said = status is Status.INFEASIBLE
            require(said, f"{kind}: it ends as {status.value}, not as infeasible")
        if not f.solver.is_global:
            proven = status is Status.INFEASIBLE
            require(not proven, f"{kind}: it is local, and says that none is feasible")


def unbounded_is_said(f: TriedSolver) -> None:
    """Where the cost falls for ever, it finds no optimum, and proves no bound."""
    f.require_here()
    linear = [kind for kind in f.classes if kind in programs.LINEAR]
    if not linear:
        not_tried("it takes no class of which an unbounded program is known")
    for kind in linear:
        problem = programs.unbounded(str(f.solver.language), kind)
        outcome = f.ended(problem, time_limit=LIMIT)
        ended = outcome.status in (Status.OPTIMAL, Status.LOCAL)
        require(not ended, f"{kind}: it ends as {outcome.status.value}")
        require(outcome.bound is None, f"{kind}: it states a bound")


def a_time_limit_is_kept(f: TriedSolver) -> None:
    """A long program ends within its limit of time, and says that it was cut short."""
    f.require_here()
    for problem, limit in _long(f):
        started = compile_time.now()
        outcome = f.ended(problem, time_limit=limit)
        spent = compile_time.now() - started
        require(spent < SOON, f"with a limit of {limit:g} seconds it took {spent:.1f}")
        cut = outcome.status.is_open or not outcome.status.usable
        require(cut, f"cut short, it ends as {outcome.status.value}")
        return
    not_tried("it takes no class of which a long program is known")


def an_interrupt_is_raised(f: TriedSolver) -> None:
    """An interrupt that comes while it works is raised, at its limit at the latest."""
    f.require_here()
    if threading.current_thread() is not threading.main_thread():
        not_tried("signals reach the main thread only")
    if "MILP" not in f.classes:
        not_tried("it takes no integer programs, of which a long one is known")
    if f.solver.language == "pyomo":
        not_tried("an interrupt within Pyomo's own code can leave output captured")
    problem, started = programs.knapsack(str(f.solver.language)), compile_time.now()
    with interrupted(after=0.1) as came:
        try:
            with reraise_interrupts():
                f.ended(problem, time_limit=0.5)
        except InterruptedTrialError:
            spent = compile_time.now() - started
            require(spent < SOON, f"it took {spent:.1f} seconds to hear it")
            return
    require(not came, "it was interrupted, and went on as if it had not been")


def unknown_options_are_refused(f: TriedSolver) -> None:
    """An option that it does not have is refused by name; one that writes, too."""
    f.require_here()
    kind = f.classes[0]
    for option in ("no_such", "log_file"):
        problem = programs.known(str(f.solver.language), kind)
        refused(
            partial(f.ended, problem, options={option: 1}),
            f"the option '{option}'",
            JobError,
            says=option,
        )


def it_repeats_itself(f: TriedSolver) -> None:
    """The same program ends alike, at the same cost."""
    f.require_here()
    for kind, _, value, outcome, sign in f.known:
        if sign > 0:
            a = NUMBERS.get(kind, 1.0)
            problem = programs.known(str(f.solver.language), kind, a)
            again = f.ended(problem, time_limit=LIMIT)
            alike = again.status is outcome.status and again.bound == outcome.bound
            require(alike, f"{kind}: it ends otherwise the second time")
            same = declared.cost(problem) == value or not outcome.status.usable
            require(same, f"{kind}: it finds another value the second time")


def answers_of_models_are_points(f: TriedSolver) -> None:
    """Small data of a model that it takes end with a feasible point."""
    f.require_here(classes=False)
    for tried, found in f.answers:
        name, status = tried.name, found.status
        require(status.usable, f"{name}: its small data end as {status.value}")
        require(found.reading is not None, f"{name}: {status.value}, without an answer")
        missed = tried.model.violation(tried.data, tried.at(found.reading))
        require(missed <= 1e-5, f"{name}: the answer misses by {missed:.3g}")


def bounds_of_models_hold(f: TriedSolver) -> None:
    """What it proves for a model's data, no solver's point goes below."""
    f.require_here(classes=False)
    for tried, found in f.answers:
        reached = {f.solver.name: found} | {
            other.name: tried.answer(other)
            for other in tried.solvers
            if other.name != f.solver.name
        }
        costs = {
            name: tried.model.objective(tried.data, tried.at(other.reading))
            for name, other in reached.items()
            if other.reading is not None and other.status.usable
        }
        if not costs:
            continue
        best = min(costs, key=costs.__getitem__)
        slack = NEAR * max(1.0, abs(costs[best]))
        where = f"{tried.name}: {best} reaches {costs[best]:.9g}"
        if found.bound is not None:
            held = found.bound <= costs[best] + slack / 10
            require(held, f"{where}, and it proves {found.bound:.9g}")
        if found.status is Status.OPTIMAL:
            own = costs[f.solver.name]
            held = own <= costs[best] + slack
            require(held, f"{where}, and it calls {own:.9g} optimal")


def options_of_models_are_refused(f: TriedSolver) -> None:
    """An option that it does not have is refused, whatever model it is asked for."""
    f.require_here(classes=False)
    from aggopt.solvers.answer import answer_here

    for name in f.models:
        model, data = MODELS[name], TriedModel.of(MODELS[name], {}, name).data
        start = getattr(data, "means", None)
        ask = partial(answer_here, model, data, f.solver, start, None)
        refused(
            partial(ask, options={"no_such": 1}),
            f"{name}: the option 'no_such'",
            AggoptError,
            says="no_such",
        )


def _long(f: TriedSolver) -> Iterator[tuple[Any, float]]:
    """Yield a program that lasts, and a limit that it cannot end within."""
    if "MILP" in f.classes:
        yield programs.knapsack(str(f.solver.language)), 0.05
    if "SDP" in f.classes:
        yield programs.correlations(), 1e-4


LAWS = laws(
    it_says_what_it_takes,
    known_optima_are_found,
    it_proves_no_more_than_is_so,
    infeasible_is_said,
    unbounded_is_said,
    a_time_limit_is_kept,
    an_interrupt_is_raised,
    unknown_options_are_refused,
    it_repeats_itself,
    answers_of_models_are_points,
    bounds_of_models_hold,
    options_of_models_are_refused,
)
