"""Notes of a release on its values, its certificates and its loss."""

from collections.abc import Mapping
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.column_names import list_confusable_names
from aggopt.core.deadline import LONGEST
from aggopt.core.plural import format_percent, plural
from aggopt.core.types import Bool, Floats
from aggopt.data.context.units import find_repeated_identifiers
from aggopt.data.parsing.recoding import describe_recodings
from aggopt.data.table import Table
from aggopt.encoding.typed_column import WORDS
from aggopt.errors import PrivacyError, attribute_sections
from aggopt.job import Job, Measures
from aggopt.job.earlier_section import EarlierGroups
from aggopt.measure import Assessment
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.aggregate import margins
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable
from aggopt.pipeline.aggregate.table_parts import describe_strata
from aggopt.pipeline.finish.evaluate import Evaluation
from aggopt.pipeline.finish.promise_costs import describe_promise_costs
from aggopt.pipeline.finish.rounding_notes import describe_rounding_effects
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.validate.infeasibility import explain_single_group
from aggopt.pipeline.waves.wave import LaterWave
from aggopt.release.audit.changes import WaveChanges
from aggopt.release.manifest import Drift, partition_certificates, partition_names
from aggopt.solvers import Certificate, Status


class ReleaseNotes(NamedTuple):
    """Notes of a release, the urgent ones first and the trivial ones last.

    Attributes
    ----------
    all
        The notes in their order.
    urgent, trivial
        How many of them are urgent, and how many are trivial.
    """

    all: tuple[str, ...]
    urgent: int
    trivial: int


def collect_notes(
    partitioned: PartitionedTable,
    aggregated: AggregatedTable,
    evaluation: Evaluation,
    drifts: Mapping[str, Drift],
    wave: WaveChanges | None,
) -> ReleaseNotes:
    """Return the texts of all notes on a release; refuse an excessive loss.

    `drifts` are the changes by rounding, and `wave` those that a later wave shows.
    """
    job = partitioned.job
    table = partitioned.table
    audit = evaluation.audit
    measures = evaluation.measures
    published = evaluation.originals.after
    numbers = partitioned.of_numbers(published)
    changes = (
        describe_uncounted_changes(job, partitioned.wave)
        if wave is None
        else (wave.note,)
    )
    about_margins = margins.describe_margins(partitioned)
    urgent = (
        *audit.disclosures,
        *audit.impossible,
        *(note for note in about_margins if note not in margins.HARMLESS),
        *changes,
        *map(str, find_repeated_identifiers(table)),
        *describe_exceeded_ranges(partitioned, numbers),
        *describe_loss(measures, job.measures),
        *(partitioned.strata.notes if partitioned.strata else ()),
        *audit.missing_notes,
        *describe_incomplete_records(evaluation.complete, measures),
    )
    others = (
        *describe_certificates(partitioned, aggregated.certificates),
        *describe_promise_costs(partitioned),
        *audit.notes,
        *aggregated.notes,
        *margins.describe_nearer_values(partitioned, numbers),
        *describe_rounding_effects(partitioned, aggregated.values, published, drifts),
        *describe_spanning_entries(evaluation.released, job),
        *describe_sampling_weights(job, partitioned.weights),
        *describe_strata(job, partitioned.strata),
        *about_margins,
    )
    trivial = (
        *partitioned.reasons,
        *describe_recodings(job.attributes, in_parts=False),
        *list_confusable_names(table.frame.columns),
        *describe_index(partitioned),
    )
    notes = (*urgent, *(note for note in others if note not in urgent), *trivial)
    return ReleaseNotes(notes, len(urgent), len(trivial))


def explain_stop(certificate: Certificate, job: Job) -> str:
    """Return a text on why optimality is not proven, if the job has no limit."""
    aggregation = job.aggregation
    stopped = certificate.judge and certificate.status.is_open
    if (
        not stopped
        or getattr(aggregation, "time_limit", None)
        or getattr(aggregation, "options", None)
    ):
        return ""
    if certificate.status is Status.LIMIT:
        return (
            " The job names no limit: it is one of the solver's own, or that of "
            f"{LONGEST:g} seconds."
        )
    return (
        " The job names no limit: the solver ended by itself, and nothing shows that "
        "no values are better. Its word is taken where each variable has bounds, no "
        "number of the program is tiny or huge, and its gap is 1e-6 or less."
    )


