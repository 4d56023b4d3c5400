"""Pool of processes that run solvers, each ready for the next call.

A solver that does not return cannot be stopped from within its process.  The pool kills
that process, with the programs that it started, after its limit and a grace.  A solver
that aborts ends no other process.
"""

import atexit
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from math import isfinite
from pathlib import Path
from typing import Any, TextIO

from aggopt.core import guardian
from aggopt.core.deadline import LONGEST, compile_time, end_request
from aggopt.core.memory import find_available_memory
from aggopt.core.stale_files import make_scratch_folder
from aggopt.core.worker import (
    COMPILED,
    COMPILES,
    EXHAUSTED,
    RAISED,
    READY,
    RETURNED,
    Request,
    inside,
    unpack_message,
)
from aggopt.errors import JobError, ProcessError
from aggopt.solvers.solver_log import is_logged, log_of, print_to_log

GRACE = 2.5  # seconds that a solver has after its time limit to end
START = 120.0  # seconds that a process has to import its modules
HEARS = 0.2  # seconds: another thread may have received this one's signal
LOGGED = 64 << 20  # bytes of a log that one call may print
MOST = 1 << 16  # bytes that are read at once
KILLS = Path("/proc/vmstat")  # how often Linux killed a process for lack of memory
_NO_MEMORY = b"bad_alloc", b"memory allocation of"  # the last output of C++ and Rust
_CUT = "\n--- aggopt keeps no more of what this solver prints\n"


class NoAnswer(Exception):  # it is an outcome, and no error of a user
    """A call ended without an answer."""

    def __init__(
        self, seconds: float, *, at_limit: bool, exhausted: bool = False
    ) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.at_limit = at_limit
        self.exhausted = exhausted  # there was too little memory


def is_here() -> bool:
    """Whether solvers run in this process: it is a worker, or the system is Windows."""
    return inside.is_worker or os.name != "posix"


def call(
    function: Callable[..., Any],
    *arguments: Any,
    solver: str,
    limit: float | None,
    modules: tuple[str, ...] = (),
    dumps: Callable[[Any], bytes] = pickle.dumps,
) -> Any:
    """Call a function in another process; return its result or raise its error.

    Parameters
    ----------
    function
        A function of a module, so that it can be sent by its name.
    solver
        Name of the solver, for the log.
    limit
        Seconds from when `modules` are imported; 600 when None.

    Raises
    ------
    NoAnswer
        The process did not answer in time, or ended.
    JobError
        An argument cannot be sent.
    """
    if is_logged():
        function, arguments = _call_logged, (function, *arguments)
    packed = _pack_call(dumps, function, arguments)
    # the folder is made here, so that it is removed even if the process is killed
    with log_of(solver) as log, make_scratch_folder() as folder:
        memory = find_available_memory()
        request = Request(modules, packed, is_logged(), str(folder), memory)
        worker = _get_worker()
        try:
            answer = worker.answer(request, limit or LONGEST, log)
        except BaseException:
            worker.kill()
            raise
        _return_worker(worker)
    return _extract_result(answer)


def _call_logged(function: Callable[..., Any], *arguments: Any) -> Any:
    with print_to_log():
        return function(*arguments)


class Session:
    """A worker that keeps its state from one call to the next.

    `modules` are imported before the first time limit begins.
    """

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._modules = modules
        self._memory: int | None = find_available_memory()
        self._worker: _Worker | None = _get_worker()

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
        """Return a function's result, as `call` does; the function may write no files.

        Raises
        ------
        NoAnswer
            The process did not answer in time, or ended, in this or an earlier call.
        """
        if self._worker is None:
            raise NoAnswer(0.0, at_limit=False)
        packed = pickle.dumps((function, arguments))
        request = Request(self._modules, packed, False, None, self._memory)
        self._memory = None
        limit = max(limit, 0.0) if isfinite(limit) else LONGEST
        try:
            return _extract_result(self._worker.answer(request, limit, None))
        except BaseException:
            worker = self._worker
            self._worker = None
            worker.kill()
            raise

    def close(self, forget: Callable[[], None]) -> None:
        """Let the worker forget, by this function, and work for others."""
        if self._worker is None:
            return
        with suppress(NoAnswer):
            self.call(forget, limit=LONGEST)
            _return_worker(self._worker)
        self._worker = None


