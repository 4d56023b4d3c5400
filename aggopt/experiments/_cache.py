"""Cache of finished cells on disk: figures only, each cell complete or absent.

A file is named after all inputs of its figures, so that no content needs comparing:
another table, job, seed, limit or version is another file.  It has a checksum of its
rows: damaged or edited files are ignored.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from inspect import getsource, getsourcefile
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from aggopt.core.section import to_plain
from aggopt.errors import JobError
from aggopt.experiments._cell import Figures, list_cell_columns
from aggopt.experiments.grid import Cell
from aggopt.job import Job
from aggopt.job.user_code import list_user_methods
from aggopt.release.files.staging import Staging, make_folder
from aggopt.release.manifest import list_versions


def describe_code(job: Job) -> list[str]:
    """Return the identity of a job's code: of files their bytes.

    Of an object it is the file that defines it, or in a notebook its own source, and
    its defaults; other names of its module that it uses at run time do not count.

    Raises
    ------
    JobError
        An object has no source, holds values that its source does not show, or differs
        from the current content of its file.
    """
    return [
        method.origin.sha256 or method.origin.package or _describe_source(method)
        for method in list_user_methods(job)
    ]


def _describe_source(method: Any) -> str:
    """Return the text that identifies a user function: name, defaults and source."""
    name = method.origin.name
    function = _get_object(method)
    if getattr(function, "__code__", None) is None or function.__closure__:
        raise _explain_unknown(name)
    try:
        file = getsourcefile(function)
        is_file = file is not None and Path(file).is_file()
        text = Path(str(file)).read_bytes() if is_file else getsource(function).encode()
        header = f"{function.__qualname__}\n{_describe_defaults(function)}\n"
    except (OSError, TypeError, ValueError):
        raise _explain_unknown(name) from None
    if is_file and not _list_reached_code(function) <= _list_file_code(text):
        raise JobError(
            f"{name} is not what its file says: the file has changed since it was "
            "loaded.",
            fix="load it again, in a new process; or leave cache out.",
        )
    return sha256(header.encode() + text).hexdigest()


def _describe_defaults(function: FunctionType) -> str:
    """Return the defaults as text; ValueError if a job file could not hold one."""
    keyword_defaults = function.__kwdefaults__ or {}
    defaults = [
        *(function.__defaults__ or ()),
        *keyword_defaults,
        *keyword_defaults.values(),
    ]
    return json.dumps(
        [None if default is None else to_plain(default) for default in defaults]
    )


def _list_reached_code(function: FunctionType) -> set[CodeType]:
    """Return the code of a function, and of the functions of its file that it names."""
    reached = set[CodeType]()
    left = [function]
    while left:
        code = left.pop().__code__
        reached.add(code)
        names = {name for nested in _iter_nested_code(code) for name in nested.co_names}
        candidates = (function.__globals__.get(name) for name in names)
        left += [
            nested
            for nested in candidates
            if isinstance(nested, FunctionType)
            and nested.__code__.co_filename == code.co_filename
            and nested.__code__ not in reached
        ]
    return reached


def _list_file_code(text: bytes) -> set[CodeType]:
    """Return all code that a file has; none if it cannot be compiled."""
    try:
        return set(_iter_nested_code(compile(text, "", "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return set()


def _iter_nested_code(code: CodeType) -> Iterator[CodeType]:
    """Yield code and all that is defined in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _iter_nested_code(inner)


def _get_object(method: Any) -> Any:
    """Return the object of Python's that a method was made of."""
    program: Any = getattr(method, "model", None)
    if hasattr(program, "thing"):
        return program.thing
    called = getattr(method, "run", None) or getattr(method, "function", None)
    return getattr(called, "function", called)


def _explain_unknown(name: str) -> JobError:
    """Return the error of a function that a cache cannot identify."""
    return JobError(
        f"A cache cannot tell {name} from another: it has no source, or holds values "
        "of its own.",
        fix="write it as a plain function of a file, what it needs as its settings; or "
        "leave cache out.",
    )


class Cache:
    """A folder of cells that are done, or none.

    Raises
    ------
    JobError
        The path is a file.
    TableError
        The folder cannot be made.
    """

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise JobError(f"cache = {self.folder} is no folder.", fix="name another.")
        make_folder(self.folder)

    def rows(self, key: str, cell: Cell) -> list[Figures] | None:
        """Return the rows of a cell, None if missing, incomplete, or of another cell.

        They have their own columns, and not the columns that identify the cell.
        """
        try:
            stored = json.loads(self._get_path(key).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(stored, dict) or stored.get("cell") != key:
            return None
        rows = stored.get("rows")
        is_complete = stored.get("checksum") == _compute_checksum(key, rows)
        return rows if is_complete and _are_rows(rows, cell) else None

    def keep(self, key: str, rows: list[Figures]) -> None:
        """Write a cell: aside, mode 0600, and under its name once it is whole.

        Raises
        ------
        TableError
            The disk refuses.
        """
        entry = {"cell": key, "checksum": _compute_checksum(key, rows), "rows": rows}
        text = json.dumps(entry).encode()
        file = self._get_path(key)
        with Staging() as staging:
            staging.write(file, lambda to: to.write_bytes(text))
            staging.commit(file, overwrite=True)

    def _get_path(self, key: str) -> Path:
        return Path(str(self.folder), f"{key}.json")


def _compute_checksum(key: str, rows: Any) -> str:
    """Return the SHA-256 of a cell's rows; equal for rows written and read back."""
    return sha256(json.dumps([key, rows]).encode()).hexdigest()


def _are_rows(rows: Any, cell: Cell) -> bool:
    return isinstance(rows, list) and rows != [] and all(_is_row(r, cell) for r in rows)


def _is_row(row: Any, cell: Cell) -> bool:
    if not isinstance(row, dict) or not list_cell_columns(cell.job) <= row.keys():
        return False
    foreign = row.keys() & {*cell.start, "error", "message"}
    plain = all(isinstance(v, str | int | float | None) for v in row.values())
    return plain and not foreign


def compute_key(fingerprint: str, job: Job, secret: str, seconds: float | None) -> str:
    """Return the SHA-256 of all that the figures of a cell depend on.

    Raises
    ------
    JobError
        It depends on code that has no source.
    """
    stated = {
        "versions": list_versions(["aggopt"]),
        "table": fingerprint,
        "job": job.model_dump(mode="json", by_alias=True),
        "code": describe_code(job),
        "secret": secret,
        "time_limit": seconds,
    }
    return sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()
