"""Executors of tasks: this process, other processes of this machine, or a cluster.

An executor has two methods.  `each` runs a step for all numbers, and returns the
results in the order of the numbers, for any order of execution.  `require_seen`
checks beforehand whether all workers see the folders.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

from aggopt.core.parallel import exclude_working_directory
from aggopt.engine.executors.tasks import run_step
from aggopt.engine.storage import scratch_files
from aggopt.errors import EngineError
from aggopt.pipeline.partition.subsets import report_share

TRIES = 3  # times that a process may die before a step is given up


class Executor(Protocol):
    """Interface of an executor."""

    def each(
        self, step: str, count: int, path: Path, on_progress: scratch_files.OnProgress
    ) -> list[Any]:
        """Return the results of a step's tasks 0..count-1, in this order."""

    def require_seen(self, folders: Sequence[Path]) -> None:
        """Refuse folders of the run that some task cannot access."""


class LocalExecutor:
    """Executor of tasks in processes that see the folders of this one."""

    def require_seen(self, folders: Sequence[Path]) -> None:
        """Refuse no folder: tasks run on this machine."""


class SerialExecutor(LocalExecutor):
    """Executor of one task after the other, in this process."""

    def each(
        self, step: str, count: int, path: Path, on_progress: scratch_files.OnProgress
    ) -> list[Any]:
        """Return the results of a step's tasks 0..count-1, in this order."""
        result = []
        for number in range(count):
            told_of = _Listener(partial(report_share, on_progress, number, count))
            with told_of.errors(), scratch_files.report_to(told_of):
                result.append(run_step(step, number, path))
            on_progress((number + 1) / count)
        return result


class _Listener:
    """Reporter of the progress of a task here; a callback's error ends the task."""

    def __init__(self, on_progress: scratch_files.OnProgress) -> None:
        self._told = on_progress
        self._error: BaseException | None = None

    def __call__(self, share: float) -> None:
        """Tell it."""
        try:
            self._told(share)
        except BaseException as error:
            self._error = error
            raise scratch_files.StoppedError from None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise the error of the progress callback if it has ended the task."""
        try:
            yield
        except scratch_files.StoppedError:
            if self._error is None:
                raise
            raise self._error from None


class ProcessExecutor(LocalExecutor):
    """Executor of several tasks at once, in processes of this machine."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def each(
        self, step: str, count: int, path: Path, on_progress: scratch_files.OnProgress
    ) -> list[Any]:
        """Return the results of a step's tasks 0..count-1, in this order."""
        done: dict[int, Any] = {}
        for _ in range(TRIES):
            try:
                left = [n for n in range(count) if n not in done]
                self._run_tasks(step, left, path, done, on_progress)
                return [done[number] for number in range(count)]
            except BrokenProcessPool:
                self._kill()
        raise EngineError(
            f"Step {step!r}: processes ended {TRIES} times before their tasks did.",
            fix='in a script, call aggopt under if __name__ == "__main__", as each '
            "process reads it; else look whether the system ends them for want of "
            "memory, and choose a smaller block under [engine], or fewer processes.",
        )

    def _run_tasks(
        self,
        step: str,
        numbers: Sequence[int],
        path: Path,
        done: dict[int, Any],
        on_progress: scratch_files.OnProgress,
    ) -> None:
        """Run the step's tasks of these numbers; add results to `done`."""
        scratch_files.remove_shares(path.parent)
        pool = self._running()
        count = len(numbers) + len(done)
        with exclude_working_directory(), _block_interrupts():
            futures = {pool.submit(run_step, step, n, path): n for n in numbers}
        left: set[Future[Any]] = set(futures)
        try:
            while left:
                ready, left = wait(left, scratch_files.EVERY, FIRST_COMPLETED)
                for future in ready:
                    done[futures[future]] = future.result()
                running = scratch_files.sum_shares(
                    path.parent, (futures[future] for future in left)
                )
                on_progress((len(done) + running) / count)
        except BaseException:  # before anyone removes the folder that they write to
            self._kill()
            raise

    def _running(self) -> ProcessPoolExecutor:
        """Return the pool of worker processes, started when first used."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._jobs, get_context("spawn"), initializer=_start_worker
            )
        return self._pool

    def _kill(self) -> None:
        """Kill the worker processes at once, with the tasks that they run."""
        if self._pool is not None:
            kill_processes(self._pool)
        self.close()

    def close(self) -> None:
        """End the worker processes once their current tasks are finished."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def kill_processes(pool: ProcessPoolExecutor) -> None:
    """Kill all processes of a pool, so that its shutdown returns.

    A pool that has lost a process ends the others itself, by SIGTERM.  It misses a
    process that starts at this moment and one that ignores the signal, and then
    waits for them forever.
    """
    for process in list(pool._processes.values()):  # Python 3.14 has kill_workers
        process.kill()


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C in processes started within, until they ignore it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    """Make a worker process ignore Ctrl-C, and end with its parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """End this process at once when its parent process has ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def start_processes(jobs: int) -> Iterator[Executor]:
    """Yield an executor of `jobs` processes; for one, it is this process."""
    if jobs == 1:
        yield SerialExecutor()
        return
    process_executor = ProcessExecutor(jobs)
    try:
        yield process_executor
    finally:
        process_executor.close()
