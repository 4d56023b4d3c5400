"""Groups within parts of a table that are partitioned independently, such as strata."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from aggopt.core.parallel import run_in_processes
from aggopt.core.types import F64, I64, Bool, Floats, Labels
from aggopt.core.validation import renumber_groups
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.encoding import Encoded
from aggopt.encoding.encode_table import select_rows
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job
from aggopt.partition.block_partition import partition_blocks
from aggopt.partition.shared.evidence import QUICK
from aggopt.partition.shared.result import Block, Partition, Proof, budget_bound
from aggopt.pipeline.partition.methods import repair_block
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.validate.strata import LESS
from aggopt.privacy.requirement import Requirement
from aggopt.solvers import Certificate, Status

OnProgress = Callable[[float], None]


class SubsetPartitioner(NamedTuple):
    """A method of partition, with its settings and the callback of its progress."""

    function: str | Callable[..., Partition]
    settings: Mapping[str, Any]
    on_progress: OnProgress
    bound: str | float = QUICK

    def reporting(self, on_progress: OnProgress) -> "SubsetPartitioner":
        """Return a copy with another progress callback."""
        return self._replace(on_progress=on_progress)

    def partition_block(
        self, records: Encoded, k: int, columns: Sequence[int], names: Sequence[str]
    ) -> Block:
        """Return a block of attributes with groups of these records."""
        (block,) = partition_blocks(
            records,
            k,
            (tuple(columns),),
            self.function,
            self.settings,
            self.on_progress,
            names,
            self.bound,
        )
        return block


class Subsets(NamedTuple):
    """The part of each record, (n,), and the values (n, d) that decide published ones.

    The records of a part have values in equal attributes.
    """

    labels: Labels
    held: Bool


def partition_within(
    records: Encoded,
    columns: Columns,
    parts: Sequence[Subsets],
    k: int,
    partitioner: SubsetPartitioner,
    names: Sequence[str],
    jobs: int = 1,
) -> tuple[Block, ...]:
    """Return blocks of attributes, with groups made within parts of the table.

    Each part is a complete table; distances are those between all records.  Its
    partition has a proof of its own.  The bounds add up to a bound on all groups within
    these parts.  A time limit, and the budget of the bound, is divided among parts by
    their numbers of records.
    `jobs` processes share the parts of a block.
    """
    on_progress = partitioner.on_progress
    blocks = []
    for done, (block, subsets) in enumerate(zip(columns, parts, strict=True)):
        part = partitioner.reporting(
            partial(report_share, on_progress, done, len(columns))
        )
        split = _SplitBlock(records.only(block), subsets, [names[j] for j in block])
        blocks.append(Block(block, split.divided(k, part, jobs)))
    on_progress(1.0)
    return tuple(blocks)


@dataclass(frozen=True, eq=False)
class _SplitBlock:
    """A block of attributes: records, and their parts."""

    records: Encoded = field(repr=False)
    parts: Subsets = field(repr=False)
    names: Sequence[str]

    def divided(self, k: int, partitioner: SubsetPartitioner, jobs: int) -> Partition:
        """Return the groups of all parts, with their certificates."""
        labels = self.parts.labels
        members = [np.flatnonzero(labels == j) for j in range(int(labels.max()) + 1)]
        shared = [self._make_subset(rows, k, partitioner) for rows in members]
        on_progress = partitioner.on_progress
        partitions: Iterable[Partition] = self._iter_partitions(shared, on_progress)
        if jobs > 1 and len(shared) > 1:
            partitions = map_in_processes(_partition_subset, shared, jobs, on_progress)
        groups = np.empty_like(labels)
        first = 0
        proofs: list[Proof] = []
        for rows, partition in zip(members, partitions, strict=True):
            groups[rows] = first + partition.labels
            proofs += partition.evidence
            first += len(partition.sizes)
        return Partition(renumber_groups(groups), proofs)

    def _make_subset(
        self, rows: Labels, k: int, partitioner: SubsetPartitioner
    ) -> "_Subset":
        """Return the records of one part, with settings and time limit for them."""
        n = len(self.parts.labels)
        is_held = self.parts.held[rows[0]]
        share = len(rows) / n
        settings = divide_time_limit(
            select_settings_of_rows(partitioner.settings, rows, n), share
        )
        records = select_rows(self.records, rows, is_held) if is_held.any() else None
        return _Subset(
            records,
            len(rows),
            k,
            partitioner.function,
            settings,
            list(compress(self.names, is_held)),
            partitioner.bound,
            share,
        )

    def _iter_partitions(
        self, parts: Sequence["_Subset"], on_progress: OnProgress
    ) -> Iterator[Partition]:
        """Yield the partition of each part, one after the other."""
        n = len(self.parts.labels)
        done = 0
        for part in parts:
            yield part.divided(
                partial(report_share, on_progress, done / part.size, n / part.size)
            )
            done += part.size


class _Subset(NamedTuple):
    """The records of a part, how many they are, and how they are partitioned.

    Without records nothing of them is published.
    """

    records: Encoded | None
    size: int
    k: int
    divide: str | Callable[..., Partition]
    settings: Mapping[str, Any]
    names: Sequence[str]
    bound: str | float
    share: float

    def divided(self, on_progress: OnProgress | None) -> Partition:
        """Return the groups of the part's records."""
        if self.records is None:
            proof = Certificate(Status.OPTIMAL, 0.0, 0.0, 0.0, "nothing published", 0.0)
            return Partition(np.zeros(self.size, np.intp), proof)
        all_columns = (tuple(range(len(self.names))),)
        (block,) = partition_blocks(
            self.records,
            self.k,
            all_columns,
            self.divide,
            self.settings,
            on_progress,
            self.names,
            self.bound,
        )
        return budget_bound(block.partition, QUICK, self.share)


