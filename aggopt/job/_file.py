"""The text of a job file, read as sections."""

import tomllib
from pathlib import Path
from typing import Any

from aggopt.core.regular import require_regular
from aggopt.errors import JobError


def sections_in(file: Path) -> dict[str, Any]:
    """Return the sections of a TOML file, as they are written.

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
        raise JobError(
            f"{file} cannot be read: {error.strerror}.",
            fix="check the path, or let `aggopt init` write a job to edit.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError(
            f"{file} is not a TOML file: {error}.",
            fix="correct it there; `aggopt init` writes a job to compare with.",
        ) from None
