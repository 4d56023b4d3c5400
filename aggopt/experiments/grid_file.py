"""File of an experiment: tables, roles, grid, seeds and options of the run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aggopt.core.toml_file import read_toml
from aggopt.errors import JobError, require_known
from aggopt.experiments._grid import NAMED
from aggopt.job.user_code import with_paths

KEYS = ("tables", "roles", "grid", "seeds", "time_limit", "jobs", "cache")
NEEDED = KEYS[:3]


@dataclass(frozen=True)
class GridFile:
    """Content of an experiment file; its paths are relative to its folder.

    Attributes
    ----------
    tables
        Paths by the names of the tables.
    said
        The other arguments of `aggopt.experiment`.
    """

    tables: Mapping[str, Path]
    said: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "GridFile":
        """Return the content of a TOML file.

        Raises
        ------
        JobError
            It cannot be read, is not TOML, lacks a key or has an unknown one; or its
            tables or its cache are invalid.
        """
        stated, folder = _stated(path), path.parent
        for key in stated:
            require_known(f"key of {path.name}", key, KEYS)
        lacking = [key for key in NEEDED if key not in stated]
        if lacking:
            raise JobError(
                f"{path.name} has no {', '.join(lacking)}.",
                fix='write tables = ["people.csv"], the table [roles] as in a job, and '
                "the table [grid] with lists, such as k = [3, 5].",
            )
        said = {key: value for key, value in stated.items() if key != "tables"}
        if "cache" in said:
            said["cache"] = _path(folder, "cache", said["cache"])
        said["grid"] = _seen_from(folder, said["grid"])
        return cls(_tables(folder, stated["tables"]), said)


def _stated(path: Path) -> dict[str, Any]:
    return read_toml(
        path,
        absent="check the path.",
        wrong="correct that line; docs/experiments.md has a file to begin with.",
    )


def _tables(folder: Path, stated: Any) -> dict[str, Path]:
    """Return the paths of tables by name, by default the file's name."""
    if isinstance(stated, Mapping):
        return {name: _path(folder, "tables", each) for name, each in stated.items()}
    listed = stated if isinstance(stated, list) else [stated]
    paths = [_path(folder, "tables", each) for each in listed]
    found = {path.stem: path for path in paths}
    if not found or len(found) < len(paths):
        seen = "two files of one name" if found else "none"
        raise JobError(
            f"tables lists {seen}.",
            fix='name them: tables = { first = "a/people.csv", second = "b/people.csv" '
            "}.",
        )
    return found


def _path(folder: Path, key: str, stated: Any) -> Path:
    if not isinstance(stated, str):
        raise JobError(
            f"{key} names a {type(stated).__name__}.", fix="write paths, as text."
        )
    if key == "tables" and not (folder / stated).exists():
        raise JobError(
            f"There is no file {stated} beside the grid.", fix="check the path."
        )
    return folder / stated


def _seen_from(folder: Path, grid: Any) -> Any:
    """Return a grid with the whole path of each file of code that it names."""
    if not isinstance(grid, Mapping):
        return grid
    return {key: _entries(folder, key, value) for key, value in grid.items()}


def _entries(folder: Path, key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_entries(folder, key, each) for each in value]
    if isinstance(value, str) and key in NAMED:
        value = {"method": value}
    if not isinstance(value, dict):
        return value
    if key == "attributes":
        return {name: _typed(folder, how) for name, how in value.items()}
    return with_paths({key: value}, folder)[key]


def _typed(folder: Path, how: Any) -> Any:
    """Return the type of an attribute with the path of its tree, if that is a file."""
    if not isinstance(how, dict) or not isinstance(how.get("tree"), str):
        return how
    return {**how, "tree": str(folder / how["tree"])}
