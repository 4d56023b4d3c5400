"""Report errors of user code by type and line only, without their message.

The message can quote records.  The error is not chained either: neither a traceback
nor a log of the error that replaces it leads to it.
"""

from collections.abc import Callable
from pathlib import Path
from traceback import walk_tb
from typing import Any, TypeVar

from aggopt.core.memory import is_lack_of_memory
from aggopt.errors import JobError, OwnMemoryError

Found = TypeVar("Found")
CORRECT = "correct that code, on a table that may be seen."
NO_MEMORY = "end other programs, mask fewer records, or let that code take less memory."


def run_user_code(
    name: str,
    file: str | None,
    function: Callable[..., Found],
    /,
    *args: Any,
    **how: Any,
) -> Found:
    """Return the result of a user function.

    Parameters
    ----------
    name
        Name of the function in messages.
    file
        The path of its file, if it has one.

    Raises
    ------
    JobError
        The function raised anything but KeyboardInterrupt; `sys.exit` counts as an
        error.  For a MemoryError it is an OwnMemoryError.
    """
    try:
        return function(*args, **how)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failed = _refusal(name, file, error)
    raise failed  # not within the handler, which would chain it


def _refusal(name: str, file: str | None, error: BaseException) -> JobError:
    line = None if file is None else _last_line(file, error)
    where = f" in line {line} of {Path(file).name}" if file and line else ""
    kind = type(error).__name__
    seen = (
        f"{name} fails with {'an' if kind[0] in 'AEIOU' else 'a'} {kind}{where}; what "
        "it says is not repeated, because it may hold values of records."
    )
    if is_lack_of_memory(error):
        return OwnMemoryError(seen, fix=NO_MEMORY)
    return JobError(seen, fix=CORRECT)


def _last_line(file: str, error: BaseException) -> int | None:
    """Return the last line of the file that the error went through."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    through = [
        line
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename == file
    ]
    return through[-1] if through else None
