"""Model with small data, its solved points, and points near them."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt

from aggopt.checks.law import not_tried, require
from aggopt.core.types import F64, I64
from aggopt.errors import JobError, SolverError
from aggopt.models import Model
from aggopt.models.shared.user_model import OwnModel
from aggopt.solvers import SOLVERS, Solver, choose_solver, solve
from aggopt.solvers.certificate import Answer, Status
from aggopt.solvers.run_solver import run_solver
from aggopt.solvers.solver import BRANCHING

TOUCH = 1e-5  # what solvers of integer programs allow themselves, where points count
HELD = 1e-5  # what solvers leave of a constraint
LIMIT = 20.0  # seconds of a solve of small data
STEPS = (0.1, -0.1)  # off a feasible point
ENTRIES = 6  # of each variable, at most


class SolvedProgram(NamedTuple):
    """A solved declaration: how it ended, the problem, and the point that it holds."""

    status: Status
    bound: float | None
    problem: Any
    at: Any


@dataclass(frozen=True, eq=False)
class TriedModel:
    """A model, and the small data of its trials."""

    name: str
    model: Model
    excused: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    _solved: dict[str, SolvedProgram] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, method: Model, settings: Any, name: str) -> "TriedModel":
        """Return a model as its laws see it."""
        return cls(name, method, method.excused, settings)

    @cached_property
    def data(self) -> Any:
        """Its small data."""
        if self.model.example is not None:
            return self.model.example()
        if not isinstance(self.model, OwnModel):
            not_tried("it gives no example: small data to try it on")
        return self.model.data(*make_standardised_data(), **self.settings)

    @cached_property
    def kind(self) -> str:
        """Its class; of a function that of the program that it declares."""
        if isinstance(self.model, OwnModel):
            return self.model.find_kind(self.settings)
        return self.model.kind

    @property
    def declared_alone(self) -> bool:
        """Whether it is a function, whose program is its own judge."""
        return isinstance(self.model, OwnModel) and self.model.declared

    @property
    def file(self) -> ModuleType:
        """The file that declares it."""
        if self.model.origin is None or self.model.origin.file is None:
            return sys.modules[self.model.data.__module__]
        path = str(self.model.origin.file)
        files = list(sys.modules.values())
        return next(m for m in files if getattr(m, "__file__", None) == path)

    @cached_property
    def solvers(self) -> list[Solver]:
        """The installed solvers that take it, and read a language of its."""
        spoken = (None, *self.model.languages)
        kinds = (self.model.name, self.kind)
        fit = [s for s in SOLVERS.values() if s.fits(*kinds)]
        return [s for s in fit if s.language in spoken and s.installed]

    def declared(self, language: str) -> Any:
        """Return its program of the small data, started from the means if possible."""
        starts = "start" in signature(self.model.build).parameters
        means = getattr(self.data, "means", None)
        begin = {"start": means} if starts and means is not None else {}
        return self.model.build(self.data, language, **begin)

    def solved(self, language: str) -> SolvedProgram:
        """Return its solved program in a language; not tried if no solver can."""
        if language not in self._solved:
            problem = self.declared(language)
            try:
                solver = choose_solver(None, self.kind, language=language)
            except (JobError, SolverError) as none:
                not_tried(f"{none.problem} {none.fix}")
            outcome = solve(problem, solver.name, time_limit=LIMIT)
            at = self.point(problem) if outcome.status.usable else None
            program = SolvedProgram(outcome.status, outcome.bound, problem, at)
            self._solved[language] = program
        return self._solved[language]

    def point(self, problem: Any) -> Any:
        """Return the point that a solved problem holds, or None."""
        reading = self.model.reader(problem, self.data)
        at = None if reading is None else self.at(reading)
        if at is not None:
            return at
        point = get_type_hints(self.model.objective).get("at")
        values = get_values(problem, getattr(point, "_fields", ("",)))
        return None if point is None or values is None else point(*values)

    def at(self, reading: Any) -> Any:
        """Return the point of the read values, allowing for rounding of solvers."""
        parameters = signature(self.model.point).parameters
        touch = {"touch": TOUCH} if "touch" in parameters else {}
        return self.model.point(self.data, reading, **touch)

    def answer(self, solver: Solver) -> Answer:
        """Return a solver's answer for the small data."""
        start = getattr(self.data, "means", None)
        starts = "start" in signature(self.model.build).parameters
        branches = solver.time_limit and (
            solver.language is None or self.kind in BRANCHING
        )
        limit = LIMIT if branches else None
        begin = start if starts else None
        return run_solver(self.model, self.data, solver, begin, time_limit=limit)

    @cached_property
    def known_point(self) -> Any:
        """A point that some solver found; None if no solver has one."""
        for language in self.model.languages:
            try:
                at = self.solved(language).at
            except Exception:  # the law of solved programs reports why
                continue
            if at is not None:
                return at
        means = getattr(self.data, "means", None)
        return None if means is None else self.at(means)

    def iterate_near_points(self, problem: Any) -> Iterator[Any]:
        """Yield points: one that was found, and copies with one entry changed.

        In each copy only the constraints of that entry are violated: no other
        constraint hides their violations.
        """
        at = self.known_point
        if at is None:
            not_tried("no point is known: no installed solver finds one")
        yield at
        rng = np.random.default_rng(0)
        for name, value in at._asdict().items():
            shape = find_shape(problem, name)
            if shape is None or shape != np.shape(value):
                continue
            some = rng.permutation(int(np.prod(shape)))[:ENTRIES]
            for entry in some:
                for step in STEPS:
                    moved = np.array(value, dtype=np.float64)
                    moved.flat[entry] += step
                    if is_symmetric(problem, name):
                        moved = (moved + moved.T) / 2
                    yield at._replace(**{name: moved})


