"""A measure of the user's: one number of the original and the released table."""

from copy import deepcopy
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, ClassVar

from aggopt.core.plugins.function import UserFunction
from aggopt.errors import JobError


@dataclass(frozen=True)
class OwnMeasure(UserFunction):
    """A function f(original, released) of the user's."""

    data: ClassVar[tuple[str, ...]] = ("original", "released")

    def __call__(self, original: Any, released: Any) -> float:
        """Return the function's result; it receives deep copies of both tables.

        Raises
        ------
        JobError
            The function fails, or does not return a finite number.
        """
        found = self.run(deepcopy(original), deepcopy(released))
        number = self.origin.run(_number, found)  # which may be code of the user's
        if number is None:
            raise self._no_number(f"something of type {type(found).__name__}")
        if not isfinite(number):
            raise self._no_number("a number that is not finite")
        return number

    def _no_number(self, what: str) -> JobError:
        return JobError(
            f"The measure {self.origin.name} returns {what}.",
            fix="return one finite number.",
        )


def _number(found: Any) -> float | None:
    """Return a number as a float; None for anything else."""
    if isinstance(found, bool) or not isinstance(found, Real):
        return None
    return float(found)
