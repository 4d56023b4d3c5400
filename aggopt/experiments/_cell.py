"""One cell of an experiment: from its job to its rows, or to the reason of failure."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from aggopt.core.deadline import Deadline
from aggopt.core.deferred_signals import reraise_interrupts
from aggopt.core.memory import is_lack_of_memory
from aggopt.errors import AggoptError, TimeLimitError, naming
from aggopt.job import Job, SolverSection
from aggopt.partition.path_split import share_orderings
from aggopt.partition.shared.result import Block
from aggopt.pipeline.mask import publish_partitioned
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable, Partitions
from aggopt.pipeline.prepare.job_settings import choose_method_solver
from aggopt.release.manifest import partition_names
from aggopt.release.release import Release
from aggopt.solvers import Certificate

Made = TypeVar("Made")


def run_within(seconds: float | None, work: Callable[[], Made]) -> Made:
    """Return what `work` returns, if it is done in time; compilation is not counted.

    It is the main thread of this process that must call, because it is interrupted.

    Raises
    ------
    TimeLimitError
        It is not.
    """
    if seconds is None:
        return work()
    alarm = _Alarm(Deadline(seconds))
    try:
        with alarm.interrupt_late_work(), reraise_interrupts():
            return work()
    except KeyboardInterrupt:
        if not alarm.has_rung:
            raise
    raise TimeLimitError(
        f"It was not done within {seconds:g} seconds.",
        fix="allow more time_limit, or choose a quicker method.",
    )


class _Alarm:
    """A thread that interrupts the main one when a deadline has passed.

    No handler of a signal takes a lock that the main thread may hold.
    """

    def __init__(self, clock: Deadline) -> None:
        self.clock = clock
        self.has_rung = False
        self._is_on = True
        self._is_done = threading.Event()

    @contextmanager
    def interrupt_late_work(self) -> Iterator[None]:
        """Interrupt the block at the deadline, under any handler of Ctrl-C."""
        before = signal.getsignal(signal.SIGINT)

        def handle_interrupt(number: int, frame: FrameType | None) -> None:
            if not self.has_rung:
                if callable(before):
                    before(number, frame)
            elif self._is_on:
                raise KeyboardInterrupt

        thread = threading.Thread(target=self._ring_at_deadline, daemon=True)
        try:
            signal.signal(signal.SIGINT, handle_interrupt)
            thread.start()
            yield
        finally:
            self._is_on = False  # a late alarm does nothing
            try:
                self._is_done.set()
                thread.join()  # so that it strikes no later handler
            finally:
                signal.signal(signal.SIGINT, before)

    def _ring_at_deadline(self) -> None:
        """Send the process an interrupt at the deadline, unless the block has ended."""
        while not self.clock.over:
            if self._is_done.wait(self.clock.left):
                return
        if self._is_on:
            self.has_rung = True
            _interrupt()


def _interrupt() -> None:
    """Interrupt the main thread, in a call of the system, too."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


PROVEN = (
    *("status", "objective", "bound", "gap", "violation", "solver", "seconds"),
    "iterations",
)
SHARE = 0.8  # of a cell's time that solvers get: audit and measures need the rest
Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Work:
    """Arguments of a process that makes the rows of a cell.

    Attributes
    ----------
    place, called
        Of the cell, in the grid and in messages.
    data, job, secret
        As for `aggopt.mask`.
    seconds
        Time limit of its groups, and again of all later steps.
    groups
        Groups that another cell made; None if this one makes them.
    raises
        Whether a failure is an error.
    """

    place: int
    called: str
    data: Any = field(repr=False)
    job: Job = field(repr=False)
    secret: str = field(repr=False)
    seconds: float | None
    groups: Partitions | None = field(repr=False)
    raises: bool


class Done(NamedTuple):
    """Result of a cell: rows or a failure, and groups that it made itself."""

    place: int
    rows: list[Figures]
    failure: Figures | None
    groups: Partitions | None


def run_cells(works: Sequence[Work]) -> list[Done]:
    """Return the results of cells; cells that differ only in k share one ordering."""
    with share_orderings():
        return list(map(run_cell, works))


@reraise_interrupts()
def run_cell(work: Work) -> Done:
    """Return the result of a cell; raises as `aggopt.mask` if failures are errors."""
    partitions = None
    try:
        job = limit_aggregation(work.job, work.seconds)
        partitioned = run_within(work.seconds, partial(_partition_table, work, job))
        partitions = partitioned.groups if work.groups is None else None
        release = run_within(
            work.seconds, partial(publish_partitioned, partitioned, _ignore_progress)
        )
    except Exception as error:
        if work.raises:
            with naming(f"Cell {work.called}"):
                raise
        return Done(work.place, [], describe_failure(error), partitions)
    return Done(work.place, make_rows(release), None, partitions)


