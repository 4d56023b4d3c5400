"""Laws of a function that solves: its answers are points, its claims are true."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from aggopt.checks._model import LIMIT, TriedModel, make_standardised_data
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
from aggopt.core.plugins.loading import find_origin
from aggopt.errors import AggoptError
from aggopt.models import MODELS, Model
from aggopt.models.shared.user_model import adopt_model as adopted_model
from aggopt.solvers import SOLVERS, Solver, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.process_pool import is_here
from aggopt.solvers.registry import OwnSolving
from aggopt.solvers.registry import adopt_solver as adopted_solver
from aggopt.solvers.run_solver import run_solver

SHIFTING = ("p3m", "p3m_onesided", "satisfaction")  # models of a job's attribute


class Posed(NamedTuple):
    """A model, data of it, and the cost of the best point, if known."""

    name: str
    model: Model
    data: Any
    best: float | None = None


@dataclass(frozen=True, eq=False)
class TriedSolverFunction:
    """A function (model, data, *, start, time_limit, options), called as by a job."""

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, Any]
    excused: Mapping[str, str]
    _unanswered: set[str] = field(default_factory=set, init=False, repr=False)

    @cached_property
    def solver(self) -> Solver:
        """The function as a solver."""
        function = self.function
        if self.settings:
            function = partial(function, **self.settings)
        return adopted_solver(function, find_origin("solvers", self.function))

    def takes(self, name: str) -> bool:
        """Whether it takes an argument of this name."""
        run = self.solver.run
        return isinstance(run, OwnSolving) and run.takes(name)

    def answer(self, posed: Posed, **settings: Any) -> Answer:
        """Return its answer, with `start`, `time_limit` and `options` as given.

        Broken if it does not answer within its limit and is killed.  It is then not
        called again, because each later law would wait for it as long.
        """
        silent = "it does not answer within its limit, and is killed"
        require(not self._unanswered, f"{', '.join(self._unanswered)}: {silent}")
        arguments = {"start": None, "time_limit": None, "options": None, **settings}
        start = getattr(posed.data, "means", None)
        arguments["start"] = start if arguments["start"] is None else arguments["start"]
        if arguments["time_limit"] is None and not is_here():
            arguments["time_limit"] = LIMIT  # of its process, if it takes none
        begin = arguments.pop("start")
        answer = run_solver(posed.model, posed.data, self.solver, begin, **arguments)
        if answer.status is Status.UNANSWERED:
            self._unanswered.add(posed.name)
            require(False, f"{posed.name}: {silent}")
        return answer

    @cached_property
    def answers(self) -> list[tuple[Posed, Answer]]:
        """Its answers, for the programs that it answers; broken if it answers none."""
        limit = {"time_limit": LIMIT} if self.takes("time_limit") else {}
        answers = []
        failed = []
        for posed in list_known_data():
            try:
                answered = self.answer(posed, **limit)
            except AggoptError as error:
                failed.append(f"{posed.name}: {error.problem}")
                continue
            if answered.reading is None:
                failed.append(f"{posed.name}: it finds nothing")
            else:
                answers.append((posed, answered))
        require(answers, "; ".join(failed))
        return answers


@cache
def list_known_data() -> tuple[Posed, ...]:
    """Return small data of models of this package, and of two programs of functions."""
    x, labels = make_standardised_data()
    groups = [x[labels == g] for g in range(labels.max() + 1)]
    squares = sum(float(((g - g.mean()) ** 2).sum()) for g in groups)
    distances = sum(float(np.abs(g - np.median(g)).sum()) for g in groups)
    posed = []
    for name in SHIFTING:
        tried = TriedModel.of(MODELS[name], {}, name)
        proof = tried.answer(SOLVERS["lagrangian"])
        best = tried.model.objective(tried.data, tried.at(proof.reading))
        posed.append(Posed(name, tried.model, tried.data, best))
    for function, best in ((least_squares, squares), (least_distances, distances)):
        model = adopt_function(function)
        posed.append(Posed(function.__name__, model, model.data(x, labels), best))
    return tuple(posed)


def adopt_function(function: Callable[..., Any]) -> Model:
    """Return the model of a function that declares a program."""
    return adopted_model(function, find_origin("models", function))


def least_squares(x: Any, labels: Any, sizes: Any) -> Any:
    """Declare a quadratic program: the means are best."""
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c", bounds=[-9, 9])
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)))


def least_distances(x: Any, labels: Any, sizes: Any) -> Any:
    """Declare a linear program: medians are best."""
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c", bounds=[-9, 9])
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(c[labels] - x))))


def nothing_feasible(x: Any, labels: Any, sizes: Any) -> Any:
    """Declare a program without a feasible point."""
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c")
    cost = cp.sum_squares(c[labels] - x)
    return cp.Problem(cp.Minimize(cost), [c >= 1, sizes @ c == 0])


def endless(x: Any, labels: Any, sizes: Any) -> Any:
    """Declare a program whose cost falls for ever."""
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum(c)))


def lasting(x: Any, labels: Any, sizes: Any) -> Any:
    """Declare an integer program that takes solvers more than a moment."""
    import cvxpy as cp

    m = len(sizes)
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 99, (20, m))
    worth = rng.integers(1, 99, m)
    c = cp.Variable(m, boolean=True, name="c")
    capacities = weights.sum(axis=1) // 3
    return cp.Problem(cp.Minimize(-worth @ c), [weights @ c <= capacities])


def build_posed(function: Callable[..., Any], groups: int = 2) -> Posed:
    """Return the program of a function, of groups of two records each."""
    model = adopt_function(function)
    labels = np.repeat(np.arange(groups), 2)
    x = np.linspace(-1.0, 1.0, len(labels))
    return Posed(function.__name__, model, model.data(x / x.std(), labels))


SOON = 10.0  # seconds within which a short limit is kept
NEAR = 1e-4  # of a known optimum
HELD = 1e-6  # allowed violation of a published constraint
LASTS = 60  # groups of the program that lasts


def answers_are_points(f: TriedSolverFunction) -> None:
    """Its answer for small data, of some model at least, misses no constraint."""
    for posed, answer in f.answers:
        missed = posed.model.violation(posed.data, _evaluate_point(posed, answer))
        require(missed <= HELD, f"{posed.name}: the answer misses by {missed:.3g}")


def known_optima_are_found(f: TriedSolverFunction) -> None:
    """Its answer costs no more than the known optimum."""
    for posed, answer in f.answers:
        cost = posed.model.objective(posed.data, _evaluate_point(posed, answer))
        near = cost <= _compute_upper_limit(posed)
        received = f"it finds {cost:.9g}, the optimum is {posed.best:.9g}"
        require(near, f"{posed.name}: {received}")


def no_bound_is_a_lie(f: TriedSolverFunction) -> None:
    """The optimum is not below its claimed bound."""
    claims = [(posed, a.claimed.bound) for posed, a in f.answers if a.claimed]
    if not claims:
        not_tried("it claims no bound")
    for posed, bound in claims:
        require(not isnan(bound), f"{posed.name}: its bound is no number")
        received = f"it claims {bound:.9g}, and {posed.best:.9g} is reached"
        require(bound <= _compute_upper_limit(posed), f"{posed.name}: {received}")


def infeasible_is_said(f: TriedSolverFunction) -> None:
    """Of a program without a feasible point it finds none: it returns None."""
    answers = _select_programs(f, build_posed(nothing_feasible))
    require(answers.reading is None, "it returns a point, and there is none")


def unbounded_is_said(f: TriedSolverFunction) -> None:
    """If the cost is unbounded it finds no point, and claims no bound."""
    answers = _select_programs(f, build_posed(endless))
    require(answers.reading is None, "it returns a point, and no point is best")
    require(answers.claimed is None, "it claims a bound, and there is none")


def a_time_limit_is_kept(f: TriedSolverFunction) -> None:
    """With a limit of 0.05 seconds it is back within 10, of a program that lasts."""
    _require_limit(f)
    started = compile_time.now()
    _solve_lasting(f, time_limit=0.05)
    spent = compile_time.now() - started
    require(spent < SOON, f"with a limit of 0.05 seconds it took {spent:.1f}")


def an_interrupt_is_raised(f: TriedSolverFunction) -> None:
    """An interrupt while it works is raised, at its limit at the latest."""
    if threading.current_thread() is not threading.main_thread():
        not_tried("signals reach the main thread only")
    _require_limit(f)
    started = compile_time.now()
    with send_interrupt(after=0.1) as came:
        try:
            with reraise_interrupts():
                _solve_lasting(f, time_limit=0.5)
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
        require_refusal(
            partial(f.answer, posed, options={"no_such": 1}),
            f"{posed.name}: the option 'no_such'",
            AggoptError,
        )


def another_start_is_taken(f: TriedSolverFunction) -> None:
    """From another start it finds a point, too, and does not change the start."""
    if not f.takes("start"):
        not_tried("it takes no start")
    for posed, _ in f.answers:
        start = np.linspace(-1.0, 1.0, int(posed.data.labels.max()) + 1)
        again = f.answer(posed, start=start)
        require(again.reading is not None, f"{posed.name}: it finds nothing from there")
        missed = posed.model.violation(posed.data, _evaluate_point(posed, again))
        require(missed <= HELD, f"{posed.name}: from there it misses by {missed:.3g}")


def it_repeats_itself(f: TriedSolverFunction) -> None:
    """Equal data get equal answers, whatever NumPy's global state."""
    for posed, answer in f.answers:
        before = np.random.get_state()  # noqa: NPY002
        np.random.seed(len(posed.data.x))  # noqa: NPY002
        same = np.array_equal(f.answer(posed).reading, answer.reading)
        np.random.set_state(before)  # noqa: NPY002
        require(same, f"{posed.name}: it finds another point the second time")


