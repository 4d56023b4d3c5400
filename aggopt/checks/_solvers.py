"""Laws of a solver: programs whose ends are known, and small data of models."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from aggopt.checks import _model as declared
from aggopt.checks._model import TriedModel
from aggopt.checks.law import (
    InterruptedTrialError,
    list_laws,
    not_tried,
    require,
    require_refusal,
    send_interrupt,
)
from aggopt.core.deadline import compile_time
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.errors import AggoptError, JobError
from aggopt.models import MODELS
from aggopt.solvers import Solver, Status, solve
from aggopt.solvers.certificate import Answer
from aggopt.solvers.solve_problem import Outcome
from aggopt.solvers.solver import CLASSES

LIMIT = 30.0  # seconds allowed to small programs
NUMBERS = {"MIQP": 0.4}  # of a known program: others have 1


class KnownEnd(NamedTuple):
    """Result of a program of known result, as if it were minimised."""

    kind: str
    best: float
    value: float
    outcome: Outcome
    sign: int


@dataclass(frozen=True, eq=False)
class TriedSolver:
    """A solver, and the programs and models that it takes."""

    name: str
    solver: Solver
    excused: Mapping[str, str]

    @classmethod
    def of(cls, method: Solver, settings: Any, name: str) -> "TriedSolver":
        """Return a solver as its laws see it."""
        return cls(name, method, method.excused)

    @property
    def classes(self) -> list[str]:
        """The classes that it takes, declared in its language."""
        return [kind for kind in CLASSES if self.solver.fits(kind)]

    @property
    def models(self) -> list[str]:
        """The models whose data it takes, without a declaration."""
        return [name for name in MODELS if self.solver.fits(name)]

    def require_here(self, *, classes: bool = True) -> None:
        """Raise NotTriedError if the solver is not installed, or takes no program."""
        if self.solver.lacks:
            not_tried(f"{self.solver.lacks}; to enable: {self.solver.install}")
        if classes and not self.classes:
            not_tried("it takes data of models, and no declared program")
        if not classes and not self.models:
            not_tried("it takes declared programs, and no data of a model")

    def ended(self, problem: Any, **settings: Any) -> Outcome:
        """Return the result of a problem."""
        return solve(problem, self.solver.name, **settings)

    @cached_property
    def known_ends(self) -> list[KnownEnd]:
        """How the known program of each class ended, minimised and maximised."""
        ended = []
        for kind in self.classes:
            for sign, a in ((1, NUMBERS.get(kind, 1.0)), (-1, 0.4)):
                language = str(self.solver.language)
                problem = build_known_program(language, kind, a, maximised=sign < 0)
                outcome = self.ended(problem, time_limit=LIMIT)
                usable = outcome.status.usable
                value = sign * declared.evaluate_cost(problem) if usable else np.nan
                best = compute_optimum(kind, a)
                ended.append(KnownEnd(kind, best, value, outcome, sign))
        return ended

    @cached_property
    def answers(self) -> list[tuple[TriedModel, Answer]]:
        """Its answers for the small data of each model that it takes."""
        answers = []
        for name in self.models:
            tried = TriedModel.of(MODELS[name], {}, name)
            answers.append((tried, tried.answer(self.solver)))
        return answers


SOON = 10.0  # seconds within which a short limit is kept
NEAR = 1e-4  # of a known optimum
EXACT = ("LP", "MILP", "MIQP")  # whose optimum a global solver shows


def it_says_what_it_takes(f: TriedSolver) -> None:
    """It takes existing classes or models, and documents its installation."""
    unknown = sorted(f.solver.takes - {*CLASSES, *MODELS})
    require(not unknown, f"it takes {', '.join(unknown)}, which is nothing")
    require(f.solver.takes, "it takes nothing")
    both = (f.solver.language is None) == (":" not in f.solver.name)
    require(both, "its name has a language where it has one, and only there")
    require(f.solver.install, "it does not say how it is installed")


def known_optima_are_found(f: TriedSolver) -> None:
    """Each class that it claims it solves, minimised and maximised."""
    f.require_here()
    for kind, best, value, outcome, _ in f.known_ends:
        ended = outcome.status in (Status.OPTIMAL, Status.LOCAL)
        require(ended, f"{kind}: it ends as {outcome.status.value}")
        if f.solver.is_global or kind != "NLP":
            near = abs(value - best) <= NEAR
            require(near, f"{kind}: it finds {value:.9g}, the optimum is {best:.9g}")
        if f.solver.is_global and kind in EXACT:
            shown = outcome.status is Status.OPTIMAL
            require(shown, f"{kind}: it ends as {outcome.status.value}, not as optimal")


def it_proves_no_more_than_is_so(f: TriedSolver) -> None:
    """No bound is beyond the optimum; a local solver proves none."""
    f.require_here()
    for kind, best, _, outcome, sign in f.known_ends:
        if outcome.bound is None:
            continue
        require(f.solver.is_global, f"{kind}: it is local, and states a bound")
        bound = sign * outcome.bound
        lies = f"{kind}: it proves {bound:.9g}, and {best:.9g} is reached"
        require(bound <= best + 1e-7, lies)
        require(bound >= best - NEAR, f"{kind}: it proves {bound:.9g} of {best:.9g}")


def infeasible_is_said(f: TriedSolver) -> None:
    """Without a feasible point it finds none, and a global solver reports that."""
    f.require_here()
    for kind in f.classes:
        problem = build_infeasible_program(str(f.solver.language), kind)
        status = f.ended(problem, time_limit=LIMIT).status
        shown = not status.usable or status.is_open
        require(shown, f"{kind}: it ends as {status.value}")
        if f.solver.is_global and kind in EXACT:
            is_infeasible = status is Status.INFEASIBLE
            require(
                is_infeasible, f"{kind}: it ends as {status.value}, not as infeasible"
            )
        if not f.solver.is_global:
            proven = status is Status.INFEASIBLE
            require(not proven, f"{kind}: it is local, and says that none is feasible")


def unbounded_is_said(f: TriedSolver) -> None:
    """If the cost is unbounded, it finds no optimum, and proves no bound."""
    f.require_here()
    linear = [kind for kind in f.classes if kind in LINEAR]
    if not linear:
        not_tried("it takes no class of which an unbounded program is known")
    for kind in linear:
        problem = build_unbounded_program(str(f.solver.language), kind)
        outcome = f.ended(problem, time_limit=LIMIT)
        ended = outcome.status in (Status.OPTIMAL, Status.LOCAL)
        require(not ended, f"{kind}: it ends as {outcome.status.value}")
        require(outcome.bound is None, f"{kind}: it states a bound")


def a_time_limit_is_kept(f: TriedSolver) -> None:
    """A long program ends within its limit of time, and its status shows that."""
    f.require_here()
    for problem, limit in _iter_long_programs(f):
        started = compile_time.now()
        outcome = f.ended(problem, time_limit=limit)
        spent = compile_time.now() - started
        require(spent < SOON, f"with a limit of {limit:g} seconds it took {spent:.1f}")
        cut = outcome.status.is_open or not outcome.status.usable
        require(cut, f"cut short, it ends as {outcome.status.value}")
        return
    not_tried("it takes no class of which a long program is known")


def an_interrupt_is_raised(f: TriedSolver) -> None:
    """An interrupt while it works is raised, at its limit at the latest."""
    f.require_here()
    if threading.current_thread() is not threading.main_thread():
        not_tried("signals reach the main thread only")
    if "MILP" not in f.classes:
        not_tried("it takes no integer programs, of which a long one is known")
    if f.solver.language == "pyomo":
        not_tried("an interrupt within Pyomo's own code can leave output captured")
    problem = build_knapsack(str(f.solver.language))
    started = compile_time.now()
    with send_interrupt(after=0.1) as came:
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
        problem = build_known_program(str(f.solver.language), kind)
        require_refusal(
            partial(f.ended, problem, options={option: 1}),
            f"the option '{option}'",
            JobError,
            says=option,
        )


def it_repeats_itself(f: TriedSolver) -> None:
    """Equal programs end alike, at equal cost."""
    f.require_here()
    for kind, _, value, outcome, sign in f.known_ends:
        if sign > 0:
            a = NUMBERS.get(kind, 1.0)
            problem = build_known_program(str(f.solver.language), kind, a)
            again = f.ended(problem, time_limit=LIMIT)
            alike = again.status is outcome.status and again.bound == outcome.bound
            require(alike, f"{kind}: it ends otherwise the second time")
            same = declared.evaluate_cost(problem) == value or not outcome.status.usable
            require(same, f"{kind}: it finds another value the second time")


def answers_of_models_are_points(f: TriedSolver) -> None:
    """Small data of a model that it takes end with a feasible point."""
    f.require_here(classes=False)
    for tried, answer in f.answers:
        name = tried.name
        status = answer.status
        require(status.usable, f"{name}: its small data end as {status.value}")
        require(
            answer.reading is not None, f"{name}: {status.value}, without an answer"
        )
        missed = tried.model.violation(tried.data, tried.at(answer.reading))
        require(missed <= 1e-5, f"{name}: the answer misses by {missed:.3g}")


def bounds_of_models_hold(f: TriedSolver) -> None:
    """No solver's point is below its proven bound for a model's data."""
    f.require_here(classes=False)
    for tried, answer in f.answers:
        reached = {f.solver.name: answer} | {
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
        if answer.bound is not None:
            is_bound = answer.bound <= costs[best] + slack / 10
            require(is_bound, f"{where}, and it proves {answer.bound:.9g}")
        if answer.status is Status.OPTIMAL:
            cost = costs[f.solver.name]
            is_bound = cost <= costs[best] + slack
            require(is_bound, f"{where}, and it calls {cost:.9g} optimal")


def options_of_models_are_refused(f: TriedSolver) -> None:
    """An option that it does not have is refused, for any model."""
    f.require_here(classes=False)
    from aggopt.solvers.run_solver import run_here

    for name in f.models:
        model = MODELS[name]
        data = TriedModel.of(MODELS[name], {}, name).data
        start = getattr(data, "means", None)
        ask = partial(run_here, model, data, f.solver, start, None)
        require_refusal(
            partial(ask, options={"no_such": 1}),
            f"{name}: the option 'no_such'",
            AggoptError,
            says="no_such",
        )


def _iter_long_programs(f: TriedSolver) -> Iterator[tuple[Any, float]]:
    """Yield a program that lasts, and a limit that it cannot end within."""
    if "MILP" in f.classes:
        yield build_knapsack(str(f.solver.language)), 0.05
    if "SDP" in f.classes:
        yield build_correlations(), 1e-4


WHOLE = ("MILP", "MIQP", "MINLP")
LINEAR = ("LP", "MILP", "QP")  # classes that can be unbounded in a known way
# How far from 0 these optima are: solvers keep absolute tolerances, a gap is relative.
APART = 4.0


def compute_optimum(kind: str, a: float) -> float:
    """Return the optimum of `known`, of a class and a number a from 0.3 to 1."""
    values = ((i - a) ** 2 + (1 - i - a) ** 2 for i in range(-4, 6))
    ends = (x * (1 - x) + a * x for x in (-4, 5))
    room = (1 - 2 * (0.5 - a) ** 2) / 2
    optima: dict[str, Callable[[], float]] = {
        "LP": lambda: -4 * a,
        "QP": lambda: APART + 2 * (0.5 - a) ** 2,
        "SOCP": lambda: 0.5 - APART - float(np.sqrt(room)),
        "SDP": lambda: 2 * a,
        "MILP": lambda: -4 * a,
        "MIQP": lambda: min(values),
        "NLP": lambda: min(ends),
        "MINLP": lambda: min(ends),
    }
    return optima[kind]()


def build_known_program(
    language: str, kind: str, a: float = 1.0, *, maximised: bool = False
) -> Any:
    """Return a problem of a class, of two variables that add up to 1.

    Maximised, it is the minimisation with its cost negated.
    """
    sign = -1 if maximised else 1
    return (_build_in_cvxpy if language == "cvxpy" else _build_in_pyomo)(kind, a, sign)


def build_infeasible_program(language: str, kind: str) -> Any:
    """Return a problem of a class without a feasible point."""
    problem = build_known_program(language, kind)
    if language == "cvxpy":
        import cvxpy as cp

        (x,) = problem.variables()
        row = cp.trace(x) <= 1 if kind == "SDP" else cp.sum(x) >= 3
        return cp.Problem(problem.objective, [*problem.constraints, row])
    import pyomo.environ as pyo

    problem.more = pyo.Constraint(expr=problem.x[0] + problem.x[1] >= 3)
    return problem


def build_unbounded_program(language: str, kind: str) -> Any:
    """Return a problem of a class of `LINEAR` whose cost falls for ever."""
    if language == "cvxpy":
        import cvxpy as cp

        x = cp.Variable(2, integer=kind in WHOLE)
        cost = x[0] + (cp.square(x[0] + x[1]) if kind == "QP" else 0)
        return cp.Problem(cp.Minimize(cost), [x[0] + x[1] == 1])
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    domain = pyo.Integers if kind in WHOLE else pyo.Reals
    x = problem.x = pyo.Var([0, 1], domain=domain, initialize=0)
    problem.one = pyo.Constraint(expr=x[0] + x[1] == 1)
    square = (x[0] + x[1]) ** 2 if kind == "QP" else 0
    problem.cost = pyo.Objective(expr=x[0] + square)
    return problem


def build_knapsack(language: str) -> Any:
    """Return an integer program that takes solvers more than a moment."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 99, (20, 60))
    worth = rng.integers(1, 99, 60)
    capacities = weights.sum(axis=1) // 3
    if language == "cvxpy":
        import cvxpy as cp

        x = cp.Variable(60, boolean=True)
        return cp.Problem(cp.Maximize(worth @ x), [weights @ x <= capacities])
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    x = problem.x = pyo.Var(range(60), domain=pyo.Binary)
    rows = [dict(enumerate(row)) for row in weights.tolist()]
    problem.rows = pyo.Constraint(
        range(20), rule=lambda _, i: pyo.sum_product(rows[i], x) <= int(capacities[i])
    )
    total = pyo.sum_product(dict(enumerate(worth.tolist())), x)
    problem.cost = pyo.Objective(expr=total, sense=pyo.maximize)
    return problem


