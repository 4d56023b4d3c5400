"""What a table in memory needs, before any work: about, and at least."""

from aggopt.core.memory import require_memory
from aggopt.core.plural import plural
from aggopt.data.readers.parquet import IN_BLOCKS
from aggopt.job import Job

NUMBER = 8  # bytes
READ = 7  # times the numbers of a record: measured of 1e6 to 6e6 records of 2 and of 10
GROUPED = 10  # times the numbers of a record: what `blocked` needs of it
NEAR = 580  # bytes of a record beside: its neighbours, and what a search knows of it


def require_memory_to_read(n: int, job: Job) -> None:
    """Refuse a table of n records that cannot be checked and encoded.

    Raises
    ------
    MemoryLimitError
        It needs more memory than is left.
    """
    _require(n, job, n * READ * _numbers(job))


def require_memory_to_group(n: int, job: Job) -> None:
    """Refuse a table of n records whose groups the job's method cannot hold; as above.

    Only of `blocked`, which takes the largest tables, is it known.
    """
    if job.partition.method == "blocked":
        _require(n, job, n * (GROUPED * _numbers(job) + NEAR))


def _numbers(job: Job) -> int:
    return NUMBER * len(job.roles.quasi_identifier)


def _require(n: int, job: Job, needed: int) -> None:
    masked = plural(len(job.roles.quasi_identifier), "quasi-identifier")
    require_memory(needed, f"A table of {n} records with {masked}", IN_BLOCKS)
