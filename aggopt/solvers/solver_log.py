"""Log of the solvers' output, in a file that only its owner may read.

Without a log, solvers run silently and none of their output is kept.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO

from aggopt.core.worker import flush
from aggopt.errors import TableError

_ONE = threading.RLock()  # the streams are the process's
_FOLDERS: set[Path] = set()  # where this process has put a log

# the file of this block; (None,) in a worker, whose output already goes to the log
_KEPT: ContextVar[tuple[Path | None] | None] = ContextVar("log", default=None)


@contextmanager
def logged(file: str | Path) -> Iterator[None]:
    """Write the output of solvers in this block and thread to a new file.

    **It may hold values of records**, standardised: solvers print numbers of their
    programs.  The file has mode 0600.  No manifest and no release contains any of it,
    and no release is written into its folder.  Each solve begins with the solver's
    name; this package's own solvers print nothing.  At most 64 MiB of one call are
    kept.

    Parameters
    ----------
    file
        Path of the new file; it must not exist yet.

    Raises
    ------
    TableError
        The file exists, it cannot be created, or its folder contains a release.

    Examples
    --------
    >>> import cvxpy as cp, tempfile
    >>> from aggopt.solvers import solve
    >>> x = cp.Variable()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with logged(Path(folder, "solver.log")):
    ...         ended = solve(cp.Problem(cp.Minimize(x), [x >= 2]), "highs")
    ...     said = Path(folder, "solver.log").read_text()
    >>> said.splitlines()[0]
    '--- cvxpy:highs'
    """
    path = Path(file).absolute()
    _require_no_release(path.parent)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise TableError(
            f"The log {path} cannot be made: {error.strerror}.",
            fix="name a file that is not there yet, in a folder that is.",
        ) from None
    _FOLDERS.add(path.parent.resolve())
    token = _KEPT.set((path,))
    try:
        yield
    finally:
        _KEPT.reset(token)


@contextmanager
def print_to_log() -> Iterator[None]:
    """Let solvers print: the output of this process already goes to the log."""
    token = _KEPT.set((None,))
    try:
        yield
    finally:
        _KEPT.reset(token)


def is_logged() -> bool:
    """Whether solvers are to print."""
    return _KEPT.get() is not None


@contextmanager
def redirect_output(solver: str) -> Iterator[None]:
    """Redirect the output of the block to the log, if the caller opened one."""
    with log_of(solver) as log:
        if log is None:
            yield
            return
        with _ONE, _redirect_streams(log), redirect_stdout(log), redirect_stderr(log):
            yield


@contextmanager
def log_of(solver: str) -> Iterator[TextIO | None]:
    """Yield the file of this block with the solver's name in it; None without one."""
    current = _KEPT.get()
    if current is None or current[0] is None:
        yield None
        return
    with current[0].open("a", encoding="utf-8") as log:
        log.write(f"--- {solver}\n")
        log.flush()
        yield log


@contextmanager
def _redirect_streams(log: TextIO) -> Iterator[None]:
    """Have what compiled code prints in the log."""
    flush()
    before = os.dup(1), os.dup(2)
    try:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
        yield
    finally:
        flush()
        for stream, original in zip((1, 2), before, strict=True):
            os.dup2(original, stream)
            os.close(original)


def require_no_log(*folders: Path) -> None:
    """Refuse to write a release into a folder with a log of this process.

    Raises
    ------
    TableError
        One of the folders contains a log of this process.
    """
    for folder in folders:
        if folder.resolve() in _FOLDERS:
            raise TableError(
                f"A log of solvers was written into {folder}, and may hold values of "
                "records.",
                fix="write the release into another folder.",
            )


def _require_no_release(folder: Path) -> None:
    if next(folder.glob("*.manifest.json"), None) is not None:
        raise TableError(
            f"A release lies in {folder}, and a log of solvers may hold values of "
            "records.",
            fix="name a file in another folder.",
        )