def _extract_result(answer: tuple[bytes, bytes]) -> Any:
    """Return the result in an answer, or raise the error in it."""
    kind, content = answer
    content_value = pickle.loads(content)
    if kind == RAISED:
        raise content_value
    return content_value


def _pack_call(
    dumps: Callable[[Any], bytes], function: Callable[..., Any], arguments: Any
) -> bytes:
    try:
        return dumps((function, arguments))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        kind = type(error).__name__
    raise JobError(
        "Solvers run in a process of their own, and what this one is asked cannot be "
        f"sent there ({kind}).",
        fix="let code of yours make within itself what it needs and cannot be pickled, "
        "such as open files, locks and connections.",
    )


class _Clock:
    """The time that a call has: to start, then its limit, less what compiles."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.began = time.monotonic()
        self.due = self.began + START
        self.paused: float | None = None  # seconds that were left then

    def begin(self) -> None:
        """Start the time limit, once the worker has imported its modules."""
        self.began = time.monotonic()
        self.due = self.began + self.limit + GRACE

    def left(self) -> float:
        """Return the seconds until the next check is due.

        Raises
        ------
        NoAnswer
            The time is up, or `end_request` is set.
        """
        left = self.due - time.monotonic()
        if left <= 0 or end_request.is_set():
            raise self.none(at_limit=True)
        return min(left, HEARS)

    def none(self, *, at_limit: bool, exhausted: bool = False) -> NoAnswer:
        """Return the error for a call without an answer."""
        spent = time.monotonic() - self.began
        return NoAnswer(spent, at_limit=at_limit, exhausted=exhausted)

    def pause(self) -> bool:
        """Let a kernel compile, which no limit counts; return whether none did."""
        if self.paused is not None:
            return False
        self.paused = self.due - time.monotonic()
        self.due = time.monotonic() + LONGEST
        return True

    def go_on(self) -> None:
        """Count again."""
        if self.paused is not None:
            self.due = time.monotonic() + self.paused
            self.paused = None


class _Kept:
    """Output of a solver, written to the log as far as it has room."""

    def __init__(self, log: TextIO | None) -> None:
        self.log = log
        self.room = LOGGED
        self.last = b""

    def read(self, printed: int) -> None:
        """Copy the available output to the log, once: more may follow without end."""
        try:
            text = os.read(printed, MOST)
        except BlockingIOError:
            return
        self.last = (self.last + text)[-MOST:]
        if self.log is None or self.room <= 0:
            return
        self.log.write(text[: self.room].decode(errors="replace"))
        self.room -= len(text)
        if self.room <= 0:
            self.log.write(_CUT)
        self.log.flush()


class _Worker:
    """One process, and the part of its answers that has been read."""

    def __init__(self) -> None:
        guardian.start()
        self.place = _place()
        self.guardian = guardian.find_process()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "aggopt.core.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
                start_new_session=True,  # Ctrl-C is for its parent, which ends it
            )
        except OSError as error:
            raise ProcessError(
                f"No process can be started for solvers: {error.strerror}.",
                fix="end other programs, or allow more processes.",
            ) from None
        guardian.send_message("group", self.process.pid)
        streams = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.streams = [stream for stream in streams if stream is not None]
        self.requests, self.answers, self.printed = (s.fileno() for s in self.streams)
        for pipe in self.streams:
            os.set_blocking(pipe.fileno(), False)
        self.unread = bytearray()
        self.kills = _count_kills()

    def answer(
        self, request: Request, limit: float, log: TextIO | None
    ) -> tuple[bytes, bytes]:
        """Return the kind of an answer and its content.

        Raises
        ------
        NoAnswer
            The process did not answer in time, or ended.
        """
        clock = _Clock(limit)
        log_text = _Kept(log)
        packed = pickle.dumps(tuple(request))
        unsent = memoryview(len(packed).to_bytes(8, "big") + packed)
        waiting = select.poll()
        waiting.register(self.requests, select.POLLOUT)
        waiting.register(self.answers, select.POLLIN)
        waiting.register(self.printed, select.POLLIN)
        with ExitStack() as uncounted:
            uncounted.enter_context(compile_time.passing())
            while True:
                ready = {fd for fd, _ in waiting.poll(1000 * clock.left())}
                if self.requests in ready:
                    unsent = unsent[self._write_request(unsent) :]
                    if not unsent:
                        waiting.unregister(self.requests)
                if self.printed in ready:
                    log_text.read(self.printed)
                if self.answers not in ready:
                    continue
                for kind, content in self._receive_messages(clock, log_text):
                    if kind == READY:
                        clock.begin()
                        uncounted.close()
                    elif kind == COMPILES:
                        if clock.pause():
                            uncounted.enter_context(compile_time.passing())
                    elif kind == COMPILED:
                        clock.go_on()
                        uncounted.close()
                    elif kind in (RETURNED, RAISED):
                        log_text.read(self.printed)
                        return kind, content
                    else:
                        exhausted = kind == EXHAUSTED
                        raise clock.none(at_limit=False, exhausted=exhausted)

    def _write_request(self, unsent: memoryview) -> int:
        try:
            return os.write(self.requests, unsent[: 1 << 20])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            return len(unsent)  # it ended, which its other pipe shows

    def _receive_messages(
        self, clock: _Clock, output: _Kept
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the messages that have arrived."""
        received = os.read(self.answers, MOST)
        if not received:
            output.read(self.printed)
            raise clock.none(at_limit=False, exhausted=self._is_exhausted(output.last))
        self.unread += received
        while message := unpack_message(self.unread):
            kind, content, end = message
            del self.unread[:end]
            yield kind, content

    def _is_exhausted(self, last: bytes) -> bool:
        """Whether it ran out of memory, by its output or the system's kills."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        was_killed = self.process.returncode == -signal.SIGKILL
        if was_killed and _count_kills() > self.kills:
            return True
        return any(words in last for words in _NO_MEMORY)

    @property
    def is_fit(self) -> bool:
        """Whether it lives, and began in the surroundings that this process has now.

        A guardian that stopped has killed its workers, which takes a moment.
        """
        if self.guardian != guardian.find_process():
            return False
        return self.place == _place() and self.process.poll() is None

    def kill(self) -> None:
        """End it, and all that it started."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        guardian.send_message("ended", self.process.pid)
        for stream in self.streams:
            with suppress(OSError):
                stream.close()
        self.process.wait()


