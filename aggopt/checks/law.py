"""A law, the trial of one thing by it, and how that ended."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from aggopt.core.deadline import compile_time
from aggopt.core.html import HtmlFields


class LawBrokenError(AssertionError):
    """A law is broken, with the observed values."""


class NotTriedError(Exception):
    """A law does not apply to this thing, with the reason."""


class Ending(StrEnum):
    """Result of a trial."""

    KEPT = "kept"
    BROKEN = "broken"
    EXCUSED = "excused"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Law:
    """Law that all things of a kind obey.

    Attributes
    ----------
    name
        Name for declaring an exception.
    says
        The law in a sentence.
    judge
        Returns if the given thing keeps the law; else raises LawBrokenError, or
        NotTriedError.
    """

    name: str
    says: str
    judge: Callable[[Any], None] = field(repr=False)

    @classmethod
    def of(cls, judge: Callable[[Any], None]) -> "Law":
        """Return the law that a function states: by its name and its first line."""
        words = (judge.__doc__ or "").strip().partition("\n")[0]
        return cls(judge.__name__, words, judge)


def list_laws(*judges: Callable[[Any], None]) -> tuple[Law, ...]:
    """Return the laws that functions state, in this order."""
    return tuple(map(Law.of, judges))


@dataclass(frozen=True)
class Verdict(HtmlFields):
    """Result of the trial of one thing by one law.

    Attributes
    ----------
    law, thing
        The law, and the name of the thing.
    ending, why
        The result; the observed values, or the reason, if the law was not kept.
    seconds
        Duration.
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
        The law, and the name of the thing.
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
        verdict, cause = self._judge()
        if verdict.ending is Ending.BROKEN:
            raise LawBrokenError(f"{verdict}\n{self.law.says}") from cause
        return verdict

    def __str__(self) -> str:
        """Return a unique name, as of a test."""
        return f"{self.thing}-{self.law.name}"

    def verdict(self) -> Verdict:
        """Return how it ended, broken laws too."""
        return self._judge()[0]

    def _judge(self) -> tuple[Verdict, Exception | None]:
        """Return the verdict of the law, and the exception that broke it, if any."""
        started = compile_time.now()
        ending = Ending.KEPT
        why = ""
        cause: Exception | None = None
        try:
            self.law.judge(self.subject)
        except NotTriedError as reason:
            ending = Ending.NOT_TRIED
            why = str(reason)
        except LawBrokenError as broken:
            ending = Ending.BROKEN
            why = str(broken)
            cause = None
        except Exception as crash:
            message = str(crash).partition("\n")[0]
            ending = Ending.BROKEN
            why = f"{type(crash).__name__}: {message}"
            cause = crash
        if ending is Ending.BROKEN and self.excuse is not None:
            ending = Ending.EXCUSED
            why = self.excuse
        took = compile_time.now() - started
        return Verdict(self.law, self.thing, ending, why, took), cause


def require(condition: object, why: str) -> None:
    """Raise LawBrokenError with the observed values, unless the law held."""
    if not condition:
        raise LawBrokenError(why)


def not_tried(why: str) -> NoReturn:
    """Raise NotTriedError: the law does not apply to this thing."""
    raise NotTriedError(why)


def require_refusal(
    call: Callable[[], Any], what: str, *errors: type[Exception], says: str = ""
) -> None:
    """Require that a call raises one of these errors, with the words of `says`."""
    try:
        call()
    except errors as refusal:
        require(says in str(refusal), f"{what}: the refusal does not say {says!r}")
        return
    except Exception as other:
        wanted = " or ".join(error.__name__ for error in errors)
        require(False, f"{what}: {type(other).__name__} and no {wanted}")
    require(False, f"{what} is taken")


class InterruptedTrialError(KeyboardInterrupt):
    """What an interrupt raises here: nothing else does."""


@contextmanager
def send_interrupt(after: float) -> Iterator[list[int]]:
    """Send an interrupt after some seconds, which raises `InterruptedTrialError`.

    After the block it raises nothing.
    """
    came: list[int] = []
    is_over = False

    def raise_in_block(number: int, frame: object) -> None:
        if not is_over:
            came.append(number)
            raise InterruptedTrialError

    before = signal.signal(signal.SIGINT, raise_in_block)
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield came
    finally:
        is_over = True
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
