"""The process that computes: it reads tasks and writes messages, one JSON a line.

Its output is a private copy of standard output; what libraries print is discarded,
because it may quote records.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from aggopt.app.process import END_SEARCH
from aggopt.app.start_folder import StartFolder
from aggopt.core.deadline import end_request
from aggopt.core.error_explanation import explain_error

EVERY = 0.1  # seconds between reports of progress of one step


class Worker:
    """The tasks of this process, one after another.

    Attributes
    ----------
    start, private
        The folder of the tables, and that of files for the page alone.
    has_ended_search
        Whether a search of the task was ended by a request.
    last_release
        The release that was computed last, which is written without another run.
    """

    def __init__(self, start: str, private: str) -> None:
        self._out = os.dup(1)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.umask(0o077)
        self.start, self.private = StartFolder(Path(start)), Path(private)
        self.last_release: Any = None
        self._begin()
        self._is_working = False

    def _begin(self) -> None:
        self._is_cancelled = self.has_ended_search = False
        self._step = ""
        self._reported = 0.0
        end_request.clear()

    def send_message(self, event: str, **facts: Any) -> None:
        """Write a message."""
        data = json.dumps({"event": event, **facts}).encode() + b"\n"
        while data:
            data = data[os.write(self._out, data) :]

    def report_progress(self, step: str, share: float) -> None:
        """Report the step and the share that is done; raise a lost interrupt."""
        self.raise_missed()
        now = time.monotonic()
        if step != self._step:  # a request to end was for the step before
            self.has_ended_search |= end_request.is_set()
            end_request.clear()
        if step != self._step or share >= 1.0 or now > self._reported + EVERY:
            self._step, self._reported = step, now
            self.send_message("progress", step=step, share=share)

    def raise_missed(self) -> None:
        """Raise again an interrupt that was lost within a library."""
        if self._is_cancelled:
            raise KeyboardInterrupt

    def begin_naming(self) -> None:
        """Report that files get their names, which nothing may end halfway."""
        self.send_message("naming")
        self.raise_missed()

    def _handle_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Cancel the task that runs."""
        if self._is_working:
            self._is_cancelled = True
            raise KeyboardInterrupt

    def run_tasks(self, run_task: Callable[..., dict[str, Any]]) -> None:
        """Run the tasks that the server sends, one after another, until it ends."""
        signal.signal(signal.SIGINT, self._handle_interrupt)
        tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=_read_tasks, args=(tasks,), daemon=True).start()
        self.send_message("ready")
        while True:
            try:
                self._run_task(run_task, tasks.get())
            except KeyboardInterrupt:  # it came as the task ended
                self._is_working = False
                self.send_message("cancelled")

    def _run_task(
        self, run_task: Callable[..., dict[str, Any]], message: dict[str, Any]
    ) -> None:
        """Run a task and write its outcome."""
        self._begin()
        try:
            self._is_working = True
            result = run_task(self, **message)
            self._is_working = False
            self.send_message("done", result=result)
        except (KeyboardInterrupt, Exception) as error:  # a traceback may quote records
            self._is_working = False
            if self._is_cancelled or isinstance(error, KeyboardInterrupt):
                self.send_message("cancelled")
            else:
                problem, fix = explain_error(error)
                self.send_message("failed", problem=problem, fix=fix)


def _read_tasks(tasks: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Pass on tasks, and requests that a search ends; end when the server has ended."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["task"] == END_SEARCH:
            end_request.set()
        else:
            tasks.put(message)
    os._exit(0)
