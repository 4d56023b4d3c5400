"""User code, named in a job, run from the files that a caller trusts.

A name can name an entry point of an installed package (group `aggopt.models`,
`aggopt.partitioners`, ...), which is loaded only if it is named.  Or it names a file,
`my_code.py` or `my_code.py:object`, relative to the job file and never to the working
directory.  A file is run only if the caller trusts it.  Nothing enters sys.path.  The
registry of the kind first looks up the methods of this package: no other code replaces
them.

Trust gives no sandbox: a trusted file sees the originals and has all the rights of its
caller.  A file is read once, when it is trusted; the bytes that are hashed are the
bytes that are run.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import RLock
from traceback import walk_tb
from types import MappingProxyType, ModuleType
from typing import Any, Literal, TypeVar

from aggopt.core.memory import is_lack_of_memory
from aggopt.core.regular_files import explain_unreadable, require_regular, resolve_path
from aggopt.errors import (
    JobError,
    OwnMemoryError,
    UnknownNameError,
    UntrustedCodeError,
    require_known,
)


@dataclass(frozen=True)
class CodeFile:
    """A file with its content at the time of reading.

    Attributes
    ----------
    path
        Its path, without links among the folders.
    source
        Its bytes.
    """

    path: Path
    source: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        """The SHA-256 of its bytes, in hexadecimal."""
        return sha256(self.source).hexdigest()

    @classmethod
    def read(cls, file: str | Path) -> "CodeFile":
        """Return a file with its current content; JobError if it cannot be read."""
        require_regular(Path(file), JobError)
        path = resolve_path(Path(file))
        try:
            return cls(path, path.read_bytes())
        except OSError as error:
            raise explain_unreadable(path, error, JobError) from None


_TRUSTED: ContextVar[Mapping[Path, CodeFile]] = ContextVar(
    "trusted", default=MappingProxyType({})
)


@contextmanager
def trust_files(files: Iterable[str | Path]) -> Iterator[None]:
    """Let jobs name these files of code, within the block and in this thread only.

    Parameters
    ----------
    files
        Paths; relative paths start from the working directory, as any argument does.
        Only the current content is trusted: a file that changes within the block is
        refused.

    Raises
    ------
    JobError
        `files` is one path and no list of them, or a file cannot be read.
    """
    if isinstance(files, str | Path):
        raise JobError(
            "The files that are trusted are one path, and no list.",
            fix=f"write trust=[{str(files)!r}].",
        )
    by_path = {code.path: code for code in map(CodeFile.read, files)}
    token = _TRUSTED.set(MappingProxyType({**_TRUSTED.get(), **by_path}))
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def list_trusted_files() -> tuple[CodeFile, ...]:
    """Return the files that are trusted here and now."""
    return tuple(_TRUSTED.get().values())


def read_trusted(file: Path) -> CodeFile:
    """Return the code of a file that the caller trusts.

    Raises
    ------
    UntrustedCodeError
        The caller does not trust it, or it changed since.
    """
    path = resolve_path(file)
    code = _TRUSTED.get().get(path)
    if code is None:
        raise UntrustedCodeError(
            f"The job names code, {path.name}, which would see the originals and run "
            "with your rights; it was not run.",
            fix=f"read it; if you trust it, pass --trust {path}, or "
            f"trust=[{str(path)!r}] in Python.",
        )
    require_same_hash(CodeFile.read(path), code.sha256)
    return code


def require_same_hash(now: CodeFile, sha256: str) -> None:
    """Refuse a file whose bytes no longer have this hash."""
    if now.sha256 != sha256:
        raise UntrustedCodeError(
            f"{now.path.name} has changed since it was trusted; it was not run again.",
            fix="read it again, and run again.",
        )


Found = TypeVar("Found")
Where = Literal["package", "entry point", "file", "object"]

KINDS = MappingProxyType(
    {
        "models": "model",
        "partitioners": "partition method",
        "solvers": "solver",
        "measures": "measure",
        "privacy_models": "privacy model",
        "repairs": "repair",
        "aggregators": "aggregation",
    }
)
_FILE = re.compile(r"(?P<file>[^\0]+\.py)(:(?P<object>.*))?")
_LOCK = RLock()  # a file runs once, whatever the threads


@dataclass(frozen=True)
class Origin:
    """Origin of an object that a user names.

    Attributes
    ----------
    name
        Name in messages, without a folder.
    kind
        One of `KINDS`.
    where
        "package" for this package; else "entry point", "file" or "object", a Python
        object that the caller passed.
    file
        Path of the file that was run.
    sha256
        Hash of the bytes that were run, in hexadecimal.
    package
        The installed package of an entry point, with its version.
    """

    name: str
    kind: str
    where: Where
    file: Path | None = None
    sha256: str | None = None
    package: str | None = None

    def __str__(self) -> str:
        """Return the identity of the code: "mine.py, sha256 0123456789abcdef..."."""
        if self.file is not None:
            return f"{self.file.name}, sha256 {self.sha256}"
        return self.package or f"{self.where} {self.name}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; of the file no folder."""
        return {
            "name": self.name,
            "kind": self.kind,
            "where": self.where,
            "file": None if self.file is None else self.file.name,
            "sha256": self.sha256,
            "package": self.package,
        }

    def run(
        self, function: Callable[..., Found], /, *args: Any, **options: Any
    ) -> Found:
        """Return the result of its code.

        Raises
        ------
        JobError
            The code fails; the message contains only type and line of the exception.
        """
        file = None if self.file is None else str(self.file)
        if self.where == "object":
            file = getattr(getattr(function, "__code__", None), "co_filename", None)
        return run_user_code(self.name, file, function, *args, **options)


