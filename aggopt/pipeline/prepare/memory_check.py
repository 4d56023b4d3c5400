"""Refuse tables that do not fit memory, before any work."""

from collections.abc import Mapping

import numpy as np

from aggopt.core.memory import require_memory
from aggopt.core.plural import plural
from aggopt.core.types import Floats
from aggopt.data.formats.parquet import IN_BLOCKS
from aggopt.data.table import Table
from aggopt.job import Job

NUMBER = 8  # bytes
READ = 7  # times the numbers of a record: measured of 1e6 to 6e6 records of 2 and of 10
GROUPED = 10  # times the coordinates of a record: what `blocked` needs of it
ENCODED = 13  # times the coordinates of a record: measured of 200 to 1000 of them
NEAR = 580  # further bytes of a record: its neighbours, and the state of a search


def require_memory_to_read(n: int, job: Job) -> None:
    """Refuse a table of n records that does not fit memory when read.

    Raises
    ------
    MemoryLimitError
        It needs more memory than is left.
    """
    _require_bytes(n, job, n * READ * _count_bytes(job))


def require_memory_to_encode(table: Table, matrix: Floats, job: Job) -> None:
    """Refuse a table whose encoded coordinates do not fit memory.

    `matrix` (n, d) are its quasi-identifiers, as `Table.matrix` returns them.

    Raises
    ------
    MemoryLimitError
        The fix names the column with the most coordinates.
    """
    width = _count_coordinates(table, matrix, job)
    widest = max(width, key=width.__getitem__)
    if width[widest] > 1:
        require_memory(
            len(matrix) * ENCODED * NUMBER * sum(width.values()),
            f"A table of {plural(len(matrix), 'record')} with {sum(width.values())} "
            "coordinates each",
            f"publish less detail of {widest!r}, of which each record has "
            f"{width[widest]} coordinates, or give its values a tree; or use a machine "
            "with more.",
        )


def _count_coordinates(table: Table, matrix: Floats, job: Job) -> Mapping[str, int]:
    """Return the number of coordinates of each quasi-identifier, by name.

    A number has one; by its range, one between each value and the next.
    """
    width = {}
    for name, column in zip(table.roles.quasi_identifier, matrix.T, strict=True):
        is_present = np.unique(column[~np.isnan(column)])
        if name in table.domains:
            width[name] = table.domains[name].count_coordinates(
                is_present.astype(np.int64)
            )
        else:
            by_range = job.partition.weights == "range"
            width[name] = len(is_present) - 1 if by_range else 1
    return width


def require_memory_to_group(n: int, coordinates: int, job: Job) -> None:
    """Refuse a table of n records that `blocked` cannot group in memory.

    Only of `blocked`, which takes the largest tables, is it known.
    """
    if job.partition.method == "blocked":
        _require_bytes(n, job, n * (GROUPED * NUMBER * coordinates + NEAR))


def _count_bytes(job: Job) -> int:
    """Return the bytes of the quasi-identifiers of a record."""
    return NUMBER * len(job.roles.quasi_identifier)


def _require_bytes(n: int, job: Job, needed: int) -> None:
    """Refuse a table of n records that needs more bytes than memory has."""
    masked = plural(len(job.roles.quasi_identifier), "quasi-identifier")
    require_memory(needed, f"A table of {n} records with {masked}", IN_BLOCKS)
