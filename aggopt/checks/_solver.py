"""A solver with programs and models whose ends are known, as its laws see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from aggopt.checks import _declared as declared
from aggopt.checks import _programs as programs
from aggopt.checks._model import TriedModel
from aggopt.checks.law import not_tried
from aggopt.models import MODELS
from aggopt.solvers import Solver, solve
from aggopt.solvers._solve import Outcome
from aggopt.solvers.answer import Answer
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

    def ended(self, problem: Any, **how: Any) -> Outcome:
        """Return the result of a problem."""
        return solve(problem, self.solver.name, **how)

    @cached_property
    def known(self) -> list[KnownEnd]:
        """How the known program of each class ended, minimised and maximised."""
        found = []
        for kind in self.classes:
            for sign, a in ((1, NUMBERS.get(kind, 1.0)), (-1, 0.4)):
                language = str(self.solver.language)
                problem = programs.known(language, kind, a, maximised=sign < 0)
                outcome = self.ended(problem, time_limit=LIMIT)
                usable = outcome.status.usable
                value = sign * declared.cost(problem) if usable else np.nan
                best = programs.best_of(kind, a)
                found.append(KnownEnd(kind, best, value, outcome, sign))
        return found

    @cached_property
    def answers(self) -> list[tuple[TriedModel, Answer]]:
        """Its answers for the small data of each model that it takes."""
        found = []
        for name in self.models:
            tried = TriedModel.of(MODELS[name], {}, name)
            found.append((tried, tried.answer(self.solver)))
        return found