def describe_uncounted_changes(
    job: Job, later_wave: LaterWave | None
) -> tuple[str, ...]:
    """Return a note that changes between waves were not counted, if so."""
    if later_wave is not None or not isinstance(job.partition, EarlierGroups):
        return ()
    return (
        "Whose values changed since the earlier release was not counted: who has both "
        "files computes a single change in a group. Name the earlier table, earlier = "
        '"FILE" under [partition].',
    )


CUT_SHORT = (
    Status.GAP,
    Status.UNPROVEN,
    Status.LIMIT,
    Status.FALLBACK,
    Status.UNANSWERED,
)


def describe_certificates(
    partitioned: PartitionedTable, certificates: dict[str, Certificate]
) -> list[str]:
    """Return notes on constant attributes, unproven bounds and single groups."""
    constant = partitioned.constant
    notes = [
        f"{name!r} has one value only: kept as it is, weight zero."
        for name, same in zip(
            partitioned.job.roles.quasi_identifier, constant, strict=True
        )
        if same
    ]
    grouped = partition_certificates(partitioned.blocks, partitioned.job)
    of_groups = {f"groups of {name}": grouped[name] for name in grouped}
    notes += [
        f"{name!r}: {certificate.solver} {certificate.status}."
        f"{explain_stop(certificate, partitioned.job)}"
        for name, certificate in (of_groups | certificates).items()
        if certificate.status in CUT_SHORT
    ]
    notes += [
        f"{name!r}: the bound {certificate.claimed}, and is not proven."
        for name, certificate in (of_groups | certificates).items()
        if certificate.claimed
    ]
    if np.isnan(partitioned.whole).any():
        notes += [
            f"{name!r}: no bound is proven, because filled-in values formed the groups "
            "and their loss is that of the present values."
            for name, certificate in of_groups.items()
            if certificate.bound is None
        ]
    return [*notes, *_describe_single_group(partitioned, constant)]


def describe_index(partitioned: PartitionedTable) -> list[str]:
    """Return the text of a note if the index of a pandas table is kept."""
    if not partitioned.table.keeps_index:
        return []
    return [
        "The index of the pandas table is kept in release.table, with all that it says "
        "of records; written files have none."
    ]


def _describe_single_group(partitioned: PartitionedTable, constant: Bool) -> list[str]:
    """Return a note if all records have one value although the originals differ."""
    n = len(partitioned.whole)
    if n < 2 * partitioned.job.privacy.k:
        return [f"All {n} records form one group: there are fewer than 2k."]
    alone = partitioned.blocks[0].groups == 1
    why = (
        explain_single_group(partitioned.held, partitioned.job.privacy)
        if alone
        else None
    )
    if why:
        return [f"{why.problem} To fix: {why.fix}"]
    return [
        f"{', '.join(map(repr, names))}: all {n} records form one group."
        for names, block in zip(
            partition_names(partitioned.blocks, partitioned.job),
            partitioned.blocks,
            strict=True,
        )
        if block.groups == 1 and not constant[list(block.columns)].all()
    ]


def describe_incomplete_records(rows: Bool, measures: Assessment | None) -> list[str]:
    """Return a note on the number of complete records (n,), if not all are."""
    if rows.all():
        return []
    what = "Linkage, disclosure, loss and satisfaction are "
    counted = f"of {len(rows)} records of which nothing is missing, before and after"
    proofs = "certificates are of all values that are there."
    if measures is None:
        return [f"{what}not measured: there are {rows.sum()} {counted}; {proofs}"]
    return [f"{what}measured on the {rows.sum()} {counted}; {proofs}"]


def describe_spanning_entries(released: Table, job: Job) -> list[str]:
    """Return notes on columns whose entries span several lines of CSV."""
    if job.input.multiline:
        return []
    columns = ((name, released.frame[name]) for name in released.frame.columns)
    text = [(name, c.cast(nw.String)) for name, c in columns if c.dtype in WORDS]
    return [
        f"{name!r}: {plural(count, 'entry spans', 'entries span')} several lines: of a "
        "CSV file aggopt reads them only with multiline = true under [input]."
        for name, column in text
        if (count := int(column.str.contains("[\r\n]").sum()))
    ]


