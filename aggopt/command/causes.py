"""The exit codes of the command, each with its cause, and the words of help on them.

An error of this package has its code as an attribute of its class (`exit_code`).
"""

import signal
from textwrap import fill
from typing import NamedTuple

from aggopt.core.memory import is_lack_of_memory
from aggopt.errors import AggoptError, JobError, ResourceError, SolverError

DONE = 0
NO = 1
INTERNAL = 5
BY_SIGNAL = 128  # plus its number: the code of what a signal ends
WIDTH = 76  # characters of a line of help: a narrow terminal has them


class Cause(NamedTuple):
    """Why a command ends with a code: in a word or two, and in a sentence."""

    name: str
    meaning: str


CAUSES = {
    DONE: Cause(
        "done", "the work is done, and each requirement that was counted holds"
    ),
    NO: Cause(
        "no",
        "the answer is no: a requirement does not hold, a law is broken, or a cell or "
        "a point failed",
    ),
    JobError.exit_code: Cause(
        "input or job", "the input, the job or the command line cannot be used"
    ),
    ResourceError.exit_code: Cause(
        "resources",
        "memory, disk space, a permission, a place to write or a worker is missing",
    ),
    SolverError.exit_code: Cause(
        "solver", "a solver is missing, failed, or found no result that the job can use"
    ),
    INTERNAL: Cause(
        "internal error", "aggopt, or a package that it needs, has a fault: report it"
    ),
    BY_SIGNAL + signal.SIGINT: Cause("Ctrl-C", "you interrupted the command"),
    BY_SIGNAL + signal.SIGTERM: Cause(
        "SIGTERM", "the system or a queue ended the command"
    ),
    BY_SIGNAL + 9: Cause(
        "killed", "aggopt killed the command: code that it ran did not end"
    ),
}


def name_cause(code: int) -> str:
    """Return the cause of an exit code in a word or two.

    >>> name_cause(3), name_cause(129)
    ('resources', 'SIGHUP')
    """
    if code in CAUSES:
        return CAUSES[code].name
    return signal.Signals(code - BY_SIGNAL).name


def find_exit_code(error: Exception) -> int:
    """Return the exit code of an error."""
    if isinstance(error, AggoptError):
        return error.exit_code
    if isinstance(error, OSError) or is_lack_of_memory(error):
        return ResourceError.exit_code
    return INTERNAL


def format_code_help() -> str:
    """Return the help on exit codes; after its mark, lines stay lines."""
    lines = (
        fill(f"{code:3} {cause.meaning}", WIDTH, subsequent_indent="    ")
        for code, cause in CAUSES.items()
    )
    return "\b\nExit codes:\n" + "\n".join(lines)
