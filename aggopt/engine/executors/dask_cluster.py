"""Execution of tasks by Dask, through its futures only: it never holds a record.

Dask's own ways to move tables (dask.dataframe, shuffles, scatter) leave unencrypted
originals in files of its workers; here they move through files of this package's own.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any

from aggopt.core.parallel import exclude_working_directory
from aggopt.core.plural import plural
from aggopt.core.version import __version__
from aggopt.engine.executors.local import TRIES
from aggopt.engine.executors.tasks import run_step
from aggopt.engine.storage.scratch_files import OnProgress
from aggopt.engine.validate.executors import (
    require_one_cluster,
    require_same_version,
    require_secure,
)
from aggopt.errors import AggoptError, EngineError, JobError
from aggopt.job.engine_section import Engine

PATIENCE = "10s"  # until a scheduler has to have answered
WORKERLESS = 600.0  # seconds without a worker until a run ends: a queue may start them
EVERY = 5.0  # seconds until workers are counted again
SOON = 0.05  # seconds until finished tasks are looked for again
UNMANAGED = {  # workers hold no data of Dask's: it has nothing to spill or to pause for
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.daemon": False,
    "distributed.scheduler.allowed-failures": TRIES,
}


class DaskExecutor:
    """Executor of tasks on the workers of a Dask client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def require_seen(self, folders: Sequence[Path]) -> None:
        """Refuse folders of the run that some worker cannot access.

        Raises
        ------
        EngineError
            The message names the worker and the folder.
        """
        answers = self._client.run(_find_unseen, list(folders), on_error="ignore")
        unseen = {worker: paths for worker, paths in answers.items() if paths}
        if not unseen:
            return
        text = "; ".join(
            f"{worker}: {', '.join(map(str, paths))}"
            for worker, paths in sorted(unseen.items())
        )
        raise EngineError(
            f"{len(unseen)} of {plural(len(answers), 'worker')} cannot see folders of "
            f"this run. {text}.",
            fix="mount them under the same names on the machines of all workers; or "
            "name folders that all see, of the input, of the output, and of files in "
            "between, [engine] work.",
        )

    def each(
        self, step: str, count: int, path: Path, on_progress: OnProgress
    ) -> list[Any]:
        """Return the results of a step's tasks 0..count-1, in this order."""
        from distributed import as_completed
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        prefix = time_ns()  # names hold no data: logs and the dashboard show them
        futures = [
            self._client.submit(
                run_step, step, n, path, pure=False, key=f"{step}-{prefix}-{n}"
            )
            for n in range(count)
        ]
        try:
            for done, future in enumerate(
                self._iter_finished(as_completed(futures)), start=1
            ):
                future.result()
                on_progress(done / count)
            return [future.result() for future in futures]
        except AggoptError:
            raise
        except (KilledWorker, FutureCancelledError):
            pass
        finally:
            self._client.cancel(futures)
        raise EngineError(
            f"Step {step!r}: workers ended before their tasks did.",
            fix="look whether the system ends them for want of memory; choose a "
            "smaller block under [engine], or workers with more memory.",
        )

    def _iter_finished(self, left: Any) -> Iterator[Any]:
        """Yield each of the futures `left` when it is finished.

        Raises
        ------
        EngineError
            The scheduler has had no worker for `WORKERLESS` seconds.
        """
        last_seen = looked = monotonic()
        while left.count():
            ready = left.next_batch(block=False)
            yield from ready
            now = monotonic()
            if ready or now < looked + EVERY:
                sleep(0.0 if ready else SOON)
                continue
            looked = now
            if self._has_workers():
                last_seen = now
            elif now >= last_seen + WORKERLESS:
                raise EngineError(
                    f"The scheduler has had no worker for {WORKERLESS:g} seconds.",
                    fix="start workers, and run it again; or let workers be started "
                    "here: workers = 2 under [engine].",
                )

    def _has_workers(self) -> bool:
        """Whether the scheduler answers and has a worker."""
        try:
            return bool(self._client.scheduler_info()["workers"])
        except OSError:  # the scheduler does not answer
            return False


@contextmanager
def connect_to_dask(engine: Engine, client: Any) -> Iterator[DaskExecutor]:
    """Yield an executor on the Dask cluster of [engine], or of the given client.

    Raises
    ------
    JobError
        It is configured twice, or not at all; others can connect to the scheduler.
    EngineError
        Dask is not installed; the scheduler does not answer; workers have another
        version of this package.
    """
    require_one_cluster(engine, client)
    try:
        import distributed
    except ImportError:
        raise EngineError(
            "Dask is not installed.", fix="pip install 'aggopt[dask]'."
        ) from None
    with ExitStack() as stack:
        if client is None and engine.scheduler is None:
            client = stack.enter_context(_start_cluster(engine.workers or 1))
        elif client is None:
            client = stack.enter_context(
                _connect_to_scheduler(str(engine.scheduler), engine.insecure)
            )
        elif not isinstance(client, distributed.Client):
            raise JobError(
                f"A {type(client).__name__} is no client of Dask.",
                fix="pass a distributed.Client.",
            )
        else:
            require_secure(client.scheduler_info()["address"], engine.insecure)
        require_same_version(_list_versions(client).values(), _find_version())
        yield DaskExecutor(client)


def _find_unseen(folders: list[Path]) -> list[Path]:
    """Return the folders that this worker cannot access."""
    return [path for path in folders if not os.access(path, os.R_OK | os.X_OK)]


@contextmanager
def _start_cluster(workers: int) -> Iterator[Any]:
    """Yield a client of a new cluster on this machine, closed at the end."""
    import dask
    import distributed

    quiet = logging.ERROR  # it warns of what takes a loaded machine a moment
    with (
        dask.config.set(UNMANAGED),
        exclude_working_directory(),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=quiet,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def _connect_to_scheduler(scheduler: str, insecure: bool) -> Iterator[Any]:
    """Yield a client of the scheduler at this address, closed at the end."""
    import distributed

    require_secure(scheduler, insecure)
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError):
        raise EngineError(
            f"No scheduler answers at {scheduler}.",
            fix="start it, or correct the address; or let workers be started here.",
        ) from None
    except TypeError:  # of what is to be the context of TLS
        raise EngineError(
            f"Dask knows no certificates for {scheduler}.",
            fix="name them in its configuration: ca-file, client.cert and client.key "
            "under distributed.comm.tls.",
        ) from None
    with client:
        yield client


def _list_versions(client: Any) -> dict[str, str | None]:
    """Return the package version of each worker; {} if none answers in time.

    A worker that ends during the query is queried again after its restart.
    """
    from distributed.comm import CommClosedError

    for _ in range(100):
        if client.scheduler_info()["workers"]:
            try:
                return dict(client.run(_find_version))
            except ModuleNotFoundError:
                return {"": None}
            except CommClosedError:
                pass
        sleep(0.1)
    return {}


def _find_version() -> str:
    """Return the version of this package on a worker."""
    return __version__
