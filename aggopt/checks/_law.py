"""A law, the trial of one thing by it, and how that ended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from aggopt.core.compile_time import compile_time
from aggopt.core.html import HtmlFields


class LawBrokenError(AssertionError):
    """A law does not hold, and what was seen."""


class NotTriedError(Exception):
    """A law says nothing of this thing, and why."""


class Ending(StrEnum):
    """How a trial ended."""

    KEPT = "kept"
    BROKEN = "broken"
    EXCUSED = "excused"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Law:
    """What all of a kind obey.

    Attributes
    ----------
    name
        By which an exception is declared.
    says
        The law in a sentence.
    judge
        Returns where the thing that it is given keeps the law; else raises
        LawBrokenError, or NotTriedError.
    """

    name: str
    says: str
    judge: Callable[[Any], None] = field(repr=False)

    @classmethod
    def of(cls, judge: Callable[[Any], None]) -> "Law":
        """Return the law that a function states: by its name and its first line."""
        words = (judge.__doc__ or "").strip().partition("\n")[0]
        return cls(judge.__name__, words, judge)


def laws(*judges: Callable[[Any], None]) -> tuple[Law, ...]:
    """Return the laws that functions state, in this order."""
    return tuple(map(Law.of, judges))


@dataclass(frozen=True)
class Verdict(HtmlFields):
    """How the trial of one thing by one law ended.

    Attributes
    ----------
    law, thing
        The law, and what the thing is called.
    ending, why
        How it ended; what was seen, or the reason, where it was not kept.
    seconds
        How long it took.
    """

    law: Law
    thing: str
    ending: Ending
    why: str
    seconds: float

    def __str__(self) -> str:
        """Return a line for a terminal."""
        why = f": {self.why}" if self.why else ""
        return f"{self.thing}, {self.law.name}: {self.ending}{why}"


@dataclass(frozen=True)
class Trial:
    """One law for one thing: `trial()` returns a verdict, or raises LawBrokenError.

    Attributes
    ----------
    law, thing
        The law, and what the thing is called.
    excuse
        The declared reason why the thing need not keep it; None without.
    """

    law: Law
    thing: str
    excuse: str | None
    subject: Any = field(repr=False)

    def __call__(self) -> Verdict:
        """Return how it ended.

        Raises
        ------
        LawBrokenError
            The law is broken, and no exception is declared.
        """
        verdict, cause = self._ended()
        if verdict.ending is Ending.BROKEN:
            raise LawBrokenError(f"{verdict}\n{self.law.says}") from cause
        return verdict

    def __str__(self) -> str:
        """Return what tells it from the others, as a test's name does."""
        return f"{self.thing}-{self.law.name}"

    def verdict(self) -> Verdict:
        """Return how it ended, broken laws too."""
        return self._ended()[0]

    def _ended(self) -> tuple[Verdict, Exception | None]:
        started = compile_time.now()
        ending, why = Ending.KEPT, ""
        cause: Exception | None = None
        try:
            self.law.judge(self.subject)
        except NotTriedError as reason:
            ending, why = Ending.NOT_TRIED, str(reason)
        except LawBrokenError as broken:
            ending, why, cause = Ending.BROKEN, str(broken), None
        except Exception as crash:
            said = str(crash).partition("\n")[0]
            ending, why, cause = Ending.BROKEN, f"{type(crash).__name__}: {said}", crash
        if ending is Ending.BROKEN and self.excuse is not None:
            ending, why = Ending.EXCUSED, self.excuse
        took = compile_time.now() - started
        return Verdict(self.law, self.thing, ending, why, took), cause


def require(held: object, why: str) -> None:
    """Say that the law is broken, and what was seen, unless it held."""
    if not held:
        raise LawBrokenError(why)


def not_tried(why: str) -> NoReturn:
    """Say that the law says nothing of this thing."""
    raise NotTriedError(why)


def refused(
    call: Callable[[], Any], what: str, *errors: type[Exception], says: str = ""
) -> None:
    """Require that a call is refused by one of these errors, whose words `says` has."""
    try:
        call()
    except errors as refusal:
        require(says in str(refusal), f"{what}: the refusal does not say {says!r}")
        return
    except Exception as other:
        wanted = " or ".join(error.__name__ for error in errors)
        require(False, f"{what}: {type(other).__name__} and no {wanted}")
    require(False, f"{what} is taken")
