"""A function that solves, with data whose ends are known, as its laws see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from aggopt.checks._model import LIMIT, TriedModel, standardised
from aggopt.checks.law import require
from aggopt.core.plugins.loading import origin_of_object
from aggopt.errors import AggoptError
from aggopt.models import MODELS, Model
from aggopt.models.shared.user_model import adopted as adopted_model
from aggopt.solvers import SOLVERS, Solver, Status
from aggopt.solvers.answer import Answer
from aggopt.solvers.process_pool import is_here
from aggopt.solvers.run_solver import answer
from aggopt.solvers.user_solver import OwnSolving
from aggopt.solvers.user_solver import adopted as adopted_solver

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
        own = self.function
        if self.settings:
            own = partial(own, **self.settings)
        return adopted_solver(own, origin_of_object("solvers", self.function))

    def takes(self, name: str) -> bool:
        """Whether it takes an argument of this name."""
        run = self.solver.run
        return isinstance(run, OwnSolving) and run.takes(name)

    def answer(self, posed: Posed, **how: Any) -> Answer:
        """Return its answer, with `start`, `time_limit` and `options` as given.

        Broken if it does not answer within its limit and is killed.  It is then not
        called again, because each later law would wait for it as long.
        """
        silent = "it does not answer within its limit, and is killed"
        require(not self._unanswered, f"{', '.join(self._unanswered)}: {silent}")
        arguments = {"start": None, "time_limit": None, "options": None, **how}
        start = getattr(posed.data, "means", None)
        arguments["start"] = start if arguments["start"] is None else arguments["start"]
        if arguments["time_limit"] is None and not is_here():
            arguments["time_limit"] = LIMIT  # of its process, if it takes none
        begin = arguments.pop("start")
        found = answer(posed.model, posed.data, self.solver, begin, **arguments)
        if found.status is Status.UNANSWERED:
            self._unanswered.add(posed.name)
            require(False, f"{posed.name}: {silent}")
        return found

    @cached_property
    def answers(self) -> list[tuple[Posed, Answer]]:
        """Its answers, for the programs that it answers; broken if it answers none."""
        limit = {"time_limit": LIMIT} if self.takes("time_limit") else {}
        found, failed = [], []
        for posed in known():
            try:
                answered = self.answer(posed, **limit)
            except AggoptError as error:
                failed.append(f"{posed.name}: {error.problem}")
                continue
            if answered.reading is None:
                failed.append(f"{posed.name}: it finds nothing")
            else:
                found.append((posed, answered))
        require(found, "; ".join(failed))
        return found


@cache
def known() -> tuple[Posed, ...]:
    """Return small data of models of this package, and of two programs of functions."""
    x, labels = standardised()
    groups = [x[labels == g] for g in range(labels.max() + 1)]
    squares = sum(float(((g - g.mean()) ** 2).sum()) for g in groups)
    distances = sum(float(np.abs(g - np.median(g)).sum()) for g in groups)
    found = []
    for name in SHIFTING:
        tried = TriedModel.of(MODELS[name], {}, name)
        proof = tried.answer(SOLVERS["lagrangian"])
        best = tried.model.objective(tried.data, tried.at(proof.reading))
        found.append(Posed(name, tried.model, tried.data, best))
    for function, best in ((least_squares, squares), (least_distances, distances)):
        model = declared(function)
        found.append(Posed(function.__name__, model, model.data(x, labels), best))
    return tuple(found)


def declared(function: Callable[..., Any]) -> Model:
    """Return the model of a function that declares a program."""
    return adopted_model(function, origin_of_object("models", function))


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
    weights, worth = rng.integers(1, 99, (20, m)), rng.integers(1, 99, m)
    c = cp.Variable(m, boolean=True, name="c")
    most = weights.sum(axis=1) // 3
    return cp.Problem(cp.Minimize(-worth @ c), [weights @ c <= most])


def posed_by(function: Callable[..., Any], groups: int = 2) -> Posed:
    """Return the program of a function, of groups of two records each."""
    model = declared(function)
    labels = np.repeat(np.arange(groups), 2)
    x = np.linspace(-1.0, 1.0, len(labels))
    return Posed(function.__name__, model, model.data(x / x.std(), labels))