def build_correlations() -> Any:
    """Return a semidefinite program of several iterations, in cvxpy."""
    import cvxpy as cp

    X = cp.Variable((30, 30), PSD=True)
    cost = cp.sum(cp.multiply(np.random.default_rng(0).normal(size=(30, 30)), X))
    return cp.Problem(cp.Minimize(cost), [cp.diag(X) == 1])


def _build_in_cvxpy(kind: str, a: float, sign: int) -> Any:
    import cvxpy as cp

    x = cp.Variable(2, integer=kind in WHOLE, bounds=[-5, 5], value=[3.0, -2.0])
    rows = [cp.sum(x) == 1]
    cost: Any = a * x[0]
    if kind == "QP":
        cost = cp.sum_squares(x - a) + APART
    elif kind == "MIQP":
        cost = cp.sum_squares(x - a)
    elif kind in ("NLP", "MINLP"):
        cost = x[0] * x[1] + a * x[0]
    elif kind == "SOCP":
        cost = x[0] - APART
        rows.append(cp.sum_squares(x - a) <= 1)
    elif kind == "SDP":
        z = cp.Variable((2, 2), PSD=True)
        cost = cp.trace(z)
        rows = [z[0, 1] == a]
    sense = cp.Minimize if sign > 0 else cp.Maximize
    return cp.Problem(sense(sign * cost), rows)


def _build_in_pyomo(kind: str, a: float, sign: int) -> Any:
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    domain = pyo.Integers if kind in WHOLE else pyo.Reals
    x = problem.x = pyo.Var([0, 1], domain=domain, bounds=(-5, 5), initialize=0)
    x[0] = 3
    x[1] = -2
    square = (x[0] - a) ** 2 + (x[1] - a) ** 2
    problem.one = pyo.Constraint(expr=x[0] + x[1] == 1)
    cost = a * x[0]
    if kind == "QP":
        cost = square + APART
    elif kind == "MIQP":
        cost = square
    elif kind in ("NLP", "MINLP"):
        cost = x[0] * x[1] + a * x[0]
    elif kind == "SOCP":
        cost = x[0] - APART
        problem.ball = pyo.Constraint(expr=square <= 1)
    sense = pyo.minimize if sign > 0 else pyo.maximize
    problem.cost = pyo.Objective(expr=sign * cost, sense=sense)
    return problem


LAWS = list_laws(
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
