"""Estimates of the memory, disk and processor time of a run, before any work."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from aggopt.core import memory
from aggopt.core.memory import format_size, require_memory
from aggopt.core.plural import plural
from aggopt.engine.state.category_levels import Levels, count_coordinates
from aggopt.engine.state.split_tree import (
    PER_LEAF,
    count_tree_levels,
    estimate_largest_leaf,
)
from aggopt.engine.steps.categories import TOGETHER
from aggopt.engine.steps.describe import AT_ONCE, COORDINATES
from aggopt.engine.steps.write import choose_file_count
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.errors import EngineError
from aggopt.job import Job
from aggopt.job.engine_section import Engine
from aggopt.pipeline.prepare.memory_check import GROUPED, NEAR, NUMBER

# Measured: processes that masked 2e4 to 1e6 records of 4 to 1000 coordinates.
PROCESS = 360 << 20  # bytes of a process, beside what its task needs
BEGUN = 150 << 20  # bytes of it that it has once it runs
DESCRIBED = 6  # times the numbers of a record of the input
ENCODED = 4  # times the coordinates of records, and of a sample, for a tree of blocks
READ = 3  # times a record: read, sorted and handed on
WRITTEN = 9  # times a record of the release: sorted, written, read and counted
TEXT = 24  # bytes of an entry whose length is not known
PROGRAM = 200  # bytes of a group in a program of P3M, and of the lists it is made of
COPIES = 2  # of the records in files in between: scattered to blocks, and published
CHOSEN = 90  # bytes of a group and level, where `frequencies` chooses for all groups
NUMBERED = 8  # bytes beside each record in files in between

# Processor seconds, about: from runs of one process on one machine.
STARTED = 3.0  # of a process: imports, and kernels read from their cache
RECORD = 1.2e-4  # of a record, all passes
COORDINATE = 1.1e-6  # of each coordinate of a record
CUT = 2.6e-9  # of a node of the tree of blocks, times the cube of coordinates: its axes
SEARCHED = {"fast": 1.0, "default": 1.5, "best": 4.0}  # times, by the effort

UNKNOWN: Mapping[str, Levels] = MappingProxyType({})


@dataclass(frozen=True)
class RunNeeds:
    """Estimated needs of a run.

    Attributes
    ----------
    processes, process
        How many run at once, None if a cluster decides, and the bytes that each needs.
    disk
        Bytes of files in between, at least.
    seconds
        Processor seconds of all processes.
    """

    processes: int | None
    process: int
    disk: int
    seconds: float

    @classmethod
    def of(
        cls, parts: InputFolder, job: Job, levels: Mapping[str, Levels] = UNKNOWN
    ) -> "RunNeeds":
        """Return the estimated needs of a run: a lower bound without `levels`."""
        engine = job.engine
        width = count_coordinates(job, levels)
        processes = engine.jobs if engine.name == "local" else engine.workers
        effort = str(job.partition.settings.get("effort", "default"))
        bytes_each = (RECORD + COORDINATE * width) * SEARCHED[effort]
        nodes = (1 << count_tree_levels(parts.records, engine.block)) - 1
        return cls(
            processes,
            process=PROCESS + _estimate_task_bytes(parts, job, levels),
            disk=_estimate_disk_bytes(parts, job),
            seconds=STARTED * (processes or 1)
            + parts.records * bytes_each
            + nodes * CUT * width**3,
        )

    @property
    def memory(self) -> int:
        """Bytes of all processes of the run on this machine."""
        return self.process * (self.processes or 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as plain values, ready for JSON."""
        return {
            "processes": self.processes,
            "process_bytes": self.process,
            "disk_bytes": self.disk,
            "processor_seconds": round(self.seconds, 1),
        }


def require_resources(parts: InputFolder, job: Job, out: Path) -> None:
    """Refuse a run that needs more memory or disk than this machine has free.

    Of a cluster that runs already only the disk is known.

    Raises
    ------
    InfeasibleInputError
        As `require_fitting_memory`.
    EngineError
        Files in between need more than is free.
    """
    require_fitting_memory(parts, job)
    if not job.engine.resume:  # what was left is there already
        _require_disk(
            _estimate_disk_bytes(parts, job), Path(job.engine.work or out.parent)
        )


def require_fitting_memory(
    parts: InputFolder,
    job: Job,
    levels: Mapping[str, Levels] = UNKNOWN,
    *,
    begun: bool = False,
) -> None:
    """Refuse a run whose processes need more memory than is available.

    If it has `begun`, some of their memory is theirs already.

    Raises
    ------
    InfeasibleInputError
        The message contains both numbers; the fix names a block that fits, if any does.
    """
    needs = RunNeeds.of(parts, job, levels)
    if needs.processes is None:
        return
    used = BEGUN * needs.processes if begun else 0
    piece = max(piece.records for piece in parts.pieces)
    wide = f" of {count_coordinates(job, levels)} coordinates" if levels else ""
    require_memory(
        needs.memory - used,
        f"A run of {plural(needs.processes, 'process', 'processes')}, in blocks of "
        f"{estimate_largest_leaf(parts.records, job.engine.block)} records{wide} and "
        f"pieces of files of {piece},",
        fix=_describe_remedy(parts, job, levels, memory.find_available_memory() + used),
    )


