"""The text of a TOML file, read as tables."""

import tomllib
from pathlib import Path
from typing import Any

from aggopt.core.regular import require_regular
from aggopt.errors import JobError


def tables_in(file: Path, *, absent: str, wrong: str) -> dict[str, Any]:
    """Return the tables of a TOML file, as they are written.

    What to do about a file that cannot be read is `absent`, and `wrong` what to do
    about one that is not TOML.

    Raises
    ------
    JobError
        The file cannot be read, or is not TOML.
    """
    if file.exists():
        require_regular(file, JobError)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        why = f"{file} cannot be read: {error.strerror}."
        raise JobError(why, fix=absent) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError(f"{file} is not a TOML file: {error}.", fix=wrong) from None
