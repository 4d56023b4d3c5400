"""The process that computes, as the server sees it: started, watched and ended."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

GRACE = 0.6  # seconds that a cancelled task has to end by itself
LONGEST = 2**26  # bytes of a message: the proposal of 2000 columns has some
RUNNING = ("starting", "running")


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return dict(vars(self))


@dataclass(eq=False)
class ComputingProcess:
    """One process that runs one task at a time; it is started again if it ends."""

    activity: Activity = Activity("starting")
    _process: Process | None = None
    _result: asyncio.Future[dict[str, Any]] | None = None
    _is_cancelled: bool = False
    _is_naming: bool = False
    _is_closed: bool = False
    _is_ready: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def is_busy(self) -> bool:
        """Whether a task runs."""
        return self._result is not None

    @property
    def pid(self) -> int | None:
        """Number of the process."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process, which imports all that it needs."""
        self._is_ready.clear()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-c", f"import sys; sys.path[:] = {sys.path!r}; {MAIN}"),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the server
            limit=LONGEST,
        )
        self._keep(self._watch(self._process))

    async def run(self, task: str, **arguments: Any) -> dict[str, Any] | None:
        """Return the result of a task; None if it failed or was cancelled.

        Only one task runs at a time: another one is refused with None.
        """
        if self.is_busy or self._is_closed:
            return None
        result = asyncio.get_running_loop().create_future()
        self._result = result
        self._is_cancelled = False
        self._is_naming = False
        await self._set(status="running", task=task, step="", share=0.0)
        ready = asyncio.ensure_future(self._is_ready.wait())
        await asyncio.wait([ready, result], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not result.done():
            self._write({"task": task, **arguments})
        try:
            message: dict[str, Any] = await result
        finally:
            self._result = None
        outcome = message["event"]
        kept = {key: message.get(key, "") for key in ("problem", "fix")}
        await self._set(status=STATUS[outcome], task=task, **kept)
        return message["result"] if outcome == "done" else None

    async def cancel(self) -> None:
        """End the task that runs, within a second; a second call does nothing more."""
        result, process = self._result, self._process
        if result is None or process is None or self._is_cancelled:
            return
        self._is_cancelled = True
        if not self._is_ready.is_set():  # it imports: nothing began
            self._finish({"event": "cancelled"})
            return
        with suppress(ProcessLookupError, ValueError):
            process.send_signal(signal.SIGINT)
        self._keep(self._kill_later(result, process))

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
        await self._set(**{k: v for k, v in vars(self.activity).items()})

    def _keep(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _set(self, **facts: Any) -> None:
        facts["number"] = self.activity.number + 1
        self.activity = Activity(**facts)
        async with self._changed:
            self._changed.notify_all()

    def _write(self, message: dict[str, Any]) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _finish(self, message: dict[str, Any]) -> None:
        if self._result is not None and not self._result.done():
            self._result.set_result(message)

    async def _watch(self, process: Process) -> None:
        """Read the messages of a process until it ends; start another one then."""
        if process.stdout is None:
            return
        while line := await process.stdout.readline():
            message = json.loads(line)
            match message["event"]:
                case "ready":
                    self._is_ready.set()
                    if not self.is_busy:
                        await self._set(status="idle")
                case "progress":
                    step, share = message["step"], message["share"]
                    await self._set(
                        status="running",
                        task=self.activity.task,
                        step=step,
                        share=share,
                    )
                case "naming":
                    self._is_naming = True
                case _:
                    self._finish(message)
        await process.wait()
        if self._is_closed:
            return
        was_ready = self._is_ready.is_set()
        self._finish({"event": "cancelled" if self._is_cancelled else "died"})
        if was_ready:  # one that cannot import would end again and again
            await self.start()


MAIN = "from aggopt.app.worker import main; main()"
STATUS = {
    "done": "done",
    "error": "failed",
    "cancelled": "cancelled",
    "died": "died",
}
