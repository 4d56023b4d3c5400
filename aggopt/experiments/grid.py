"""The cells of a grid: every combination of what its keys list, each a job."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from aggopt.core.plugins.loading import find_origin, get_file_name
from aggopt.core.registry import Method
from aggopt.core.section import MethodSection, Section, to_plain_number
from aggopt.core.text_formats import read_toml
from aggopt.core.validation import is_whole_number, require_seed
from aggopt.errors import JobError, naming, require_known
from aggopt.job import Job
from aggopt.job.user_code import with_paths

SECTIONS = tuple(name for name in Job.model_fields if name != "roles")
KEYS = ("k", *SECTIONS)
NAMED = ("partition", "aggregation")  # by a method, whose name will do


@dataclass(frozen=True, eq=False)
class Cell:
    """One job of a grid.

    Attributes
    ----------
    table
        The name of its table.
    job, seed
        The job to run; the seed is in the job, if any section takes one.
    settings
        Settings from the grid, by column: of keys that list several settings; None
        if only other cells have the setting.
    """

    table: str
    job: Job = field(repr=False)
    seed: int | None
    settings: Mapping[str, Any]

    @property
    def called(self) -> str:
        """What messages call it."""
        seed = {} if self.seed is None else {"seed": self.seed}
        settings = {"table": self.table, **self.settings, **seed}
        present = (
            (name, value) for name, value in settings.items() if value is not None
        )
        return ", ".join(f"{name} = {value!r}" for name, value in present)

    @property
    def start(self) -> dict[str, Any]:
        """The first columns of each row: table, k, methods, settings and seed."""
        job = self.job
        methods = {name: getattr(job, name).method for name in NAMED}
        first = {"table": self.table, "k": job.privacy.k, **methods}
        return {**first, **self.settings, **first, "seed": self.seed}


def list_cells(
    roles: Mapping[str, Any], grid: Mapping[str, Any], seeds: Iterable[int] | None
) -> list[Cell]:
    """Return the cells of a grid, tables first and seeds last.

    `roles` are the roles of each table, by its name.

    Raises
    ------
    JobError
        A key is unknown, or lists nothing; a combination is not a valid job, or is
        repeated; a seed is not from 0 up, is repeated, or conflicts with one of a
        section.
    TableError
        A file that a section names cannot be read.
    """
    if not isinstance(grid, Mapping):
        raise JobError(
            f"The grid is a {type(grid).__name__}.",
            fix='pass a dict such as {"k": [3, 5], "partition": ["mdav", "cbfs"]}.',
        )
    for key in grid:
        require_known("key of the grid", key, KEYS)
    axes = {key: _list_key_entries(key, value) for key, value in grid.items()}
    numbers = _read_seeds(seeds)
    columns = _list_columns(axes)
    return [
        Cell(table, _set_seed(job, seed), seed, {**columns, **settings})
        for table, roles_of_table in roles.items()
        for job, settings in _iter_jobs(roles_of_table, axes)
        for seed in numbers
    ]


def _list_columns(axes: Mapping[str, list[Any]]) -> dict[str, None]:
    """Return the columns for the entries of keys that list several settings."""
    several = {key: entries for key, entries in axes.items() if len(entries) > 1}
    return {
        column: None
        for key, entries in several.items()
        for entry in entries
        for column in make_setting_columns({key: entry})
    }


def _iter_jobs(
    roles: Any, axes: Mapping[str, list[Any]]
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield each job of a table with its settings from the grid, without repetition."""
    first: dict[Job, str] = {}
    several = [key for key, entries in axes.items() if len(entries) > 1]
    for chosen in product(*axes.values()):
        entries = dict(zip(axes, chosen, strict=True))
        columns = make_setting_columns({key: entries[key] for key in several})
        called = ", ".join(f"{name} = {value!r}" for name, value in columns.items())
        with naming(f"Cell {called}" if called else "The grid"):
            job = Job(roles=roles, **_build_sections(entries)).load_contents()
        if job in first:
            raise JobError(
                f"Two cells are the same job: {first[job]}; and {called}.",
                fix="remove one of them from the grid; to repeat a cell, name seeds.",
            )
        first[job] = called
        yield job, columns


