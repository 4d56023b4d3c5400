"""Files of code that a caller trusts: no other file that a job names is run.

Trust gives no sandbox: a trusted file sees the originals and has all the rights of its
caller.  A file is read once, when it is trusted; the bytes that are hashed are the
bytes that are run.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from aggopt.core.regular_files import explain_unreadable, require_regular, resolve_path
from aggopt.errors import JobError, UntrustedCodeError


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
