"""What a run needs of memory and disk, before any work: about, and at least."""

import shutil
from pathlib import Path

import pyarrow as pa

from aggopt.core.memory import format_size, require_memory
from aggopt.core.plural import plural
from aggopt.engine.steps.split_tree import UNEVEN, count_tree_levels
from aggopt.engine.steps.write import choose_file_count
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.errors import EngineError
from aggopt.job import Job

# Measured: processes that masked 1e5 to 1e6 records of 4 and 10 numbers.
PROCESS = 300 << 20  # bytes of a process, beside what its task needs
GROUPED = 10  # times the numbers of a record: what `blocked` needs of it
NEAR = 580  # bytes of a record beside: its neighbours, and what a search knows of it
DESCRIBED = 6  # times the numbers of a record of the input
READ = 3  # times a record: read, sorted and handed on
WRITTEN = 9  # times a record of the release: sorted, written, read and counted
TEXT = 24  # bytes of an entry whose length is not known
PROGRAM = 200  # bytes of a group in a program of P3M, and of the lists it is made of
COPIES = 2  # of the records in files in between: scattered to blocks, and published
NUMBERED = 8  # bytes beside each record in files in between


def require_resources(parts: InputFolder, job: Job, out: Path) -> None:
    """Refuse a run that does not fit the memory or the disk of this machine.

    Of a cluster that runs already only the disk is known.

    Raises
    ------
    InfeasibleInputError
        Tasks that are done at once need more memory than is left.
    EngineError
        Files in between need more than is free.
    """
    engine = job.engine
    at_once = engine.jobs if engine.name == "local" else engine.workers
    if at_once is not None:
        block = largest_block(parts.records, engine.block)
        piece = max(piece.records for piece in parts.pieces)
        require_memory(
            at_once * (PROCESS + task_bytes(parts, job)),
            f"A run of {plural(at_once, 'process', 'processes')}, in blocks of {block} "
            f"records and pieces of files of {piece},",
            fix="choose a smaller block under [engine] or fewer processes, or write "
            "files with smaller row groups.",
        )
    if not engine.resume:  # what was left is there already
        _require_disk(parts, job, Path(engine.work or out.parent))


def largest_block(n: int, block: int) -> int:
    """Return how many records the largest block has, about."""
    return min(n, round(UNEVEN * n / (1 << count_tree_levels(n, block))))


def task_bytes(parts: InputFolder, job: Job) -> int:
    """Return what the largest task needs, about, beside its process."""
    numbers = 8 * len(job.roles.quasi_identifier)
    of_one = READ * _row_bytes(parts, job, TEXT)
    block = largest_block(parts.records, job.engine.block)
    piece = max(piece.records for piece in parts.pieces)
    file = -(-parts.records // choose_file_count(parts.records))
    needs = [
        block * (of_one + GROUPED * numbers + NEAR),
        piece * (of_one + DESCRIBED * numbers),
        file * WRITTEN * (_row_bytes(parts, job, TEXT) + NUMBERED),
    ]
    if job.aggregation.method == "p3m":
        needs.append(parts.records // job.privacy.k * PROGRAM)
    return round(max(needs))


def _require_disk(parts: InputFolder, job: Job, work: Path) -> None:
    needed = round(COPIES * parts.records * (_row_bytes(parts, job, 0) + NUMBERED))
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


def _row_bytes(parts: InputFolder, job: Job, text: int) -> float:
    """Return what a record takes, with so many bytes of each entry that is a text."""
    read = [each for each in parts.schema if each.name in job.roles.published]
    return sum(_bytes(each.type, text) for each in read)


def _bytes(kind: pa.DataType, text: int) -> float:
    try:
        return float(kind.bit_width) / 8
    except ValueError:  # a text has no width of its own
        return text
