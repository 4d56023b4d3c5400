"""The text of a TOML file, read as tables."""

import json
import tomllib
from math import isfinite
from pathlib import Path
from typing import Any

from aggopt.core.regular_files import explain_unreadable, require_regular
from aggopt.errors import JobError


def format_json(value: object) -> str:
    """Return JSON text; NaN and infinity, which JSON does not have, become null.

    Examples
    --------
    >>> print(format_json([1.5, float("inf")]))
    [
      1.5,
      null
    ]
    """
    return json.dumps(_replace_infinite(value), indent=2, allow_nan=False)


def _replace_infinite(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _replace_infinite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value


DEEPEST = 100  # nested levels: a job has six, plus the levels of a tree


def read_toml(file: Path, *, absent: str, wrong: str) -> dict[str, Any]:
    """Return the tables of a TOML file, unchanged.

    `absent` is the fix in the message for a file that cannot be read, `wrong` the fix
    for a file that is not TOML.

    Raises
    ------
    JobError
        The file cannot be read, is not TOML, or is nested too deeply.
    """
    if file.exists():
        require_regular(file, JobError)
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        deep = _is_deep(tables)
    except RecursionError:
        deep = True
    except OSError as error:
        raise explain_unreadable(file, error, JobError, fix=absent) from None
    except ValueError as error:  # also a number of too many digits
        raise JobError(f"{file} is not a TOML file: {error}.", fix=wrong) from None
    if deep:
        raise JobError(
            f"{file} has brackets or tables within each other, more than {DEEPEST} "
            "levels deep.",
            fix=wrong,
        )
    return tables


def _is_deep(tables: dict[str, Any]) -> bool:
    """Return whether tables are nested more deeply than in any job."""
    level: list[Any] = [tables]
    for _ in range(DEEPEST):
        inner = (
            value.values() if isinstance(value, dict) else value for value in level
        )
        level = [e for values in inner for e in values if isinstance(e, dict | list)]
        if not level:
            return False
    return True