def is_code_file(name: object) -> bool:
    """Whether a name is one of a file of code."""
    return isinstance(name, str) and _FILE.fullmatch(name) is not None


def get_file_name(name: str) -> str:
    """Return the name of a code file without its folder; any other name unchanged."""
    match = _FILE.fullmatch(name)
    return name if match is None else f"{Path(match['file']).name}{match[2] or ''}"


def resolve_code_path(folder: Path, name: str) -> str:
    """Return the name of a file of code with its path, for a job file in `folder`."""
    match = _FILE.fullmatch(name)
    if match is None:
        return name
    return f"{resolve_path(folder / match['file'])}{match[2] or ''}"


def load_plugin(
    kind: str, name: str, *, beside: Path | None = None
) -> tuple[Any, Origin]:
    """Return the object that a user's name refers to, and its origin.

    Parameters
    ----------
    kind
        One of `KINDS`.
    name
        Name of an entry point, or `file.py:object`, or `file.py`: its only function,
        or its module for a model.
    beside
        The folder of the job file; paths of files are relative to it.

    Raises
    ------
    UntrustedCodeError
        The file is not trusted, or has changed since: no code was run.
    UnknownNameError
        No entry point has the name; or the file has no object of this name.
    JobError
        The path is relative without a job file; the file cannot be read, or fails; two
        packages offer the name.
    """
    require_known("kind of code", kind, KINDS)
    match = _FILE.fullmatch(name)
    if match is None:
        return _find_plugin(kind, name)
    file = Path(match["file"])
    if beside is not None:
        file = beside / file
    elif not file.is_absolute():
        raise JobError(
            f"{match['file']} is seen from the job file, and there is none.",
            fix="give the whole path; or pass the object itself.",
        )
    code = read_trusted(file)
    called = code.path.name + (match[2] or "")
    origin = Origin(called, kind, "file", code.path, code.sha256)
    return _find_member(_load_module(code, origin), match["object"], origin), origin


def reload_plugin(origin: Origin) -> Any:
    """Return an object that another process loaded, from identical bytes only.

    Raises
    ------
    UntrustedCodeError
        The file has changed since.
    """
    if origin.file is None or origin.sha256 is None:
        return load_plugin(origin.kind, origin.name)[0]
    code = CodeFile.read(origin.file)
    require_same_hash(code, origin.sha256)
    member = origin.name.removeprefix(code.path.name).removeprefix(":") or None
    return _find_member(_load_module(code, origin), member, origin)


