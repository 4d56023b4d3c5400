"""From published values to what is known of them: rounded, audited and measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.errors import TableError
from aggopt.measure import WHOLE, Assessment, Measure
from aggopt.pipeline.finish.measures import find_complete, measure_if_varying
from aggopt.pipeline.finish.original_comparison import compare_originals
from aggopt.pipeline.finish.rounding import round_release
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, progress_or_noop
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.audit.changes import WaveChanges
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.audit.dominance import make_dominance_requirements
from aggopt.release.audit.originals import Originals
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
        What was counted in the table, with the linkage, if the job limits it.
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
    """Do nothing: a trial may break what is required."""


def evaluate(
    given: PartitionedTable,
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
    report = progress_or_noop(on_progress)
    report("audit", 0.0)
    released = round_release(given, values)
    originals = compare_originals(
        given.whole, released.matrix(), given.job.output, given.table
    )
    audit = audit_before_writing(given, released, originals)
    check(audit)
    report("measure", 0.0)
    wanted = given.asked if requests is None else dict(requests)
    measures = measure_if_varying(
        given.table, released, wanted, extra, whole=linked_at_once
    )
    complete = find_complete(given.whole, originals.after)
    of_all = measures is not None and complete.all()
    linkage = measures.linkage if measures is not None and of_all else None
    audit = audit.with_linkage(given.job.privacy, linkage)
    check(audit)
    return Evaluation(released, originals, audit, measures, complete)


def audit_before_writing(
    given: PartitionedTable, tried: Table, both: Originals | None = None
) -> Audit:
    """Return the audit of a release with this table.

    In a table of units each record is a unit.  With `both`, the values before and after
    masking, the audit also compares them.
    """
    job, units = given.job, given.units
    return audit_release(
        tried.frame.to_native(),
        job.roles,
        job.privacy,
        partition_names(given.blocks, job),
        decimal=job.input.decimal,
        originals=both,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=units.of if units and units.records is None else None,
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=make_dominance_requirements(job, given.weights_of_values),
    )


SAME_VALUES = (
    "the values of a group differ as written, so they show smaller groups: let each "
    "group publish one value per attribute, with another method under [aggregation]."
)


def count_changes_as_written(
    given: PartitionedTable, released: Table
) -> WaveChanges | None:
    """Return what the values that will be written show.

    Raises
    ------
    PrivacyError
        They show values of fewer than k, though their groups do not.
    """
    if given.wave is None:
        return None
    names = given.job.combination
    labels = combine_codes(encode_entries(released.frame[name]) for name in names)
    found = given.wave.counted(labels, given.strata)
    found.changes.require(SAME_VALUES)
    return found