def _describe_remedy(
    parts: InputFolder, job: Job, levels: Mapping[str, Levels], left: int
) -> str:
    """Return the text on settings of [engine] that fit, or on other changes."""
    for engine in _iter_smaller_engines(job):
        changed = job.model_copy(update={"engine": engine})
        if RunNeeds.of(parts, changed, levels).memory <= left:
            keys = [
                f"{key} = {value}"
                for key in ("block", "jobs", "workers")
                if (value := getattr(engine, key)) != getattr(job.engine, key)
            ]
            return f"set {' and '.join(keys)} under [engine], which fits."
    if _chooses_globally(job):
        return 'set method = "plurality" under [aggregation.categories].'
    if levels:
        width = {name: level.points.shape[1] for name, level in levels.items()}
        widest = max(width, key=width.__getitem__)
        return (
            f"publish less detail of {widest!r}, which has {width[widest]} coordinates "
            "of each record; or use a machine with more."
        )
    return "write files with smaller row groups; or use a machine with more."


def _iter_smaller_engines(job: Job) -> Iterator[Engine]:
    """Yield engine sections that need less memory: smaller blocks, fewer processes."""
    engine = job.engine
    key = "jobs" if engine.name == "local" else "workers"
    for processes in dict.fromkeys((getattr(engine, key), 1)):
        block = engine.block
        while block >= 2 * job.privacy.k:
            yield engine.model_copy(update={"block": block, key: processes})
            block //= 2


def _estimate_task_bytes(
    parts: InputFolder, job: Job, levels: Mapping[str, Levels] = UNKNOWN
) -> int:
    """Return the estimated memory of the largest task, in bytes."""
    n = parts.records
    numbers = NUMBER * len(job.roles.quasi_identifier)
    wide = NUMBER * count_coordinates(job, levels)
    of_one = READ * _estimate_record_bytes(parts, job, TEXT)
    block = estimate_largest_leaf(n, job.engine.block)
    piece = max(piece.records for piece in parts.pieces)
    file = -(-n // choose_file_count(n))
    leaves = 1 << count_tree_levels(n, job.engine.block)
    sample = min(n, PER_LEAF * leaves)
    encoded = min(piece, AT_ONCE, COORDINATES * 8 // max(wide, 1) + 1)
    needs = [
        block * (of_one + GROUPED * wide + NEAR),
        piece * (of_one + DESCRIBED * numbers) + ENCODED * encoded * wide,
        sample * (numbers + ENCODED * wide),
        file * WRITTEN * (_estimate_record_bytes(parts, job, TEXT) + NUMBERED),
    ]
    groups = n // job.privacy.k
    if job.aggregation.method == "p3m":
        needs.append(groups * PROGRAM)
    if _chooses_globally(job):
        widest = max((len(level.domain.nodes) for level in levels.values()), default=0)
        needs.append(groups * widest * CHOSEN)
    return round(max(needs))


def _chooses_globally(job: Job) -> bool:
    """Whether one program chooses a category for the groups of all blocks."""
    method = job.aggregation.categories
    return method is not None and method.method == TOGETHER


def _estimate_disk_bytes(parts: InputFolder, job: Job) -> int:
    """Return the estimated bytes of the scratch files of a run."""
    return round(
        COPIES * parts.records * (_estimate_record_bytes(parts, job, 0) + NUMBERED)
    )


def _require_disk(needed: int, work: Path) -> None:
    """Refuse a folder of scratch files with less than `needed` bytes free."""
    try:
        free = shutil.disk_usage(work).free
    except OSError:  # a folder that is not there: told when one is made in it
        return
    if needed > free:
        raise EngineError(
            f"Files in between take {format_size(needed)} or more, and in {work} "
            f"{format_size(free)} are free.",
            fix="make room, or name another folder: [engine] work.",
        )


def _estimate_record_bytes(parts: InputFolder, job: Job, text: int) -> float:
    """Return the mean bytes of a record, for text entries of `text` bytes."""
    read = [name for name in parts.schema if name.name in job.roles.published]
    return sum(_estimate_entry_bytes(name.type, text) for name in read)


def _estimate_entry_bytes(kind: pa.DataType, text: int) -> float:
    """Return the bytes of an entry of this type; `text` for text."""
    try:
        return float(kind.bit_width) / 8
    except ValueError:  # a text has no width of its own
        return text