def find_origin(kind: str, thing: object) -> Origin:
    """Return the origin of a Python object that the caller passed."""
    called = getattr(thing, "__name__", None) or getattr(thing, "name", None)
    return Origin(str(called or type(thing).__name__), kind, "object")


def find_plugins(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points that installed packages offer of a kind, unloaded."""
    plugins: dict[str, EntryPoint] = {}
    for point in entry_points(group=f"aggopt.{kind}"):
        first = plugins.setdefault(point.name, point)
        if first.value != point.value:
            raise JobError(
                f"{_find_package(first)} and {_find_package(point)} both "
                f"offer a {KINDS[kind]} called {point.name!r}.",
                fix="remove one of them.",
            )
    return plugins


def _find_plugin(kind: str, name: str) -> tuple[Any, Origin]:
    offered = find_plugins(kind)
    if name not in offered:
        raise UnknownNameError(KINDS[kind], name, offered)
    point = offered[name]
    origin = Origin(name, kind, "entry point", package=_find_package(point))
    return origin.run(point.load), origin


def _find_package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "a package"


def _load_module(code: CodeFile, origin: Origin) -> ModuleType:
    """Return the module of a file, run from the bytes that were hashed."""
    place = sha256(bytes(code.path) + code.source).hexdigest()[:16]
    called = f"aggopt_own_{code.path.stem}_{place}"
    with _LOCK:
        if called in sys.modules:
            return sys.modules[called]
        module = ModuleType(called)
        module.__file__ = str(code.path)
        sys.modules[called] = module  # where dataclasses and pickle look
        try:
            origin.run(_run_code, code, module)
        except BaseException:
            del sys.modules[called]
            raise
        return module


def _run_code(code: CodeFile, module: ModuleType) -> None:
    compiled = compile(code.source, str(code.path), "exec", dont_inherit=True)
    exec(compiled, vars(module))


def _find_member(module: ModuleType, member: str | None, origin: Origin) -> Any:
    """Return an object of a module by its name, or its only function; a model whole."""
    if member is None:
        return module if origin.kind == "models" else _get_only(module, origin)
    if member not in vars(module):
        raise UnknownNameError(
            f"object in {Path(str(module.__file__)).name}",
            member,
            list_defined_names(module),
        )
    return vars(module)[member]


def _get_only(module: ModuleType, origin: Origin) -> Any:
    functions = [
        name for name in list_defined_names(module) if callable(vars(module)[name])
    ]
    if len(functions) == 1:
        return vars(module)[functions[0]]
    file = origin.name
    if not functions:
        raise JobError(
            f"{file} has no function.", fix=f"write one, or {file}:NAME of an object."
        )
    raise JobError(
        f"{file} has {len(functions)} functions, and the job names none.",
        fix=f"write {file}:NAME, one of {', '.join(functions)}.",
    )


def list_defined_names(module: ModuleType) -> list[str]:
    """Return the names of the objects that a file of code itself defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", module.__name__) == module.__name__
    ]


CORRECT = "correct that code, on a table that may be seen."
NO_MEMORY = "end other programs, mask fewer records, or let that code take less memory."


def run_user_code(
    name: str,
    file: str | None,
    function: Callable[..., Found],
    /,
    *args: Any,
    **options: Any,
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
        return function(*args, **options)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failed = _explain_failure(name, file, error)
    raise failed  # not within the handler, which would chain it


def _explain_failure(name: str, file: str | None, error: BaseException) -> JobError:
    line = None if file is None else _find_last_line(file, error)
    where = f" in line {line} of {Path(file).name}" if file and line else ""
    kind = type(error).__name__
    received = (
        f"{name} fails with {'an' if kind[0] in 'AEIOU' else 'a'} {kind}{where}; what "
        "its message is not repeated, because it may hold values of records."
    )
    if is_lack_of_memory(error):
        return OwnMemoryError(received, fix=NO_MEMORY)
    return JobError(received, fix=CORRECT)


def _find_last_line(file: str, error: BaseException) -> int | None:
    """Return the last line of the file that the error went through."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    through = [
        line
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename == file
    ]
    return through[-1] if through else None
