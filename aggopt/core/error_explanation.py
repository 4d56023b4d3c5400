"""The problem and the fix of any error, without a record: defects included."""

from pathlib import Path
from traceback import extract_tb

from aggopt.core import dependencies
from aggopt.core.memory import is_lack_of_memory
from aggopt.errors import AggoptError

# What a library that cannot be loaded says of itself is withheld, and often nothing.
LACKING = "The system refuses a resource that aggopt needs, such as memory"
ENGINE = (
    'mask the table in blocks, from files of Parquet: name = "local" under [engine], '
    "which takes little memory whatever the table has; or use a machine with more."
)


def explain_error(error: Exception) -> tuple[str, str]:
    """Return the problem of an error and its fix."""
    if isinstance(error, AggoptError):
        return error.problem, error.fix
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"{error.strerror or LACKING}{where}.",
            "check that the place is there and may be read and written to, and that "
            "its name is not too long.",
        )
    if is_lack_of_memory(error):
        return "There is not enough memory for this.", ENGINE
    return _explain_defect(error)


def _explain_defect(error: Exception) -> tuple[str, str]:
    """Return the problem and the fix of a defect; unfit versions may be the cause."""
    if isinstance(error, ImportError):  # it holds no record
        return dependencies.explain_misfits(error) or (f"{error}.", "report this line.")
    misfits = dependencies.find_misfits()
    if not misfits:
        return describe_defect(error), "report this line."
    problem = f"{describe_defect(error)} {dependencies.describe_misfits(misfits)}"
    return problem, dependencies.install_command(misfits)


def describe_defect(error: Exception) -> str:
    """Return the place of a defect, and not its message, which may quote a record."""
    frame = extract_tb(error.__traceback__)[-1]
    return (
        f"Internal error: {type(error).__name__} at {Path(frame.filename).name}:"
        f"{frame.lineno}. Its message is withheld, because it may quote a record."
    )