def _list_key_entries(key: str, value: Any) -> list[Any]:
    """Return the entries of a key; a value that is not a list is the only entry."""
    return [
        _read_entry(key, entry)
        for entry in list_grid_entries(f"{key} of the grid", value)
    ]


def list_grid_entries(called: str, value: Any) -> list[Any]:
    """Return the entries of a list; a value that is not a list is the only entry.

    Raises
    ------
    JobError
        The list is empty; the message uses this name.
    """
    one = isinstance(value, str | Mapping | Section) or not isinstance(value, Iterable)
    entries = [value] if one else list(value)
    if not entries:
        raise JobError(
            f"{called} lists nothing.",
            fix="list some settings of it, or leave it out.",
        )
    return entries


def _read_entry(key: str, entry: Any) -> Any:
    """Return an entry of the grid as a section; a name becomes its method."""
    if key == "k" or isinstance(entry, Section):
        return entry
    if isinstance(entry, Mapping):
        return dict(entry)
    if key in NAMED:
        return {"method": entry}
    raise JobError(
        f"{key} of the grid lists a {type(entry).__name__}.",
        fix=f"list sections: dicts of what [{key}] of a job file says.",
    )


def _build_sections(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of a job: k is a key of [privacy]."""
    sections = dict(entries)
    if "k" not in sections:
        return sections
    k = sections.pop("k")
    privacy = sections.get("privacy", {})
    if isinstance(privacy, Section) or "k" in privacy:
        raise JobError(
            "The grid names k, and so does its privacy.",
            fix="leave one of the two out.",
        )
    return {**sections, "privacy": {**privacy, "k": k}}


def make_setting_columns(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns for settings by section, each under its name in a job file."""
    columns: dict[str, Any] = {}
    for key, entry in entries.items():
        columns |= _make_columns(
            key, dict(entry) if isinstance(entry, Section) else entry
        )
    return {name.removesuffix(".method"): value for name, value in columns.items()}


def _make_columns(name: str, value: Any) -> dict[str, Any]:
    """Return a column for each setting, nested settings under both names."""
    if not isinstance(value, Mapping):
        of_tree = name.endswith(".tree") and isinstance(value, str)
        return {name: Path(value).name if of_tree else _format_value(value)}
    columns: dict[str, Any] = {}
    for key, inner in value.items():
        columns |= _make_columns(f"{name}.{key}", inner)
    return columns


def _format_value(value: Any) -> Any:
    """Return a value as a table shows it: code of the user's by its name.

    That of a file is without its folder, as certificates have it.
    """
    if isinstance(value, list | tuple):
        return [_format_value(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: _format_value(inner) for key, inner in value.items()}
    if isinstance(value, str):
        return get_file_name(value)
    is_code = callable(value) or isinstance(value, Method)
    return to_plain_number(
        find_origin("partitioners", value).name if is_code else value
    )


def _read_seeds(seeds: Iterable[int] | None) -> list[int | None]:
    if seeds is None:
        return [None]
    if (
        is_whole_number(seeds)
        or isinstance(seeds, str)
        or not isinstance(seeds, Iterable)
    ):
        raise JobError(f"seeds = {seeds!r}.", fix="list them: seeds=range(5).")
    listed = list(seeds)
    for seed in listed:
        require_seed(seed)
    if not listed or len(set(listed)) < len(listed):
        received = "none" if not listed else "one twice"
        raise JobError(
            f"seeds name {received}.", fix="list some, each once; or omit it."
        )
    return [int(seed) for seed in listed]


def _set_seed(job: Job, seed: int | None) -> Job:
    """Return a job whose searches and random starts have a seed.

    Raises
    ------
    JobError
        A section has one of its own.
    """
    if seed is None:
        return job
    sections: dict[str, MethodSection] = {}
    for name in NAMED:
        section: MethodSection = getattr(job, name)
        if "seed" in section.model_fields_set:
            raise JobError(
                f"[{name}] of the grid names a seed, and seeds are given.",
                fix="leave one of the two out.",
            )
        if "seed" in type(section).model_fields and getattr(section, "starts", True):
            sections[name] = section.model_copy(update={"seed": seed})
    return job.model_copy(update=sections)


FILE_KEYS = ("tables", "roles", "grid", "seeds", "time_limit", "jobs", "cache")
NEEDED_KEYS = FILE_KEYS[:3]


@dataclass(frozen=True)
class GridFile:
    """Content of an experiment file; its paths are relative to its folder.

    Attributes
    ----------
    tables
        Paths by the names of the tables.
    arguments
        The other arguments of `aggopt.experiment`.
    """

    tables: Mapping[str, Path]
    arguments: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "GridFile":
        """Return the content of a TOML file.

        Raises
        ------
        JobError
            It cannot be read, is not TOML, lacks a key or has an unknown one; or its
            tables or its cache are invalid.
        """
        stated = _read_file(path)
        folder = path.parent
        for key in stated:
            require_known(f"key of {path.name}", key, FILE_KEYS)
        lacking = [key for key in NEEDED_KEYS if key not in stated]
        if lacking:
            raise JobError(
                f"{path.name} has no {', '.join(lacking)}.",
                fix='write tables = ["people.csv"], the table [roles] as in a job, and '
                "the table [grid] with lists, such as k = [3, 5].",
            )
        keys = {key: value for key, value in stated.items() if key != "tables"}
        if "cache" in keys:
            keys["cache"] = _resolve_path(folder, "cache", keys["cache"])
        keys["grid"] = _resolve_grid(folder, keys["grid"])
        return cls(_read_table_paths(folder, stated["tables"]), keys)


def _read_file(path: Path) -> dict[str, Any]:
    """Return the tables of the file of a grid."""
    return read_toml(
        path,
        absent="check the path.",
        wrong="correct that line; docs/experiments.md has a file to begin with.",
    )


def _read_table_paths(folder: Path, stated: Any) -> dict[str, Path]:
    """Return the paths of tables by name, by default the file's name."""
    if isinstance(stated, Mapping):
        return {
            name: _resolve_path(folder, "tables", path) for name, path in stated.items()
        }
    listed = stated if isinstance(stated, list) else [stated]
    paths = [_resolve_path(folder, "tables", path) for path in listed]
    by_name = {path.stem: path for path in paths}
    if not by_name or len(by_name) < len(paths):
        received = "two files of one name" if by_name else "none"
        raise JobError(
            f"tables lists {received}.",
            fix='name them: tables = { first = "a/people.csv", second = "b/people.csv" '
            "}.",
        )
    return by_name


def _resolve_path(folder: Path, key: str, stated: Any) -> Path:
    if not isinstance(stated, str):
        raise JobError(
            f"{key} names a {type(stated).__name__}.", fix="write paths, as text."
        )
    if key == "tables" and not (folder / stated).exists():
        raise JobError(
            f"There is no file {stated} beside the grid.", fix="check the path."
        )
    return folder / stated


def _resolve_grid(folder: Path, grid: Any) -> Any:
    """Return a grid with the whole path of each file of code that it names."""
    if not isinstance(grid, Mapping):
        return grid
    return {key: _resolve_paths(folder, key, value) for key, value in grid.items()}


def _resolve_paths(folder: Path, key: str, value: Any) -> Any:
    """Return a value of the grid, its paths seen from `folder`."""
    if isinstance(value, list):
        return [_resolve_paths(folder, key, entry) for entry in value]
    if isinstance(value, str) and key in NAMED:
        value = {"method": value}
    if not isinstance(value, dict):
        return value
    if key == "attributes":
        return {
            name: _resolve_type(folder, type_of_attribute)
            for name, type_of_attribute in value.items()
        }
    return with_paths({key: value}, folder)[key]


def _resolve_type(folder: Path, declared: Any) -> Any:
    """Return the type of an attribute with the path of its tree, if that is a file."""
    if not isinstance(declared, dict) or not isinstance(declared.get("tree"), str):
        return declared
    return {**declared, "tree": str(folder / declared["tree"])}