def _partition_subset(part: _Subset) -> Partition:
    """Return the groups of a part, in another process."""
    return part.divided(None)


def select_settings_of_rows(
    settings: Mapping[str, Any], rows: Labels, n: int
) -> dict[str, Any]:
    """Return settings with arrays of n entries reduced to these rows."""
    return {
        name: value[rows]
        if isinstance(value, np.ndarray) and len(value) == n
        else value
        for name, value in settings.items()
    }


def divide_time_limit(settings: Mapping[str, Any], share: float) -> dict[str, Any]:
    """Return settings with `share` of the time limit, if one is set."""
    limit = settings.get("time_limit")
    return {**settings, **({} if limit is None else {"time_limit": share * limit})}


def report_share(
    on_progress: OnProgress, done: float, total: float, share: float
) -> None:
    """Report (done + share) / total to a progress callback."""
    on_progress((done + share) / total)


Part = TypeVar("Part")
Made = TypeVar("Made")


@dataclass(frozen=True)
class _NumberedTask(Generic[Part, Made]):
    """A task that returns the number of its part, too."""

    task: Callable[[Part], Made]

    def __call__(self, part: tuple[int, Part]) -> tuple[int, Made]:
        number, subset = part
        return number, self.task(subset)


def map_in_processes(
    task: Callable[[Part], Made],
    parts: Sequence[Part],
    jobs: int,
    on_progress: Callable[[float], Any],
) -> list[Made]:
    """Return the results of a task for all parts, in order, from `jobs` processes.

    `on_progress` receives the share of the parts that is done.
    """
    results: dict[int, Made] = {}
    for number, result in run_in_processes(_NumberedTask(task), enumerate(parts), jobs):
        results[number] = result
        on_progress(len(results) / len(parts))
    return [results[number] for number in range(len(parts))]


FAR = 1e9  # shortfall of a group of several strata: more than any other


@dataclass(frozen=True, eq=False)
class SingleStratumPerGroup(Requirement):
    """Each group has records of one of the `strata` (n,) alone."""

    model: ClassVar[str] = "strata"
    sign: ClassVar[str] = "<="
    additive: ClassVar[bool] = False
    lasting: ClassVar[bool] = True

    strata: Labels = field(repr=False)
    attribute: str = "stratum"
    name: str = "strata in a group"
    required: float = 1.0

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.strata)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the number of strata in each group, (groups,)."""
        group_of_record = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = np.unique(np.stack([group_of_record, self.strata[records]]), axis=1)
        return np.asarray(np.bincount(pairs[0]), np.float64)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Return a mask (groups,) of groups with several strata."""
        return np.asarray(self.measure_groups(records, starts) > 1)

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return `FAR` for each group with several strata, else 0."""
        return np.where(self.find_broken(records, starts), FAR, 0.0)

    def describe_kept(self, value: float) -> str:
        """Return an empty text: no group may have several strata."""
        return ""


def partition_within_strata(
    records: Encoded,
    strata: RecordStrata,
    columns: Columns,
    k: int,
    partitioner: SubsetPartitioner,
    names: Sequence[str],
    jobs: int = 1,
) -> tuple[Block, ...]:
    """Return blocks of attributes whose groups are within strata.

    `jobs` processes share the strata.
    """
    n = len(records)
    parts = [Subsets(strata.labels, np.ones((n, len(b)), dtype=bool)) for b in columns]
    return partition_within(records, columns, parts, k, partitioner, names, jobs)


def repair_within_strata(
    block: Block,
    records: Encoded,
    strata: RecordStrata,
    job: Job,
    confidential: Sequence[Confidential],
    on_progress: OnProgress,
    weights: Floats | None = None,
    share: float = 1.0,
) -> Block:
    """Return a block with groups within strata, repaired to satisfy the job.

    Records of different strata are farther apart than any of one.

    Raises
    ------
    InfeasibleInputError
        No groups satisfy all requirements.
    """
    X = separate_strata(records, strata)
    with add_stratum_requirement(strata) as more:
        return repair_block(
            block, X, job, confidential, on_progress, more, weights, share
        )


@contextmanager
def add_stratum_requirement(
    strata: RecordStrata | None,
) -> Iterator[tuple[Requirement, ...]]:
    """Yield the requirement of one stratum per group, for merging, if any.

    Raises
    ------
    InfeasibleInputError
        It ends with groups of several strata.
    """
    if strata is None:
        yield ()
        return
    try:
        yield (SingleStratumPerGroup(strata.labels),)
    except InfeasibleInputError:
        raise InfeasibleInputError(
            "Within strata no groups were found that keep what is promised.", fix=LESS
        ) from None


def separate_strata(records: Encoded, strata: RecordStrata | None) -> Encoded:
    """Return records with a coordinate that keeps strata far apart, if any."""
    if strata is None:
        return records
    coordinates = records.coordinates
    labels = strata.labels
    far = np.ceil(1.0 + np.sqrt((np.ptp(coordinates, axis=0) ** 2).sum()))
    return replace(records, coordinates=np.hstack([coordinates, far * labels[:, None]]))
