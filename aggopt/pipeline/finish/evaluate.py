"""Round, audit and measure published values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.encoding import Domain
from aggopt.encoding.clock import Clock
from aggopt.errors import TableError
from aggopt.job import Output
from aggopt.measure import WHOLE, Assessment, Measure
from aggopt.pipeline.finish.measures import find_complete, measure_if_varying
from aggopt.pipeline.finish.rounding import choose_time_step, round_release
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, read_progress
from aggopt.pipeline.prepare.published_grid import choose_decimals
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.audit.changes import WaveChanges
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.audit.dominance import make_dominance_requirements
from aggopt.release.audit.originals import GRID, Originals
from aggopt.release.block_names import partition_names


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Published values as they will be written, with their audit and their measures.

    Attributes
    ----------
    released
        The table that publishes the values, rounded.
    originals
        The quasi-identifiers before and after masking.
    audit
        The counts in the table, with the linkage, if the job limits it.
    measures
        None if no quasi-identifier varies among the complete records.
    complete : (n,)
        Which records miss nothing, before and after.
    """

    released: Table = field(repr=False)
    originals: Originals = field(repr=False)
    audit: Audit
    measures: Assessment | None
    complete: Bool = field(repr=False)

    def require_measures(self) -> Assessment:
        """Return the measures.

        Raises
        ------
        TableError
            No quasi-identifier varies among the complete records.
        """
        if self.measures is None:
            raise TableError(
                f"No quasi-identifier varies among the {int(self.complete.sum())} "
                "records of which nothing is missing: there is nothing to measure.",
                fix="pass a table with at least two complete records that differ.",
            )
        return self.measures


def ignore_audit(audit: Audit) -> None:
    """Do nothing: a trial may violate requirements."""


def evaluate(
    partitioned: PartitionedTable,
    values: Floats,
    *,
    requests: Mapping[str, Floats] | None = None,
    linked_at_once: int = WHOLE,
    extra: Mapping[str, Measure] = MappingProxyType({}),
    check: Callable[[Audit], None] = ignore_audit,
    on_progress: Progress | None = None,
) -> Evaluation:
    """Return the evaluation of the values (n, d) that groups of a table publish.

    `requests` take the place of the records' own.  More than `linked_at_once` records
    are linked in blocks, and `extra` are the user's measures.  `check` gets the audit
    before anything is measured, and again with the linkage: `Audit.require` refuses a
    release as early as it can.

    Raises
    ------
    TableError
        As `measure_release`, and whatever `check` raises.
    """
    report = read_progress(on_progress)
    report("audit", 0.0)
    released = round_release(partitioned, values)
    originals = compare_originals(
        partitioned.whole, released.matrix(), partitioned.job.output, partitioned.table
    )
    audit = audit_before_writing(partitioned, released, originals)
    check(audit)
    report("measure", 0.0)
    wanted = partitioned.asked if requests is None else dict(requests)
    measures = measure_if_varying(
        partitioned.table, released, wanted, extra, linked_at_once=linked_at_once
    )
    complete = find_complete(partitioned.whole, originals.after)
    of_all = measures is not None and complete.all()
    linkage = measures.linkage if measures is not None and of_all else None
    audit = audit.with_linkage(partitioned.job.privacy, linkage)
    check(audit)
    return Evaluation(released, originals, audit, measures, complete)


def audit_before_writing(
    partitioned: PartitionedTable, tried: Table, both: Originals | None = None
) -> Audit:
    """Return the audit of a release with this table.

    In a table of units each record is a unit.  With `both`, the values before and after
    masking, the audit also compares them.
    """
    job, units = partitioned.job, partitioned.units
    return audit_release(
        tried.frame.to_native(),
        job.roles,
        job.privacy,
        partition_names(partitioned.blocks, job),
        decimal=job.input.decimal,
        originals=both,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=units.of if units and units.records is None else None,
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=make_dominance_requirements(job, partitioned.weights_of_values),
    )


SAME_VALUES = (
    "the values of a group differ as written, so they show smaller groups: let each "
    "group publish one value per attribute, with another method under [aggregation]."
)


def count_changes_as_written(
    partitioned: PartitionedTable, released: Table
) -> WaveChanges | None:
    """Return the changes that the values to be written show.

    Raises
    ------
    PrivacyError
        They show values of fewer than k, though their groups do not.
    """
    if partitioned.wave is None:
        return None
    names = partitioned.job.combination
    labels = combine_codes(encode_entries(released.frame[name]) for name in names)
    counted = partitioned.wave.counted(labels, partitioned.strata)
    counted.changes.require(SAME_VALUES)
    return counted


def compare_originals(
    before: Floats, after: Floats, output: Output, table: Table | None = None
) -> Originals:
    """Return quasi-identifiers before and after masking, both (n, d), with the step.

    That is half a step of the grid of published numbers, or `GRID` if larger. Without a
    table, all attributes are plain numbers.
    """
    steps = np.zeros(before.shape[1])
    places = list(range(len(steps))) if table is None else table.places
    clocks = {} if table is None else _collect_clocks(table)
    if places:
        spreads = Scale.of(before[:, places]).spread.tolist()
        steps[places] = [
            compute_rounding_distance(spread, output, clocks.get(j))
            for j, spread in zip(places, spreads, strict=True)
        ]
    lengths = {j for j, clock in clocks.items() if pa.types.is_duration(clock.type)}
    dates = tuple(sorted({*clocks} - lengths))
    domains = {} if table is None else _collect_domains(table)
    return Originals(
        before, after, steps, tuple(places), dates, tuple(lengths), domains
    )


def _collect_domains(table: Table) -> dict[int, Domain]:
    names = table.roles.quasi_identifier
    return {names.index(name): domain for name, domain in table.domains.items()}


def _collect_clocks(table: Table) -> dict[int, Clock]:
    names = table.roles.quasi_identifier
    return {names.index(name): clock for name, clock in table.clocks.items()}


def compute_rounding_distance(
    spread: float, output: Output, clock: Clock | None
) -> float:
    """Return how far rounding may move a value of an attribute of this spread."""
    return max(GRID * spread, _compute_half_step(spread, output, clock))


def _compute_half_step(spread: float, output: Output, clock: Clock | None) -> float:
    if clock is not None:
        return 0.5 * choose_time_step(clock, spread, output)
    place = choose_decimals(spread, output) if spread else None
    return 0.0 if place is None else 0.5 * float(f"1e{-place}")
