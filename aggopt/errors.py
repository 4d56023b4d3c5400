"""Every error this package raises on purpose.

An error says three things, in this order: what was wrong, what was seen, and
what to do.  The third part is required: `fix` has no default.  No error ever
quotes a value of a record: it names attributes, counts and positions only.

The class of an error says with which code the command ends: `exit_code`.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import ClassVar


class AggoptError(ValueError):
    """Base of all errors raised on purpose.

    Attributes
    ----------
    exit_code
        With which code the command ends: 2 is the input or the job.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, problem: str, *, fix: str) -> None:
        super().__init__(f"{problem}\nTo fix: {fix}")
        self.problem = problem
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        """Survive a trip to another process, which keyword arguments do not."""
        return _rebuild, (type(self), self.problem, self.fix)


class TableError(AggoptError):
    """A table, a file or an array cannot be used as it is."""


class JobError(AggoptError):
    """A job, or an argument that stands for a part of one, cannot be used."""


class UntrustedCodeError(JobError):
    """A job names a file of code that its caller does not trust: it was not run."""


class InfeasibleInputError(AggoptError):
    """The data and the parameters admit no solution."""


class SolverError(AggoptError):
    """A solver is missing, cannot take the model, or found no answer."""

    exit_code = 4


class ResourceError(AggoptError):
    """The machine lacks a resource that the work needs: memory, room or permission."""

    exit_code = 3


class PlaceError(ResourceError, TableError):
    """A file or a folder cannot be written, or may not be read."""


class MemoryLimitError(ResourceError, InfeasibleInputError):
    """A computation needs more memory than is left."""


class OwnMemoryError(ResourceError, JobError):
    """Code of the user's needs more memory than is left."""


class ProcessError(ResourceError, SolverError):
    """No process can be started for a solver."""


class TimeLimitError(ResourceError):
    """A cell of an experiment was not done within its time limit."""


class EngineError(ResourceError):
    """An engine could not carry out a task, or cannot be reached."""


class LeftRunError(EngineError):
    """An ended run has left work, and neither --resume nor --discard is set."""

    exit_code = 2


class DefectError(EngineError):
    """A task of an engine failed in a way that nobody foresaw."""

    exit_code = 5


class RepeatError(AggoptError):
    """A release cannot be made again, byte for byte, so nothing is written."""


class PrivacyError(AggoptError):
    """The privacy promise does not hold, so nothing is released."""

    exit_code = 1


class UnknownNameError(JobError):
    """A name matches nothing that is known."""

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        absent: Iterable[str] = (),
        near: Iterable[str] = (),
    ) -> None:
        """Store the message; names of `absent` objects, not installed, are last.

        `near` are further names of theirs that may be meant.
        """
        last = sorted(set(absent))
        first = sorted(set(known).difference(last))
        small = {known.lower(): known for known in (*first, *last, *near)}
        nearest = get_close_matches(name.lower(), small, n=1)
        hint = f"did you mean {small[nearest[0]]!r}? " if nearest else ""
        more = f"; not installed: {', '.join(last)}" if last else ""
        super().__init__(
            f"No {kind} is called {name!r}.",
            fix=f"{hint}The known names are {', '.join(first)}{more}.",
        )


def require_known(kind: str, name: object, known: Collection[str]) -> None:
    """Refuse a name that is not among those known, or is no text at all.

    >>> require_known("colour", "bleu", ["blue", "red"])
    Traceback (most recent call last):
    aggopt.errors.UnknownNameError: No colour is called 'bleu'.
    To fix: did you mean 'blue'? The known names are blue, red.
    """
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError(kind, str(name), known)


@contextmanager
def naming(where: str, column: str = "NAME") -> Iterator[None]:
    """Add the name of the place to errors of the block that have none.

    A section of the job that the remedy calls `NAME` gets the name of the column.

    >>> with naming("people.csv"):
    ...     raise TableError("The table has no records.", fix="add some.")
    Traceback (most recent call last):
    aggopt.errors.TableError: people.csv: The table has no records.
    To fix: add some.
    """
    try:
        yield
    except AggoptError as error:
        problem = f"{where}: {error.problem}"
        raise _rebuild(type(error), problem, name_sections(error.fix, column)) from None


def name_sections(fix: str, column: str) -> str:
    """Return a remedy whose sections of a job called NAME have the name of a column.

    >>> print(name_sections("say so under [attributes.NAME].", "first name"))
    say so under [attributes."first name"].
    """
    return fix.replace(".NAME]", f".{toml_key(column)}]")


def toml_key(name: str) -> str:
    """Return a name as a key of a TOML file.

    >>> print(toml_key("age"), toml_key("first name"))
    age "first name"
    """
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def attribute_sections(names: Iterable[str]) -> str:
    """Return the sections of a job that are about these attributes.

    >>> print(attribute_sections(["age", "first name"]))
    [attributes.age], [attributes."first name"]
    """
    return ", ".join(f"[attributes.{toml_key(name)}]" for name in names)


def _rebuild(kind: type[AggoptError], problem: str, fix: str) -> AggoptError:
    """Return the error that a pickle describes."""
    error = kind.__new__(kind)
    AggoptError.__init__(error, problem, fix=fix)
    return error