def limit_aggregation(job: Job, seconds: float | None) -> Job:
    """Return a job whose aggregation ends in time with its best point, if it can.

    It can if its solver takes a limit and the job sets none.  Attributes that are
    solved separately have equal shares.
    """
    aggregation = job.aggregation
    if (
        seconds is None
        or not isinstance(aggregation, SolverSection)
        or aggregation.time_limit is not None
    ):
        return job
    solvers = [
        choose_method_solver(section)
        for section in aggregation.programs
        if isinstance(section, SolverSection)
    ]
    if any(solver.time_limit is None for solver in solvers):
        return job
    alone = "covariance" not in aggregation.keeps
    parts = len(job.roles.quasi_identifier) if alone else 1
    update = {"time_limit": SHARE * seconds / parts}
    return job.model_copy(update={"aggregation": aggregation.model_copy(update=update)})


def describe_failure(error: Exception) -> Figures:
    """Return the columns of a failure: the error's type, and words without values."""
    message = "what it says is not kept, because it may hold values of records"
    if is_lack_of_memory(error):
        message = (
            "There is not enough memory. To fix: use fewer processes, fewer records or "
            "a machine with more memory."
        )
    elif isinstance(error, AggoptError):
        message = f"{error.problem} To fix: {error.fix}"
    return {"error": type(error).__name__, "message": message}


def is_in_time(failure: Figures | None) -> bool:
    """Whether no step failed, or one failed for another reason than the time limit."""
    return failure is None or failure["error"] != TimeLimitError.__name__


def make_rows(release: Release) -> list[Figures]:
    """Return a row for each attribute, or attributes that were solved together."""
    return [
        {
            "attribute": name,
            **_read_figures(certificate),
            **_describe_groups(release, name),
        }
        | _list_measures(release)
        for name, certificate in release.certificates.items()
    ]


def list_cell_columns(job: Job) -> set[str]:
    """Return the set of column names that each result row of a job has."""
    measure_names = dict.fromkeys(job.measures.own)
    groups = {"groups", "smallest", *(f"groups.{name}" for name in PROVEN)}
    return {"attribute", *PROVEN, *groups, *_name_measures(measure_names)}


def _partition_table(work: Work, job: Job) -> PartitionedTable:
    """Return the partitioned table of a cell."""
    return partition_table(
        work.data, job, _ignore_progress, secret=work.secret, groups=work.groups
    )


def _ignore_progress(step: str, share: float) -> None:
    """Do nothing: progress is that of the grid."""


def _read_figures(certificate: Certificate) -> Figures:
    """Return the figures of a certificate by column name."""
    figures = certificate.to_dict()
    claim = certificate.claimed
    claimed = {} if claim is None else {"claimed": claim.bound}
    return {name: figures.get(name) for name in PROVEN} | claimed


def _describe_groups(release: Release, attribute: str) -> Figures:
    """Return the number of groups of an attribute, and their certificate."""
    block = _block(release, attribute)
    proven = _read_figures(block.certificate)
    counts = {"groups": block.groups, "smallest": release.audit.smallest}
    return counts | {f"groups.{name}": figure for name, figure in proven.items()}


def _block(release: Release, attribute: str) -> Block:
    """Return the block of an attribute, or of the first of several."""
    names = partition_names(release.blocks, release.job)
    for names_of_block, block in zip(names, release.blocks, strict=True):
        if any(
            attribute == n or attribute.startswith(f"{n}, ") for n in names_of_block
        ):
            return block
    return release.blocks[0]


def _list_measures(release: Release) -> Figures:
    """Return the measures that are one figure, parts of PIL and own ones too."""
    measure_names = dict.fromkeys(release.job.measures.own)
    if release.measures is None:
        return _name_measures(measure_names)
    measures = release.measures.to_dict()
    parts = {f"pil_{name}": share for name, share in measures["pil_parts"].items()}
    plain = {n: v for n, v in measures.items() if isinstance(v, int | float | None)}
    arguments = ("safety", "delta")
    single_figures = {name: plain[name] for name in plain if name not in arguments}
    return single_figures | parts | _name_measures(measures.get("own", measure_names))


def _name_measures(measures: Mapping[str, float | None]) -> Figures:
    """Return the columns of measures of the user's."""
    return {f"measures.{name}": figure for name, figure in measures.items()}
