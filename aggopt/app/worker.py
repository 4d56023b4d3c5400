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
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from aggopt.app.process import END_SEARCH
from aggopt.app.start_folder import StartFolder
from aggopt.core.deadline import end_request
from aggopt.core.error_explanation import explain_error

EVERY = 0.1  # seconds between reports of progress of one step


class Worker:
    """The tasks of this process, one after another."""

    def __init__(self, start: str, private: str) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.umask(0o077)
        self.start = StartFolder(Path(start))
        self.private = Path(private)  # the folder of files for the page alone
        self.last_release: Any = None  # it is written without another run
        self._is_working = self._is_cancelled = False
        self.has_ended_search = False  # by a request
        self._step, self._reported = "", 0.0

    def send_message(self, event: str, **facts: Any) -> None:
        """Write a message."""
        self._out.write(json.dumps({"event": event, **facts}) + "\n")
        self._out.flush()

    def report_progress(self, step: str, share: float) -> None:
        """Report the step and the share that is done."""
        self._raise_missed()
        now = time.monotonic()
        if step != self._step:  # a request to end was for the step before
            self.has_ended_search |= end_request.is_set()
            end_request.clear()
        if step != self._step or share >= 1.0 or now > self._reported + EVERY:
            self._step, self._reported = step, now
            self.send_message("progress", step=step, share=share)

    def begin_naming(self) -> None:
        """Report that files get their names, which nothing may end halfway."""
        self.send_message("naming")
        self._raise_missed()

    def _raise_missed(self) -> None:
        if self._is_cancelled:  # the interrupt was lost within a library
            raise KeyboardInterrupt

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
                self._run_task(partial(run_task, self, **tasks.get()))
            except KeyboardInterrupt:  # it came as the task ended
                self._is_working = False
                self.send_message("cancelled")

    def _run_task(self, task: Callable[[], dict[str, Any]]) -> None:
        """Run a task and write its outcome."""
        self._is_cancelled = self.has_ended_search = False
        self._step = ""
        end_request.clear()
        try:
            self._is_working = True
            result = task()
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