def _count_kills() -> int:
    """Return how many processes the system killed for memory; 0 if unknown."""
    try:
        counts = dict(map(str.split, KILLS.read_text().splitlines()))
        return int(counts.get("oom_kill", 0))
    except (OSError, ValueError):
        return 0


def _place() -> tuple[object, ...]:
    """Return the settings that a process inherits from its parent at its start."""
    return sys.executable, tuple(sys.path), os.getcwd(), dict(os.environ)


class _Pool:
    """The workers without work."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[_Worker] = []


_pool = _Pool()


def _get_worker() -> _Worker:
    """Return a worker without work, or a new one."""
    while True:
        with _pool.lock:
            worker = _pool.idle.pop() if _pool.idle else None
        if worker is None:
            with compile_time.passing():
                return _Worker()
        if worker.is_fit:
            return worker
        worker.kill()


def _return_worker(worker: _Worker) -> None:
    """Keep a worker for later calls, or end it if enough are idle."""
    with _pool.lock:
        if len(_pool.idle) < (os.cpu_count() or 1):
            _pool.idle.append(worker)
            return
    worker.kill()


def stop_all_workers() -> None:
    """End the workers without work."""
    with _pool.lock:
        idle = _pool.idle
        _pool.idle = []
    for worker in idle:
        worker.kill()


def _drop_workers() -> None:
    """Have no workers after a fork: they are the parent's."""
    for worker in _pool.idle:
        worker.process.returncode = 0  # so that it is not waited for
        for stream in worker.streams:
            stream.close()
    _pool.__init__()  # type: ignore[misc]


atexit.register(stop_all_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_workers)
