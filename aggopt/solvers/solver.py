"""Description of a solver, available before its package is imported."""

import shutil
from collections.abc import Callable, Mapping
from ctypes.util import find_library
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from aggopt.core.dependencies import find_package_versions
from aggopt.core.registry import Method
from aggopt.core.validation import is_number

CLASSES = ("LP", "QP", "SOCP", "SDP", "MILP", "MIQP", "NLP", "MINLP")
BRANCHING = frozenset({"MILP", "MIQP", "NLP", "MINLP"})  # to prove an optimum of one
OPTIMUM = "the optimum"
LOCAL_OPTIMUM = "a local optimum"

_CALLING = ("_reduced",)  # modules here that call a solver of another package


@dataclass(frozen=True, kw_only=True)
class Solver(Method):
    """One solver: the problems it takes, its package and its name there."""

    language: str | None  # None: takes a model's data, without a declaration
    native: str  # its name in the language; without one, its module here
    takes: frozenset[str]  # of CLASSES, or names of models
    finds: str  # how good its answer is
    install: str  # the fix shown if it is missing
    time_limit: str | None  # its own name for a limit in seconds; None: takes no option
    needs: tuple[str, ...] = ()  # Python packages
    program: str | None = None  # a program on the PATH
    library: str | None = None  # a shared library
    fixed: Mapping[str, Any] = field(default_factory=dict)
    duals: bool = False  # leaves the multipliers of linear and quadratic programs
    harmless: frozenset[str] = frozenset()  # options that leave its bound a proof
    # its default tolerances; smaller ones leave its bound a proof, too
    tolerances: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)  # of a class: another rank
    # options that make it print for a log, unless its language sets them
    loud: Mapping[str, Any] = field(default_factory=dict)
    boxes: bool = True  # keeps values within bounds that a model's data state
    # for a class, options among `fixed` that are dropped for a second try if it fails
    loosened: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # (model, data, start, time_limit, options) to an answer, of one of the user's
    run: Callable[..., Any] | None = None

    def __hash__(self) -> int:
        """Return one number for all solvers of one name."""
        return hash((type(self), self.name))

    @property
    def lacks(self) -> str | None:
        """Missing package, program or library, or None; nothing is imported."""
        for package in self.needs:
            if find_spec(package) is None:
                return f"no package {package}"
        if self.program and not shutil.which(self.program):
            return f"no program {self.program} on the PATH"
        if self.library and not find_library(self.library):
            return f"no library {self.library}"
        return None

    @property
    def installed(self) -> bool:
        """Whether all that the solver needs is installed."""
        return self.lacks is None

    @property
    def versions(self) -> dict[str, str]:
        """The version of each package that it needs; looks, without importing."""
        return find_package_versions(self.needs)

    @property
    def is_foreign(self) -> bool:
        """Whether its code is not of this package: it may never return, or abort."""
        return bool(self.run or self.language or self.native in _CALLING)

    @property
    def is_global(self) -> bool:
        """Whether it proves that its answer is optimal or that a problem has none."""
        return self.finds == OPTIMUM

    @property
    def limited(self) -> bool:
        """Whether it takes a limit of time."""
        takes_limit = self.run is not None and self.run.takes("time_limit")  # type: ignore[attr-defined]
        return takes_limit or self.time_limit is not None

    def branches(self, kind: str) -> bool:
        """Whether it may go on for ever: it proves by cases, of this class or any."""
        return self.is_global and (kind in BRANCHING or "MINLP" in self.takes)

    def is_careful(self, native: Mapping[str, Any]) -> bool:
        """Whether its results with these options are as reliable as without them."""
        return all(
            name in self.harmless or self._is_tight(name, value)
            for name, value in native.items()
        )

    def _is_tight(self, name: str, value: object) -> bool:
        if not is_number(value) or name not in self.tolerances:
            return False
        return 0 <= float(value) <= self.tolerances[name]  # type: ignore[arg-type]

    def rank_for(self, *problems: str) -> int:
        """Return its rank among solvers that take one of these; the lowest is first."""
        taken = self.takes.intersection(problems)
        return min((self.ranks.get(p, self.rank) for p in taken), default=self.rank)

    def fits(self, *problems: str) -> bool:
        """Whether it takes any of these classes or models."""
        return not self.takes.isdisjoint(problems)
