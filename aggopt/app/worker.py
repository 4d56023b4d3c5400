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
from types import FrameType
from typing import Any

from aggopt.app.process import END_SEARCH
from aggopt.core.deadline import end_request
from aggopt.core.error_explanation import explain_error

EVERY = 0.1  # seconds between reports of progress of one step


class Worker:
    """The tasks of this process, one after another.

    Attributes
    ----------
    has_ended_search
        Whether a search of the task was ended by a request.
    """

    def __init__(self, out: int) -> None:
        self.out = out
        self.is_working = self.is_cancelled = self.has_ended_search = False
        self._step = ""
        self._reported = 0.0

    def send_message(self, event: str, **facts: Any) -> None:
        """Write a message."""
        data = json.dumps({"event": event, **facts}).encode() + b"\n"
        while data:
            data = data[os.write(self.out, data) :]

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
        if self.is_cancelled:
            raise KeyboardInterrupt

    def begin_naming(self) -> None:
        """Report that files get their names, which nothing may end halfway."""
        self.send_message("naming")
        self.raise_missed()

    def handle_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Cancel the task that runs."""
        if self.is_working:
            self.is_cancelled = True
            raise KeyboardInterrupt

    def run_task(self, message: dict[str, Any]) -> None:
        """Run a task and write its outcome."""
        from aggopt.app.tasks import TASKS

        self.is_cancelled = self.has_ended_search = False
        self._step = ""
        end_request.clear()
        try:
            self.is_working = True
            result = TASKS[message.pop("task")](self, **message)
            self.is_working = False
        except (KeyboardInterrupt, Exception) as error:  # a traceback may quote records
            self.is_working = False
            if self.is_cancelled or isinstance(error, KeyboardInterrupt):
                self.send_message("cancelled")
                return
            problem, fix = explain_error(error)
            self.send_message("error", problem=problem, fix=fix)
        else:
            self.send_message("done", result=result)


def _read_tasks(tasks: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Pass on tasks, and requests that a search ends; end when the server has ended."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["task"] == END_SEARCH:
            end_request.set()
        else:
            tasks.put(message)
    os._exit(0)


def run_worker() -> None:
    """Run tasks until the server ends."""
    out = os.dup(1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.umask(0o077)
    worker = Worker(out)
    signal.signal(signal.SIGINT, worker.handle_interrupt)
    tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_tasks, args=(tasks,), daemon=True).start()
    from aggopt.app.tasks import import_modules_of_tasks

    import_modules_of_tasks()
    worker.send_message("ready")
    while True:
        try:
            worker.run_task(tasks.get())
        except KeyboardInterrupt:  # it came as the task ended
            worker.is_working = False
            worker.send_message("cancelled")
