"""What all tasks of a run know: no record; of values levels, scales and cuts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aggopt.aggregate._bounds import Bounds
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.encoding._clock import Clock
from aggopt.engine.reduce.published_moments import PublishedMoments
from aggopt.engine.steps.category_levels import Levels
from aggopt.engine.steps.missing_buckets import PatternBuckets
from aggopt.engine.steps.split_tree import SplitTree
from aggopt.engine.storage.bucket_refs import ShuffleRegion, Sources
from aggopt.engine.storage.input_parts import InputPart
from aggopt.job import Job


@dataclass(frozen=True, eq=False)
class Shift:
    """How group means become what is published, all on z-scores: (c - centre) map."""

    centre: Floats = field(repr=False)
    map: Floats = field(repr=False)

    def of(self, c: Floats) -> Floats:
        """Return the published centroids of means c (m, d)."""
        moved = np.zeros_like(c)
        for j, row in enumerate(self.map):  # in one order, whatever m is
            moved += np.nan_to_num(c[:, j] - self.centre[j])[:, None] * row
        return np.where(np.isnan(c), np.nan, moved)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunState:
    """What the tasks of the first pass are told beside their number.

    Attributes
    ----------
    job, pieces
        What was asked, and of which files.
    columns
        What is read: all columns that are published.
    work, public, private
        Folders: of files in between, of the release, and of its key.
    parts
        How many files the release has.
    secret
        Where the order of the released records comes from.
    rate
        The share of records of which the tree is made.
    reasons
        Why the job has what nobody wrote into it.
    strata
        Where it stands which strata there are; None where no column has the role.
    mean_weight
        Of all sampling weights; None where there are none, or none that differ.
    whole
        Where it stands what is asked of confidential values beside those of all other
        records; None where it is asked of each group alone.
    deals
        What the tasks of second steps read, by the step whose files those are.
    categories
        The quasi-identifiers that are no numbers, in their order.
    levels
        Those of each of them in the whole table, once they are counted.
    dates, clocks
        The numbers that are dates or times, and what each of them counts.
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

    @property
    def numbers(self) -> tuple[str, ...]:
        """The other quasi-identifiers."""
        names = self.job.roles.quasi_identifier
        return tuple(name for name in names if name not in self.categories)

    @property
    def places(self) -> list[int]:
        """Where those stand among the quasi-identifiers, from 0."""
        names = self.job.roles.quasi_identifier
        return [names.index(name) for name in self.numbers]

    @property
    def places_of_categories(self) -> list[int]:
        """Where the others stand."""
        names = self.job.roles.quasi_identifier
        return [names.index(name) for name in self.categories]

    def at(self, step: str, number: int) -> Path:
        """Return the file in between that a step has of this number."""
        return self.work / f"{step}-{number:06d}"

    def all(self, step: str, count: int) -> list[Path]:
        """Return those of a step, in order."""
        return [self.at(step, number) for number in range(count)]

    def part(self, number: int) -> Path:
        """Return a file of the release."""
        return self.public / f"part-{number:05d}.parquet"

    def key(self, number: int) -> Path:
        """Return the key of a file of the release."""
        return self.private / f"key-{number:05d}.parquet"


@dataclass(frozen=True, eq=False, kw_only=True)
class LeafState(RunState):
    """The same, and how records are standardised and cut into leaves.

    Attributes
    ----------
    buckets
        The leaves of each pattern of missing values; None where all have the same.
    """

    scale: Scale = field(repr=False)
    tree: SplitTree = field(repr=False)
    buckets: PatternBuckets | None = field(default=None, repr=False)

    @property
    def leaves(self) -> int:
        """How many there are."""
        return self.tree.leaves if self.buckets is None else self.buckets.count


@dataclass(frozen=True, eq=False, kw_only=True)
class PartState(LeafState):
    """The same, and which records are tried as one group.

    Attributes
    ----------
    tried
        Where the records of each part are, of each task.
    """

    tried: tuple[tuple[Sources, ...], ...]


@dataclass(frozen=True, eq=False)
class Border:
    """How groups near a cut of the first tree are looked at again.

    Attributes
    ----------
    tree
        That cuts elsewhere.
    within
        How near a cut their means lie.
    parts
        How many blocks there are at first.
    staying
        How many of them have groups that stay; those come before the other blocks.
    """

    tree: SplitTree
    within: float
    parts: int
    staying: int


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockState(LeafState):
    """The same, and which records are grouped together.

    Attributes
    ----------
    blocks
        Where the records of each block are.
    border
        How those at the borders of blocks are looked at again; None where they are not.
    counts
        How many groups each block has, once they are made.
    kept_values
        What the numbers have that decide what is published; None where all do.
    shift
        How centroids are moved; None where they are published as they are.
    ends
        Bounds of numbers, on z-scores of the values that decide what is published.
    solved
        Which numbers have centroids of a program of their own, whatever the shift.
    """

    blocks: tuple[Sources, ...]
    border: Border | None = field(default=None, repr=False)
    counts: tuple[int, ...] = ()
    kept_values: PublishedMoments | None = field(default=None, repr=False)
    shift: Shift | None = None
    ends: Bounds | None = field(default=None, repr=False)
    solved: tuple[int, ...] = ()

    @property
    def constant(self) -> Bool:
        """Which numbers have one value only, (p,), of those that are published."""
        if self.kept_values is None:
            return self.scale.constant
        return np.asarray(self.scale.constant | self.kept_values.scale.constant)


@dataclass(frozen=True, eq=False, kw_only=True)
class BorderState(BlockState):
    """The same, where groups near a cut are looked at again."""

    border: Border = field(repr=False)
