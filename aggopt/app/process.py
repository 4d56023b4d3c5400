"""The process that computes, as the server sees it: started, watched and ended."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

MAIN = "from aggopt.app.worker import run_worker; run_worker()"
GRACE = 0.6  # seconds that a cancelled task has to end by itself
LONGEST = 2**26  # bytes of a message: the proposal of 2000 columns has some
END_SEARCH = "end search"  # in place of a task
SEARCHES = ("group", "repair")  # steps of masking that may end early
STATUS = {"done": "done", "error": "failed", "cancelled": "cancelled", "died": "died"}


@dataclass(frozen=True)
class Activity:
    """What the process does: for each page that watches it.

    Attributes
    ----------
    status
        "starting", "idle", "running", "done", "failed", "cancelled" or "died".
    task
        Name of the task, if one began.
    step, share
        Step of the task, and the share of it that is done.
    problem, fix
        Sentences on a failure.
    number
        Rises with each change.
    """

    status: str
    task: str = ""
    step: str = ""
    share: float = 0.0
    problem: str = ""
    fix: str = ""
    number: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether a task runs, or the process starts."""
        return self.status in ("running", "starting")

    @property
    def is_search(self) -> bool:
        """Whether it is a search with groups to keep, which may end now."""
        return self.is_busy and self.task == "mask" and self.step in SEARCHES


class ComputingProcess:
    """One process that runs one task at a time; it is started again if it ends."""

    def __init__(self) -> None:
        self.activity = Activity("starting")
        self._process: Process | None = None
        self._result: asyncio.Future[dict[str, Any]] | None = None
        self._is_cancelled = self._is_naming = self._is_closed = self._is_ready = False
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a task runs."""
        return self._result is not None

    async def start(self) -> None:
        """Start the process, which imports all that it needs."""
        self._is_ready = False
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-c", f"import sys; sys.path[:] = {sys.path!r}; {MAIN}"),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the server
            limit=LONGEST,
        )
        self.keep(self._watch(self._process))

    async def run(self, task: str, **arguments: Any) -> dict[str, Any] | None:
        """Return the result of a task; None if it failed or was cancelled.

        Only one task runs at a time: another one is refused with None.
        """
        if self.is_busy or self._is_closed:
            return None
        self._result = asyncio.get_running_loop().create_future()
        self._is_cancelled = self._is_naming = False
        await self._set(status="running", task=task)
        if self._process is None or self._process.returncode is not None:
            await self.start()
        self._write({"task": task, **arguments})
        message: dict[str, Any] = await self._result
        self._result = None
        outcome = STATUS[message["event"]]
        said = {key: message.get(key, "") for key in ("problem", "fix")}
        await self._set(status=outcome, task=task, **said)
        return message["result"] if outcome == "done" else None

    async def cancel(self) -> None:
        """End the task that runs, within a second; a second call does nothing more."""
        result, process = self._result, self._process
        if result is None or process is None or self._is_cancelled:
            return
        self._is_cancelled = True
        with suppress(ProcessLookupError, ValueError):
            if self._is_ready:
                process.send_signal(signal.SIGINT)
                self.keep(self._kill_later(result, process))
            else:  # it imports, and nothing began
                process.kill()

    def end_search(self) -> None:
        """Let the search that runs end with its best groups so far."""
        if self.activity.is_search:
            self._write({"task": END_SEARCH})

    async def _kill_later(self, result: asyncio.Future[Any], process: Process) -> None:
        """Kill a process that does not heed; files that are being named come first."""
        await asyncio.sleep(GRACE)
        while self._is_naming and not result.done():
            await asyncio.sleep(GRACE / 10)
        if not result.done():
            with suppress(ProcessLookupError):
                process.kill()

    async def close(self) -> None:
        """End the process."""
        self._is_closed = True
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        await self._set(status="idle")
        for task in self._tasks:
            task.cancel()

    async def wait_for_change(self, number: int, seconds: float) -> Activity:
        """Return the activity once its number is another, or after some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self.activity.number != number)
        return self.activity

    async def announce(self) -> None:
        """Let all pages look again."""
        await self._set(**vars(self.activity))

    def keep(self, work: Any) -> None:
        """Run a coroutine while the server goes on."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _set(self, **facts: Any) -> None:
        number = self.activity.number + 1
        self.activity = Activity(**{**facts, "number": number})
        async with self._changed:
            self._changed.notify_all()

    def _write(self, message: dict[str, Any]) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _finish(self, event: str, **facts: Any) -> None:
        if self._result is not None and not self._result.done():
            self._result.set_result({"event": event, **facts})

    async def _watch(self, process: Process) -> None:
        """Read the messages of a process until it ends; start another one then."""
        while process.stdout and (line := await process.stdout.readline()):
            message = json.loads(line)
            match message["event"]:
                case "ready":
                    self._is_ready = True
                    if not self.is_busy:
                        await self._set(status="idle")
                case "progress":
                    now = replace(self.activity, status="running")
                    await self._set(
                        **vars(now) | {k: message[k] for k in ("step", "share")}
                    )
                case "naming":
                    self._is_naming = True
                case _:
                    self._finish(**message)
        await process.wait()
        if not self._is_closed:
            # one that cannot import would end again and again
            starts = self._is_ready or self._is_cancelled
            self._finish("cancelled" if self._is_cancelled else "died")
            if starts:
                await self.start()
