"""The text of a job file, read as sections."""

from pathlib import Path
from typing import Any

from aggopt.core.text_formats import read_toml


def read_sections(file: Path) -> dict[str, Any]:
    """Return the unchecked sections of a TOML file.

    Raises
    ------
    JobError
        The file cannot be read, or is not TOML.
    """
    return read_toml(
        file,
        absent="check the path, or let `aggopt init` write a job to edit.",
        wrong="correct it there; `aggopt init` writes a job to compare with.",
    )
