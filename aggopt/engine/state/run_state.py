"""Immutable state shared by all tasks of a run.

It holds no record; of values only levels, scales and cuts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aggopt.aggregate.bounds import Bounds
from aggopt.aggregate.joint_aggregation import VARIANCE
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool, Floats
from aggopt.encoding.clock import Clock
from aggopt.encoding.spans import NumberSpans
from aggopt.engine.state.category_levels import Levels
from aggopt.engine.state.moments import PublishedMoments
from aggopt.engine.state.split_tree import PatternBuckets, SplitTree
from aggopt.engine.storage.input_parts import InputPart
from aggopt.engine.storage.scratch_files import ShuffleRegion, Sources
from aggopt.engine.validate.supported_settings import SOLVER
from aggopt.job import Job
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import choose_gap_size, is_gap_closed


@dataclass(frozen=True, eq=False)
class Shift:
    """Map from group means to published values, all on z-scores: (c - centre) map."""

    centre: Floats = field(repr=False)
    map: Floats = field(repr=False)

    def of(self, c: Floats) -> Floats:
        """Return the published centroids for group means c (m, d)."""
        moved = np.zeros_like(c)
        for j, row in enumerate(self.map):  # in one order, whatever m is
            moved += np.nan_to_num(c[:, j] - self.centre[j])[:, None] * row
        return np.where(np.isnan(c), np.nan, moved)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunState:
    """Arguments common to all first-pass tasks.

    Attributes
    ----------
    job, pieces
        The job, and its input files.
    columns
        Columns to read: all columns that are published.
    work, public, private
        Folders: of scratch files, of the release, and of its key.
    parts
        Number of files of the release.
    secret
        Source of the order of the released records.
    rate
        Share of the records in the sample for the tree.
    reasons
        Reasons for the defaults that were added to the job.
    strata
        Path of the strata; None if no column has the role.
    mean_weight
        Mean of all sampling weights; None if no weights exist, or none differ.
    whole
        Path of the table-wide confidential requirements; None if groups can be checked
        independently.
    deals
        Regions that the tasks of second steps read, by the step that wrote the files.
    categories
        The quasi-identifiers that are not numbers, in their order.
    levels
        Levels of each category in the whole table, once they are counted.
    dates, clocks
        The numbers that are dates or times, and the unit and origin of each.
    spans
        What groups publish about numbers in true statements, by name.
    """

    job: Job
    pieces: tuple[InputPart, ...]
    columns: tuple[str, ...]
    work: Path
    public: Path
    private: Path
    parts: int
    secret: str = field(repr=False)
    rate: float
    reasons: tuple[str, ...] = ()
    strata: Path | None = None
    mean_weight: float | None = None
    whole: Path | None = None
    deals: Mapping[str, tuple[ShuffleRegion, ...]] = field(
        default_factory=dict, repr=False
    )
    categories: tuple[str, ...] = ()
    levels: Mapping[str, Levels] = field(default_factory=dict, repr=False)
    dates: tuple[str, ...] = ()
    clocks: Mapping[str, Clock] = field(default_factory=dict, repr=False)
    spans: Mapping[str, NumberSpans] = field(default_factory=dict, repr=False)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numeric quasi-identifiers."""
        names = self.job.roles.quasi_identifier
        return tuple(name for name in names if name not in self.categories)

    @property
    def places(self) -> list[int]:
        """Positions of the numeric attributes among the quasi-identifiers, from 0."""
        names = self.job.roles.quasi_identifier
        return [names.index(name) for name in self.numbers]

    @property
    def places_of_categories(self) -> list[int]:
        """Positions of the categories among the quasi-identifiers."""
        names = self.job.roles.quasi_identifier
        return [names.index(name) for name in self.categories]

    def at(self, step: str, number: int) -> Path:
        """Return the path of the scratch file of a step's task."""
        return self.work / f"{step}-{number:06d}"

    def all(self, step: str, count: int) -> list[Path]:
        """Return the paths of the scratch files of all tasks of a step, in order."""
        return [self.at(step, number) for number in range(count)]

    def part(self, number: int) -> Path:
        """Return the path of a released file."""
        return self.public / f"part-{number:05d}.parquet"

    def key(self, number: int) -> Path:
        """Return the path of the private key of a released file."""
        return self.private / f"key-{number:05d}.parquet"


@dataclass(frozen=True, eq=False, kw_only=True)
class LeafState(RunState):
    """Run state with the scales of the records and the tree that cuts them into leaves.

    Attributes
    ----------
    buckets
        The leaves of each pattern of missing values; None if all records have one.
    """

    scale: Scale = field(repr=False)
    tree: SplitTree = field(repr=False)
    buckets: PatternBuckets | None = field(default=None, repr=False)

    @property
    def leaves(self) -> int:
        """Number of leaves of the tree, or of buckets of missing-value patterns."""
        return self.tree.leaves if self.buckets is None else self.buckets.count


@dataclass(frozen=True, eq=False, kw_only=True)
class PartState(LeafState):
    """Leaf state with the parts that are tested as one group.

    Attributes
    ----------
    tried
        Places of the records of each part, by task.
    """

    tried: tuple[tuple[Sources, ...], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockState(LeafState):
    """Leaf state with the blocks whose records are grouped together.

    Attributes
    ----------
    blocks
        Places of the records of each block.
    counts
        Number of groups of each block, once they are made.
    kept_values
        Moments of the numbers that decide on the release; None if all do.
    shift
        Shift of the centroids; None if they are published unchanged.
    ends
        Bounds of numbers, on z-scores of the values that decide on the release.
    solved
        Numbers whose centroids their own program determines, in place of the shift.
    """

    blocks: tuple[Sources, ...]
    counts: tuple[int, ...] = ()
    kept_values: PublishedMoments | None = field(default=None, repr=False)
    shift: Shift | None = None
    ends: Bounds | None = field(default=None, repr=False)
    solved: tuple[int, ...] = ()

    @property
    def constant(self) -> Bool:
        """Mask (p,) of the numbers that have only one published value."""
        if self.kept_values is None:
            return self.scale.constant
        return np.asarray(self.scale.constant | self.kept_values.scale.constant)


class ShiftEnd(NamedTuple):
    """Result of the program of an attribute."""

    status: Status
    objective: float
    bound: float
    evaluations: int
    seconds: float

    def certificate(self, missed: float) -> Certificate:
        """Return the certificate of centroids that miss kept moments by `missed`."""
        bound = max(self.bound, 0.0)
        status = self.status
        size = choose_gap_size(self.objective, VARIANCE)
        if status is Status.OPTIMAL and not is_gap_closed(self.objective, bound, size):
            status = Status.UNPROVEN  # it was content with less
        return Certificate(
            status,
            self.objective,
            bound,
            missed,
            SOLVER,
            self.seconds,
            iterations=self.evaluations,
            size=size,
        )