def make_standardised_data() -> tuple[F64, I64]:
    """Return x (n,), of mean 0 and variance 1, and labels (n,) of two groups."""
    x = np.array([-2.0, -1.0, 0.5, -0.5, 2.5, 1.0, 0.25])
    return (x - x.mean()) / x.std(), np.array([0, 0, 0, 1, 1, 1, 1])


def list_named_constraints(f: TriedModel) -> list[str]:
    """Return the names that the head gives to constraints."""
    head = f.file.__doc__ or ""
    part = head.partition("\nSubject to\n")[2].partition("\n\n")[0]
    return re.findall(r"^    (\w+): ", part, re.MULTILINE)


def list_arrays(data: Any) -> dict[str, Any]:
    """Return the arrays among the fields of data, by name."""
    if not is_dataclass(data):
        return {}
    by_name = (
        (data_field.name, getattr(data, data_field.name))
        for data_field in fields(data)
        if data_field.init
    )
    return {name: v for name, v in by_name if isinstance(v, np.ndarray)}


OF_VARIABLES = "of its variables"  # violations of domains, not of a constraint


def find_language(problem: Any) -> str:
    """Return the modelling language of a problem."""
    return "cvxpy" if hasattr(problem, "var_dict") else "pyomo"


def classify_problem(problem: Any) -> str:
    """Return the class of a problem: LP, QP, SOCP, SDP, MILP, MIQP, NLP or MINLP."""
    language = import_module(f"aggopt.solvers._{find_language(problem)}")
    return str(language.find_problem_class(problem))


def list_constraint_names(problem: Any) -> set[str]:
    """Return the names of its constraints."""
    if find_language(problem) == "cvxpy":
        return {str(row.label) for row in problem.constraints}
    from pyomo.environ import Constraint

    return {row.name for row in problem.component_objects(Constraint)}


def find_shape(problem: Any, name: str) -> tuple[int, ...] | None:
    """Return the shape of a variable that it declares, None of one that it does not."""
    if find_language(problem) == "cvxpy":
        variable = problem.var_dict.get(name)
        return None if variable is None else tuple(variable.shape)
    variable = getattr(problem, name, None)
    if variable is None or not len(variable):
        return None
    last = max(variable.index_set())
    return tuple(i + 1 for i in last) if isinstance(last, tuple) else (last + 1,)


def is_symmetric(problem: Any, name: str) -> bool:
    """Whether a variable is declared as a symmetric matrix."""
    return find_language(problem) == "cvxpy" and problem.var_dict[name].is_symmetric()


def set_values(problem: Any, at: Any) -> None:
    """Set the variables that it declares to the values of a point."""
    for name, value in at._asdict().items():
        if find_shape(problem, name) is None:
            continue
        if find_language(problem) == "cvxpy":
            problem.var_dict[name].save_value(np.asarray(value, dtype=np.float64))
            continue
        values = np.asarray(value, dtype=np.float64)
        for where in getattr(problem, name):
            number = float(values[where])
            getattr(problem, name)[where].set_value(number, skip_validation=True)
    if find_language(problem) == "cvxpy":  # Pyomo names such a variable itself
        lacking = [v.name() for v in problem.variables() if v.value is None]
        require(not lacking, f"its point has no value of {', '.join(lacking)}")


def get_values(problem: Any, names: tuple[str, ...]) -> list[npt.NDArray[Any]] | None:
    """Return the values of variables of a solved problem; None where one has none."""
    values = []
    for name in names:
        if find_language(problem) != "cvxpy" or name not in problem.var_dict:
            return None
        values.append(problem.var_dict[name].value)
    return None if any(value is None for value in values) else values


def evaluate_cost(problem: Any) -> float:
    """Return its objective at the values that its variables have."""
    if find_language(problem) == "cvxpy":
        return float(problem.objective.value)
    from pyomo.environ import Objective, value

    return float(value(next(problem.component_data_objects(Objective, active=True))))


def measure_point_violations(problem: Any) -> dict[str, float]:
    """Return by how much its constraints are missed, by their names.

    Violations of the domains of its variables have the name `OF_VARIABLES`.
    """
    violations: dict[str, float] = {}
    for name, amount in _measure_violation(problem):
        violations[name] = max(amount, violations.get(name, 0.0))
    return violations


def _measure_violation(problem: Any) -> Iterator[tuple[str, float]]:
    if find_language(problem) == "cvxpy":
        for row in problem.constraints:
            yield str(row.label), float(np.max(row.violation(), initial=0.0))
        for variable in problem.variables():
            away = np.abs(variable.value - variable.project(variable.value))
            yield OF_VARIABLES, float(np.max(away, initial=0.0))
        return
    from pyomo.environ import Constraint, Var, value

    for block in problem.component_objects(Constraint):
        for row in block.values():
            yield block.name, _measure_excess(value(row.body), row.lb, row.ub)
    for variables in problem.component_objects(Var):
        for one in variables.values():
            away = _measure_excess(one.value, one.lb, one.ub)
            broken = 0.0 if one.is_continuous() else abs(one.value - round(one.value))
            yield OF_VARIABLES, max(away, broken)


def _measure_excess(body: float, low: float | None, high: float | None) -> float:
    below = 0.0 if low is None else low - body
    above = 0.0 if high is None else body - high
    return float(max(below, above, 0.0))
