"""Facts of a report: a release, and its originals if they are available."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from aggopt.core.types import F64, Labels
from aggopt.data.context.weights import read_sampling_weights
from aggopt.data.parsing.entries import Values, make_entry_reader
from aggopt.data.table import Table
from aggopt.job import Job
from aggopt.measure.criteria import Criteria
from aggopt.measure.safe_figures import FEW
from aggopt.measure.types import means_by_kind
from aggopt.partition.registry import PARTITIONERS, Objective
from aggopt.privacy.requirement import Check
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.figures.distributions import LONG, counts_dates, read_plain_numbers
from aggopt.solvers import Certificate


@dataclass(frozen=True, eq=False)
class ReportedColumn:
    """Values of an attribute; nan if missing.

    Attributes
    ----------
    name
        Name of the attribute.
    before, after
        Originals and released values (n,), dates in days since 1970, times and lengths
        in hours; `before` is None without the originals.
    unit
        What 1 is; nothing for numbers, whose unit the table has.
    dated
        Whether these are dates.
    """

    name: str
    before: F64 | None = field(repr=False)
    after: F64 = field(repr=False)
    unit: str = ""
    dated: bool = False

    @property
    def both(self) -> tuple[F64, F64] | None:
        """Originals and released values of records that miss neither, (m,)."""
        if self.before is None:
            return None
        is_present = ~(np.isnan(self.before) | np.isnan(self.after))
        return self.before[is_present], self.after[is_present]


def make_reported_column(
    name: str, original: Table | None, released: Table
) -> ReportedColumn:
    """Return a numeric attribute of both tables."""
    before = None if original is None else read_plain_numbers(original, name)
    after = read_plain_numbers(released, name)
    if name not in released.clocks:
        return ReportedColumn(name, before, after)
    dated = counts_dates(released.clocks[name])
    unit = "days" if dated else "hours"
    if before is not None:
        before = before / LONG[unit]
    return ReportedColumn(name, before, after / LONG[unit], unit, dated)


Result = TypeVar("Result")
BY_JOB = "the job that made the file"
BY_MANIFEST = "its manifest alone, which was compared with no job"
BY_BOTH = "its manifest, and by the job that this was compared with"


@dataclass(frozen=True)
class Loss:
    """Shares of the sums of squares that are lost.

    Attributes
    ----------
    overall
        Share of all masked attributes, which have equal weights.
    numbers, categories
        Shares of the numbers and of the categories alone; None if none of them varies.
    """

    overall: float
    numbers: float | None
    categories: float | None


@dataclass(frozen=True, eq=False)
class Private:
    """Facts of a private report.

    Attributes
    ----------
    notes
        Those of the release.
    made
        How it was made, by name: the seed, the hash of the input.
    rows
        Number of each record in the table that was masked, from 0; None if no record
        was left out.
    """

    notes: tuple[str, ...]
    made: Mapping[str, str]
    rows: Labels | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Facts:
    """A release as a report sees it.

    Attributes
    ----------
    title
        Name of the release.
    released, original
        The two tables in one order of records; without the original the report compares
        nothing.
    job
        The job of the release.
    audit
        Counts: of the file, if `sha256` is its hash.
    measures
        As `Assessment.to_dict` has them; None if nothing was measured.
    certificates, groups
        Certificates of published values and of groups, by attribute.
    made
        When, in ISO 8601, and the version of the package: (day, version).
    loss
        The information loss, if it is the only measure.
    unchanged
        How many records have all masked values as in the originals; None if not
        counted.
    filled, suppressed
        Number of missing values that were filled in, and of values left out, by column.
    rare
        How many published categories fewer than k originals have, by column.
    stated
        Requirements that only the manifest states: the release does not show them.
    promised_by
        What states the requirements that were counted, in words.
    private
        Facts for the office; None in a report for the public.
    promise_costs
        Notes on what requirements cost in groups, at least and here.
    unlinked
        Why no attack that links records was run, if another reason than the records.
    criteria
        Singling out, linkability and inference; None without a control.
    """

    title: str
    released: Table = field(repr=False)
    original: Table | None = field(repr=False)
    job: Job
    audit: Audit
    measures: Mapping[str, Any] | None
    certificates: Mapping[str, Certificate]
    groups: Mapping[str, Certificate]
    made: tuple[str, str]
    promised_by: str = BY_JOB
    sha256: str | None = None
    loss: Loss | None = None
    unchanged: int | None = None
    filled: Mapping[str, int] = field(default_factory=dict)
    suppressed: Mapping[str, int] = field(default_factory=dict)
    rare: Mapping[str, int] = field(default_factory=dict)
    stated: tuple[Check, ...] = ()
    private: Private | None = None
    promise_costs: tuple[str, ...] = ()
    unlinked: str = ""
    criteria: Criteria | None = None
    _results: dict[Callable[["Facts"], Any], Any] = field(
        default_factory=dict, init=False, repr=False
    )

    def once(self, find: Callable[["Facts"], Result]) -> Result:
        """Return the result of a function of these facts, which is called once."""
        if find not in self._results:
            self._results[find] = find(self)
        result: Result = self._results[find]
        return result

    @property
    def few(self) -> bool:
        """Whether the page is for the public, and has too few records for figures."""
        return self.private is None and len(self.released.frame) < FEW

    @property
    def shown(self) -> "Facts":
        """These facts, without originals and measures if the records are too few."""
        if not self.few:
            return self
        return replace(
            self,
            original=None,
            measures=None,
            loss=None,
            unchanged=None,
            promise_costs=(),
            criteria=None,
        )

    @property
    def information_loss(self) -> Loss | None:
        """The information that was lost; None if nothing was measured."""
        measures = self.measures
        if measures is None:
            return self.loss
        return Loss(measures["il"], *means_by_kind(measures, "il"))

    @property
    def group_loss(self) -> str:
        """The loss that the certificates of the groups state, in words."""
        method = self.job.partition.method
        objective = method in PARTITIONERS and PARTITIONERS[method].objective
        return (
            "generalised loss"
            if objective is Objective.GENERALISED
            else "squared error"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers, which were masked."""
        return self.job.roles.quasi_identifier

    @cached_property
    def labels(self) -> Labels:
        """Which published combination each record has, (n,)."""
        frame = self.released.frame
        return combine_codes(
            encode_entries(frame[name]) for name in self.job.combination
        )

    @cached_property
    def sizes(self) -> Labels:
        """Records of each published combination."""
        return np.bincount(self.labels)

    @cached_property
    def columns(self) -> dict[str, ReportedColumn]:
        """The quasi-identifiers that are numbers or dates, before and after.

        Numbers that publish true statements are left out: they have no mean.
        """
        spans = self.released.spans
        numeric = [name for name in self.released.numeric if name not in spans]
        return {
            n: make_reported_column(n, self.original, self.released) for n in numeric
        }

    @property
    def recoded(self) -> tuple[str, ...]:
        """The masked numbers that were recoded: their moments are of recoded values."""
        sections = self.job.attributes
        return tuple(
            name
            for name in self.columns
            if name in sections and sections[name].is_recoded
        )

    @cached_property
    def outcomes(self) -> dict[str, F64]:
        """Confidential numbers, which are published unchanged, by name: (n,).

        Of a CSV file the columns that spell numbers; nan if one is missing.
        """
        frame = self.released.frame
        entry = make_entry_reader(self.job.input.decimal)
        names = self.job.roles.confidential
        values = {name: Values.of(frame[name], entry) for name in names}
        numbers = {
            n: column for n, column in values.items() if not column.count(_is_no_number)
        }
        return {n: column.all.astype(np.float64) for n, column in numbers.items()}

    @cached_property
    def weights(self) -> F64 | None:
        """The sampling weights (n,) of the originals, or else of the file.

        None where neither has any.
        """
        for table in filter(None, (self.original, self.released)):
            if {*table.roles.weight} & {*table.frame.columns}:
                weights = read_sampling_weights(table)
                return None if weights is None else weights.values
        return None

    @property
    def what(self) -> str:
        """What k counts: "record" or "unit"."""
        return self.audit.whole.what


def _is_no_number(value: Any) -> bool:
    return value is not None and type(value) not in (int, float)
