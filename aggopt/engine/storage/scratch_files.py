"""Scratch files: one task writes each under another name and renames it atomically.

A task that runs twice, because its process seemed dead, writes equal bytes under one
name.  The files hold originals: only the owner can read their folder.  A task in
another process writes its progress next to them, for the process that waits.
"""

import errno
import os
import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from aggopt.core.types import I64, AnyInt, Floats
from aggopt.data.restore_types import decode_dictionary
from aggopt.errors import EngineError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
STOP = "stop"  # the name of a file: once it exists, no task continues


class StoppedError(Exception):
    """The user has stopped what this task is part of."""


def write_atomically(
    to: Path, writer: Callable[[Path], object], beside: Path | None = None
) -> None:
    """Write a file under another name, sync it, and rename it over any earlier one.

    A killed process leaves its unfinished file in the folder `beside`, which is on the
    same disk, or else in the file's own folder.
    """
    aside = (beside or to.parent) / f".{to.name}.{secrets.token_hex(8)}{to.suffix}"
    try:
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        writer(aside)
        with aside.open("rb") as written:
            os.fsync(written.fileno())
        aside.replace(to)
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise EngineError(
            f"There is no room left in {to.parent.parent}: {os.strerror(error.errno)}.",
            fix="make room; or name another folder, for files in between under "
            "[engine] work; nothing is left behind.",
        ) from None
    finally:
        aside.unlink(missing_ok=True)


def save_arrays(to: Path, **arrays: Any) -> None:
    """Write named arrays to a file, atomically."""

    def write(aside: Path) -> None:
        with aside.open("wb") as stream:
            np.savez(stream, **arrays)

    write_atomically(to, write)


def load_arrays(path: Path, *names: str) -> dict[str, Any]:
    """Return arrays that `save_arrays` wrote, by name: the named ones, or all."""
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in names or archive.files}


def save_table(to: Path, table: pa.Table) -> None:
    """Write a table to an Arrow file, atomically."""

    def write(aside: Path) -> None:
        with (
            pa.OSFile(str(aside), "wb") as file,
            pa.ipc.new_file(file, table.schema) as stream,
        ):
            stream.write_table(table)

    write_atomically(to, write)


def load_table(path: Path) -> pa.Table:
    """Return a table that `save_table` wrote."""
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def sum_arrays(paths: Sequence[Path], *names: str) -> dict[str, Any]:
    """Return the sum of each array over files, by name."""
    sums = dict.fromkeys(names, 0.0)
    for path in paths:
        for name, value in load_arrays(path, *names).items():
            sums[name] = sums.get(name, 0.0) + value
    return sums


def save_state(to: Path, config: object) -> None:
    """Write the shared state of a step's tasks to a file, atomically."""
    write_atomically(to, lambda aside: aside.write_bytes(pickle.dumps(config)))


@lru_cache(4)
def load_state(path: Path) -> Any:
    """Return the shared state that `save_state` wrote; cached in each process."""
    return pickle.loads(path.read_bytes())


def write_sorted(to: Path, table: pa.Table, bucket: AnyInt, buckets: int) -> I64:
    """Write a table's rows sorted by bucket (n,); return each bucket's row count.

    Rows of one bucket keep their order.  A file has one record batch for each bucket.
    """
    order = np.argsort(bucket, kind="stable")
    sizes = np.bincount(bucket, minlength=buckets)
    rows = decode_dictionaries(table).take(pa.array(order)).combine_chunks()
    starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()

    def write(aside: Path) -> None:
        with (
            pa.OSFile(str(aside), "wb") as file,
            pa.ipc.new_file(file, rows.schema) as stream,
        ):
            for start, size in zip(starts, sizes.tolist(), strict=False):
                stream.write_batch(_make_batch(rows.slice(start, size)))

    write_atomically(to, write)
    return sizes.astype(np.int64)


def decode_dictionaries(rows: pa.Table) -> pa.Table:
    """Return rows with dictionary columns decoded to plain values.

    A file has one dictionary of a column, and rows of several files have several.
    """
    for place, field in enumerate(rows.schema):
        column = rows.column(place)
        if column.type != (plain := decode_dictionary(column)).type:
            rows = rows.set_column(place, field.name, plain)
    return rows


def _make_batch(rows: pa.Table) -> pa.RecordBatch:
    """Return the rows as one record batch."""
    batches = rows.combine_chunks().to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_pylist([], schema=rows.schema)


def read_buckets(files: Sequence[Path], buckets: Sequence[int]) -> pa.Table:
    """Return the rows of some buckets from files of `write_sorted`."""
    batches_of_buckets = []
    for file in files:
        with pa.memory_map(str(file)) as mapped:
            batches = pa.ipc.open_file(mapped)
            batches_of_buckets += [batches.get_batch(bucket) for bucket in buckets]
    return pa.Table.from_batches(batches_of_buckets).combine_chunks()