def describe_exceeded_ranges(partitioned: PartitionedTable, Y: Floats) -> list[str]:
    """Return a note on values Y (n, p) outside the originals' range, with a remedy."""
    lowest = np.fmin.reduce(partitioned.X)
    highest = np.fmax.reduce(partitioned.X)
    counts = ((lowest > Y) | (highest < Y)).sum(axis=0)
    counts[[name in partitioned.table.spans for name in partitioned.names]] = 0
    if not counts.any():
        return []
    beyond = ", ".join(
        f"{name!r} {count}"
        for name, count in zip(partitioned.names, counts, strict=True)
        if count
    )
    if not beyond:
        return []
    note = (
        f"Released values outside the range of the originals, of {len(Y)} each: "
        f"{beyond}."
    )
    clocks = partitioned.table.clocks
    negative = [
        name
        for j, name in enumerate(partitioned.names)
        if name not in clocks and lowest[j] >= 0 and (Y[:, j] < 0).any()
    ]
    if negative:
        note += (
            f" Below 0, where no original is: {', '.join(map(repr, negative))}; "
            f"lower = 0 under {attribute_sections(negative)} keeps values from 0 up."
        )
    return [note]


MERGING = (
    "Groups are merged until no record dominates one, which can lose several times as "
    "much as groups that keep it from the start: in memory, without missing values, "
    'method = "local_search" makes such groups.'
)


def describe_sampling_weights(job: Job, weights: Floats | None) -> list[str]:
    """Return the texts of notes on sampling weights; none if all are equal."""
    if weights is None:
        return []
    method = PARTITIONERS.of(job.partition)
    use = (
        "groups, means and losses are by weight"
        if method.weighs
        else f"means and losses are by weight; {method.name!r} makes groups without "
        "weights, of which the certificate says the weighted loss"
    )
    (name,) = job.roles.weight
    counted = "units" if job.roles.unit else "records"
    note = f"{name!r} weighs records: {use}. k counts {counted}, whatever they weigh."
    return [note, *([MERGING] if _is_merged_for_dominance(job) else [])]


def _is_merged_for_dominance(job: Job) -> bool:
    """Whether groups are merged only for the limit on a record's weight."""
    repair = job.privacy.repair
    only = not (job.privacy.models or job.roles.unit)
    merges = repair is not None and repair.method == "merge"
    return merges and only and job.weights.dominance < 1


NOTED = 0.8  # of the sum of squares: the rest tells little of single records
ADVICE = (
    "group fewer attributes together (attributes under [partition]), choose a smaller "
    "k, or another method; aggopt choose compares them"
)


def describe_loss(measures: Assessment | None, limits: Measures) -> list[str]:
    """Return a note on a loss above 80 %; refuse one above the job's limit.

    Raises
    ------
    PrivacyError
        The loss is larger than the job allows, or could not be measured.
    """
    problem = explain_excessive_loss(measures, limits)
    if problem is not None:
        way = "leave largest_loss out under [measures]" if measures is None else ADVICE
        raise PrivacyError(problem, fix=f"nothing was written; {way}.")
    if limits.largest_loss is not None or measures is None or measures.il <= NOTED:
        return []
    return [f"{_describe_measured_loss(measures)}. To lose less: {ADVICE}."]


def explain_excessive_loss(measures: Assessment | None, limits: Measures) -> str | None:
    """Return the text on a loss above the job's limit; None if within it."""
    limit = limits.largest_loss
    if limit is None:
        return None
    if measures is None:
        return (
            f"largest_loss = {limit:g} is asked for, and too few records are complete "
            "to measure the loss."
        )
    if measures.il <= limit:
        return None
    loss = _describe_measured_loss(measures)
    return f"{loss}, and largest_loss = {limit:g} allows {format_percent(limit)}."


def _describe_measured_loss(measures: Assessment) -> str:
    """Return the text of the information loss in percent."""
    return (
        f"The release loses {format_percent(measures.il)} of the sum of squares (IL) "
        "of "
        f"{plural(measures.n, 'record')}"
    )
