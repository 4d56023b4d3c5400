"""A model with small data, its solved points, and points beside them."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from aggopt.checks import _declared as declared
from aggopt.checks._law import not_tried
from aggopt.errors import JobError, SolverError
from aggopt.models import Model
from aggopt.solvers import SOLVERS, Solver, choose, solve
from aggopt.solvers._answer import Answer, answer_here
from aggopt.solvers._certificate import Status
from aggopt.solvers._solver import BRANCHING

TOUCH = 1e-5  # what solvers of integer programs allow themselves, where points count
LIMIT = 20.0  # seconds of a solve of small data
STEPS, ENTRIES = (0.1, -0.1), 6  # off a feasible point; of each variable, at most


class SolvedProgram(NamedTuple):
    """A solved declaration: how it ended, the problem, and the point that it holds."""

    status: Status
    bound: float | None
    problem: Any
    at: Any


@dataclass(frozen=True, eq=False)
class TriedModel:
    """A model, and the small data on which its laws are tried."""

    name: str
    model: Model
    excused: Mapping[str, str]
    _solved: dict[str, SolvedProgram] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, method: Model, settings: Any, name: str) -> "TriedModel":
        """Return a model as its laws see it."""
        return cls(name, method, method.excused)

    @cached_property
    def data(self) -> Any:
        """Its small data."""
        if self.model.example is None:
            not_tried("it gives no example: small data to try it on")
        return self.model.example()

    @property
    def file(self) -> ModuleType:
        """The file that declares it."""
        return sys.modules[self.model.data.__module__]

    @cached_property
    def solvers(self) -> list[Solver]:
        """The installed solvers that take it, and read a language of its."""
        spoken = (None, *self.model.languages)
        fit = [s for s in SOLVERS.values() if s.fits(*self.model.kinds)]
        return [s for s in fit if s.language in spoken and s.installed]

    def declared(self, language: str) -> Any:
        """Return its program of the small data, to be solved from where it can move."""
        starts = "start" in signature(self.model.build).parameters
        means = getattr(self.data, "means", None)
        begin = {"start": means} if starts and means is not None else {}
        return self.model.build(self.data, language, **begin)

    def solved(self, language: str) -> SolvedProgram:
        """Return its program in a language, solved; not tried where nothing can."""
        if language not in self._solved:
            problem = self.declared(language)
            try:
                solver = choose(None, self.model.kind, language=language)
            except (JobError, SolverError) as none:
                not_tried(f"{none.problem} {none.fix}")
            outcome = solve(problem, solver.name, time_limit=LIMIT)
            at = self.point(problem) if outcome.status.usable else None
            found = SolvedProgram(outcome.status, outcome.bound, problem, at)
            self._solved[language] = found
        return self._solved[language]

    def point(self, problem: Any) -> Any:
        """Return the point that a solved problem holds, or None."""
        reading = self.model.reader(problem, self.data)
        at = None if reading is None else self.at(reading)
        if at is not None:
            return at
        point = get_type_hints(self.model.objective).get("at")
        values = declared.taken(problem, getattr(point, "_fields", ("",)))
        return None if point is None or values is None else point(*values)

    def at(self, reading: Any) -> Any:
        """Return the point of what was read, counting what solvers miss by rounding."""
        own = signature(self.model.point).parameters
        touch = {"touch": TOUCH} if "touch" in own else {}
        return self.model.point(self.data, reading, **touch)

    def answer(self, solver: Solver) -> Answer:
        """Return what a solver finds for the small data."""
        start = getattr(self.data, "means", None)
        starts = "start" in signature(self.model.build).parameters
        branches = solver.time_limit and (
            solver.language is None or self.model.kind in BRANCHING
        )
        limit = LIMIT if branches else None
        begin = start if starts else None
        return answer_here(self.model, self.data, solver, begin, limit, None)

    @cached_property
    def known(self) -> Any:
        """A point that some solver found; None where none is to be had."""
        for language in self.model.languages:
            try:
                at = self.solved(language).at
            except Exception:  # the law of solved programs says why
                continue
            if at is not None:
                return at
        means = getattr(self.data, "means", None)
        return None if means is None else self.at(means)

    def beside(self, problem: Any) -> Iterator[Any]:
        """Yield points: one that was found, and those with one entry of it off.

        There the constraints of that entry stand alone: no other hides what they miss.
        """
        at = self.known
        if at is None:
            not_tried("no point is known: no installed solver finds one")
        yield at
        rng = np.random.default_rng(0)
        for name, value in at._asdict().items():
            shape = declared.shape_of(problem, name)
            if shape is None or shape != np.shape(value):
                continue
            some = rng.permutation(int(np.prod(shape)))[:ENTRIES]
            for entry in some:
                for step in STEPS:
                    moved = np.array(value, dtype=np.float64)
                    moved.flat[entry] += step
                    if declared.is_symmetric(problem, name):
                        moved = (moved + moved.T) / 2
                    yield at._replace(**{name: moved})