def remove_steps(folder: Path, *steps: str) -> None:
    """Remove the scratch files of these steps."""
    for step in steps:
        for path in folder.glob(f"{step}-{6 * '[0-9]'}"):
            path.unlink(missing_ok=True)


def append_column(rows: pa.Table, values: AnyInt | Floats) -> pa.Table:
    """Return rows with these values (n,) as an unnamed last column."""
    return rows.append_column("", pa.array(values))


def split_last_column(rows: pa.Table) -> tuple[pa.Table, I64]:
    """Return rows without their last column, and its values."""
    last = rows.num_columns - 1
    return rows.remove_column(last), rows.column(last).to_numpy()


def stop_on_request(folder: Path, phases: int = 1) -> Callable[[float], None]:
    """Return a progress callback that ends a task if the run is to stop.

    It reports the progress of the task, whose share rises this many times, one by one.
    """
    stop = folder / STOP
    on_progress = make_phase_progress(phases)

    def check(share: float) -> None:
        if stop.exists() or not folder.exists():  # it is removed, or kept elsewhere
            raise StoppedError
        on_progress(share)

    return check


class BlockSource(NamedTuple):
    """Buckets of the files of a step, from number `first` to before `last`."""

    step: str
    first: int
    last: int
    buckets: tuple[int, ...]


class ShuffleRegion(NamedTuple):
    """Input of a task of a second step: a region of the files `first` to `last`.

    Its buckets are `width` buckets from `bucket` on.
    """

    region: int
    first: int
    last: int
    bucket: int
    width: int


Sources = tuple[BlockSource, ...]


def read_sources(sources: Sources, at: Callable[[str, int], Path]) -> pa.Table:
    """Return the rows of all sources as one table."""
    rows = [
        read_buckets([at(step, number) for number in range(first, last)], buckets)
        for step, first, last, buckets in sources
    ]
    return pa.concat_tables(rows).combine_chunks()


OnProgress = Callable[[float], None]
EVERY = 1.0  # seconds between two looks, and at least between two notes
_NAME = "share-"
_ON_PROGRESS: ContextVar[OnProgress | None] = ContextVar("on_progress", default=None)


@contextmanager
def report_to(on_progress: OnProgress) -> Iterator[None]:
    """Send progress reported within this context to `on_progress`."""
    before = _ON_PROGRESS.set(on_progress)
    try:
        yield
    finally:
        _ON_PROGRESS.reset(before)


@contextmanager
def write_progress_in(folder: Path, number: int) -> Iterator[None]:
    """Write a task's progress to a file, unless this process has a callback."""
    if _ON_PROGRESS.get() is not None:
        yield
        return
    with report_to(_make_writer(folder / f"{_NAME}{number}")):
        yield


def report_task_share(share: float) -> None:
    """Report the completed share of the running task to its callback, if any."""
    on_progress = _ON_PROGRESS.get()
    if on_progress is not None:
        on_progress(share)


def make_phase_progress(count: int) -> OnProgress:
    """Return a progress callback for a task of `count` phases, one after another.

    >>> with report_to(print):
    ...     on_progress = make_phase_progress(2)
    ...     for share in (0.0, 1.0, 0.5):
    ...         on_progress(share)
    0.0
    0.5
    0.75
    """
    phase = 0
    last = 0.0

    def on_progress(share: float) -> None:
        nonlocal phase, last
        if share < last:
            phase = min(phase + 1, count - 1)
        last = share
        report_task_share((phase + share) / count)

    return on_progress


def sum_shares(folder: Path, numbers: Iterable[int]) -> float:
    """Return the sum of the completed shares of these tasks."""
    return sum(map(_read_share, (folder / f"{_NAME}{number}" for number in numbers)))


def remove_shares(folder: Path) -> None:
    """Remove the progress files of an earlier step's tasks."""
    for path in folder.glob(f"{_NAME}*"):
        path.unlink(missing_ok=True)


def _make_writer(to: Path) -> OnProgress:
    """Return a progress callback that writes the share to a file."""
    last = monotonic()

    def write(share: float) -> None:
        nonlocal last
        if monotonic() - last >= EVERY:
            with suppress(OSError):  # of a full disk: the task itself will raise it
                to.write_text(f"{share:.4f}")
            last = monotonic()

    return write


def _read_share(path: Path) -> float:
    """Return the completed share in a progress file; 0 if it has none."""
    try:
        return float(path.read_text())
    except (OSError, ValueError):  # nothing yet, or half of it
        return 0.0
