"""Groups within strata: their checks, partition and repair."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.core.validation import Floats
from aggopt.data.context.confidential import Confidential
from aggopt.data.context.strata import RecordStrata
from aggopt.encoding import Encoded
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job
from aggopt.partition.shared.result import Block
from aggopt.pipeline.partition.methods import repair_block
from aggopt.pipeline.partition.subsets import (
    OnProgress,
    SubsetPartitioner,
    Subsets,
    partition_within,
)
from aggopt.pipeline.prepare.job_settings import Columns
from aggopt.pipeline.validate.strata import LESS
from aggopt.privacy.requirement import Requirement

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
        """The number of records."""
        return len(self.strata)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return of how many strata the records of each group are, (groups,)."""
        group_of_record = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = np.unique(np.stack([group_of_record, self.strata[records]]), axis=1)
        return np.asarray(np.bincount(pairs[0]), np.float64)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group has records of several strata, (groups,)."""
        return np.asarray(self.measure_groups(records, starts) > 1)

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return `FAR` for each broken group, a larger shortfall than any other."""
        return np.where(self.find_broken(records, starts), FAR, 0.0)

    def describe_kept(self, value: float) -> str:
        """Say nothing: no group is to have several."""
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
    """Return groups within strata; each stratum is a part of the table.

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
) -> Block:
    """Return groups within strata that satisfy the job's requirements.

    Records of different strata are farther apart than any of one.

    Raises
    ------
    InfeasibleInputError
        No groups satisfy all requirements.
    """
    X = separate_strata(records, strata)
    with add_stratum_requirement(strata) as more:
        return repair_block(block, X, job, confidential, on_progress, more, weights)


@contextmanager
def add_stratum_requirement(
    strata: RecordStrata | None,
) -> Iterator[tuple[Requirement, ...]]:
    """Yield the additional requirement of merging: groups within strata, if any.

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
    """Return records with an additional coordinate that separates strata, if any."""
    if strata is None:
        return records
    coordinates, labels = records.coordinates, strata.labels
    far = np.ceil(1.0 + np.sqrt((np.ptp(coordinates, axis=0) ** 2).sum()))
    return replace(records, coordinates=np.hstack([coordinates, far * labels[:, None]]))
