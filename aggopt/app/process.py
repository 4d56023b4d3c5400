"""The process that computes, as the server sees it: started, watched and ended."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

MAIN = """
import sys
sys.path[:] = {path!r}
from aggopt.app.worker import Worker
worker = Worker(*sys.argv[1:])
from aggopt.app.tasks import run_task
worker.run_tasks(run_task)
"""
GRACE = 0.6  # seconds that a cancelled task has to end by itself
LONGEST = 2**26  # bytes of a message: the proposal of 2000 columns has some
END_SEARCH = "end search"  # in place of a task
Keeper = Callable[[dict[str, Any]], None]  # of a result


@dataclass(frozen=True)
class Activity:
    """What the process does: for each page that watches it."""

    status: str  # starting, idle, running, done, failed, cancelled or died
    task: str = ""
    step: str = ""
    share: float = 0.0  # of the step
    problem: str = ""
    fix: str = ""
    number: int = 0  # rises with each change

    @property
    def is_busy(self) -> bool:
        """Whether a task runs, or the process starts."""
        return self.status in ("running", "starting")

    @property
    def is_search(self) -> bool:
        """Whether it is a search with groups to keep, which may end now."""
        return self.is_busy and self.task == "mask" and self.step in ("group", "repair")


class ComputingProcess:
    """One process that runs one task at a time; it is started again if it ends."""

    def __init__(self, start: Path, private: Path) -> None:
        self.activity = Activity("starting")
        self._folders = (str(start), str(private))
        self._process: Process | None = None
        self._result: asyncio.Future[dict[str, Any]] | None = None
        self._is_cancelled = self._is_naming = self._is_closed = self._is_ready = False
        self._changed = asyncio.Event()  # a new one for each change
        self._work: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the process, which imports all that it needs."""
        self._is_ready = False
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-c", MAIN.format(path=sys.path), *self._folders),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the server
            limit=LONGEST,
        )
        self.spawn(self._watch(self._process))

    async def run(
        self, keep: Keeper, task: str, inputs: dict[str, Any], **settings: Any
    ) -> None:
        """Run a task and keep its result, unless it fails; do nothing if one runs."""
        if self._result is not None or self._is_closed:
            return
        self._result = result = asyncio.get_running_loop().create_future()
        self._is_cancelled = self._is_naming = False
        self._show(Activity("running", task))
        if self._process is None or self._process.returncode is not None:
            await self.start()
        self._write({"task": task, "inputs": inputs, "settings": settings})
        outcome = await result
        self._result = None
        if outcome["event"] == "done":
            keep(outcome.pop("result"))
        self._show(Activity(outcome.pop("event"), task, **outcome))

    async def cancel(self) -> None:
        """End the task that runs within a second, unless it names its files; once."""
        result, process = self._result, self._process
        if result is None or process is None or self._is_cancelled:
            return
        self._is_cancelled = True
        if self._is_ready:  # before, it imports, and nothing began
            with suppress(ProcessLookupError, ValueError):
                process.send_signal(signal.SIGINT)
            await asyncio.wait([result], timeout=GRACE)
            while self._is_naming and not result.done():
                await asyncio.wait([result], timeout=GRACE)
        if not result.done():
            with suppress(ProcessLookupError):
                process.kill()

    def end_search(self) -> None:
        """Let the search that runs end with its best groups so far."""
        if self.activity.is_search:
            self._write({"task": END_SEARCH})

    async def close(self) -> None:
        """End the process."""
        self._is_closed = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._show(Activity("idle"))
        for work in self._work:
            work.cancel()

    async def wait_for_change(self, number: int, seconds: float) -> Activity:
        """Return the activity once its number is another, or after some seconds."""
        if self.activity.number == number:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
        return self.activity

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin work while the server goes on."""
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _show(self, activity: Activity) -> None:
        """Let all pages know what the process does now."""
        self.activity = replace(activity, number=self.activity.number + 1)
        self._changed.set()
        self._changed = asyncio.Event()

    def _write(self, message: dict[str, Any]) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _finish(self, outcome: dict[str, Any]) -> None:
        if self._result is not None and not self._result.done():
            self._result.set_result(outcome)

    async def _watch(self, process: Process) -> None:
        """Read the messages of a process until it ends; start another one then."""
        while process.stdout and (line := await process.stdout.readline()):
            message = json.loads(line)
            match message.pop("event"):
                case "ready":
                    self._is_ready = True
                    if self.activity.status == "starting":
                        self._show(Activity("idle"))
                case "progress":
                    self._show(replace(self.activity, **message))
                case "naming":
                    self._is_naming = True
                case event:
                    self._finish({"event": event, **message})
        await process.wait()
        if not self._is_closed:
            # one that cannot import would end again and again
            starts = self._is_ready or self._is_cancelled
            self._finish({"event": "cancelled" if self._is_cancelled else "died"})
            if starts:
                await self.start()
