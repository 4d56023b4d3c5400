"""The log of a command: a line of JSON for each stage, and one for its end.

A line has `time` (UTC), `level`, `stage`, `message` and `seconds` since the log began;
the last one also `exit`, `cause` and what to do, `fix`.  No line has a value of a
record: a message is the name of a step, a share, or an error of this package.  Each
line is one write to the end of the file, from any thread or handler.
"""

import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aggopt import __version__
from aggopt.command.causes import BY_SIGNAL, CAUSES, DONE, NO, name_cause
from aggopt.command.progress import EVERY
from aggopt.core import guardian
from aggopt.errors import PlaceError, TableError

KILLED = BY_SIGNAL + 9
_LEVELS = {DONE: "info", NO: "warning"}  # of the end; else "error"


class Log:
    """The log of this command, if it has one; else all that is noted is lost."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._stage = "start"
        self._began = self._shared = 0.0
        self._compiled: set[str] = set()

    def open(self, path: Path, command: str) -> None:
        """Begin the log of a command in a new file, which is for its owner alone.

        Raises
        ------
        TableError
            The file exists already, or its folder does not.
        PlaceError
            The system does not permit it.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            absent = isinstance(error, FileExistsError | FileNotFoundError)
            raise (TableError if absent else PlaceError)(
                f"The log {path} cannot be made: {error.strerror}.",
                fix="name a file that is not there yet, in a folder that is and may be "
                "written to.",
            ) from None
        self._stage = "start"
        self._began = time.monotonic()
        self._compiled.clear()
        self._write_line("info", f"aggopt {__version__}, {command}")
        self._notify_guardian(path)

    def record_stage(self, stage: str, share: float) -> None:
        """Note that a stage begins; and now and then what share of it is done."""
        if self._file is None:
            return
        now = time.monotonic()
        if stage != self._stage:
            self._stage = stage
            self._shared = now
            self._write_line("info", "begun")
        elif now > self._shared + EVERY:
            self._shared = now
            self._write_line("info", f"{100 * share:.0f} % done")

    def record_compiling(self, part: str) -> None:
        """Note, once, that loops of a part of the package are compiled."""
        if part not in self._compiled:
            self._compiled.add(part)
            self._write_line("info", f"compiling loops ({part})")

    def close(self, code: int, problem: str = "", fix: str = "") -> None:
        """Log the exit code of the command and its cause, as the last line."""
        if self._file is None:
            return
        level = _LEVELS.get(code, "error")
        more = {"fix": fix} if fix else {}
        self._write_line(
            level, problem or CAUSES[code].meaning, **_describe_ending(code), **more
        )
        os.close(self._file)
        self._file = None
        guardian.send_message("log")

    def _write_line(self, level: str, message: str, **more: Any) -> None:
        if self._file is None:
            return
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": level,
            "stage": self._stage,
            "message": message,
            "seconds": round(time.monotonic() - self._began, 3),
        }
        text = json.dumps(line | more) + "\n"
        with suppress(OSError):  # a disk that is full by now: the work goes on
            written = os.write(self._file, text.encode())
            if written < len(text):  # no line is there in part
                size = os.fstat(self._file).st_size
                os.ftruncate(self._file, size - written)

    def _notify_guardian(self, path: Path) -> None:
        """Let the guardian write the last line, should it have to kill the command."""
        line = {"level": "error", "stage": "end", **_describe_ending(KILLED)}
        stated = {"path": str(path.absolute()), "began": self._began, "line": line}
        guardian.send_message("log", json.dumps(stated))


def _describe_ending(code: int) -> dict[str, Any]:
    return {"exit": int(code), "cause": name_cause(code)}


log = Log()
