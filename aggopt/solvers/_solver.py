"""What is known of a solver before it is imported."""

import shutil
from collections.abc import Mapping
from ctypes.util import find_library
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

OPTIMUM, LOCAL_OPTIMUM = "the optimum", "a local optimum"


@dataclass(frozen=True)
class Solver:
    """One solver: what it can take, where it comes from, how it is called."""

    name: str
    language: str | None  # None: takes a model's data, without a declaration
    native: str  # what the language calls it; without one, its module here
    takes: frozenset[str]  # classes LP, MILP, NLP, MINLP, or names of models
    finds: str  # what its answer is worth
    install: str  # what to tell a user who lacks it
    needs: tuple[str, ...] = ()  # Python packages
    program: str | None = None  # a program on the PATH
    library: str | None = None  # a shared library
    time_limit: str = "time_limit"  # its own name for a limit in seconds
    fixed: Mapping[str, Any] = field(default_factory=dict)
    plain: bool = False  # takes no options and no time limit
    aborts: bool = False  # can end the whole process: give it one of its own

    @property
    def lacks(self) -> str | None:
        """What is missing to run it, None if nothing.  Looks, without importing."""
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
        """Whether all it needs is there."""
        return self.lacks is None

    @property
    def is_global(self) -> bool:
        """Whether it proves its answer best, or that there is none."""
        return self.finds == OPTIMUM

    def fits(self, *problems: str) -> bool:
        """Whether it takes any of these classes or models."""
        return not self.takes.isdisjoint(problems)