def _evaluate_point(posed: Posed, answer: Answer) -> object:
    """Return the point of the model for the solver's answer."""
    return posed.model.point(posed.data, answer.reading)


def _compute_upper_limit(posed: Posed) -> float:
    """Return the largest cost that counts as the optimum."""
    best = float(posed.best)  # type: ignore[arg-type]
    return best + NEAR * max(1.0, abs(best))


def _select_programs(f: TriedSolverFunction, posed: Posed) -> Answer:
    """Return the solver's answer to a program, with a time limit if it takes one."""
    _require_programs(f)
    limit = {"time_limit": SOON} if f.takes("time_limit") else {}
    return f.answer(posed, **limit)


def _require_limit(f: TriedSolverFunction) -> None:
    """End the law if the solver takes no time limit."""
    if not f.takes("time_limit"):
        not_tried("it takes no time_limit")
    _require_programs(f)


def _solve_lasting(f: TriedSolverFunction, time_limit: float) -> None:
    """Have it solve a program that lasts."""
    try:
        f.answer(build_posed(lasting, LASTS), time_limit=time_limit)
    except AggoptError as error:
        not_tried(f"it fails on an integer program, and no other lasts: {error}")


def _require_programs(f: TriedSolverFunction) -> None:
    """Raise NotTriedError if it does not solve programs of functions."""
    if not any(posed.model.origin for posed, _ in f.answers):
        not_tried("it does not solve programs that functions declare")


LAWS = list_laws(
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
