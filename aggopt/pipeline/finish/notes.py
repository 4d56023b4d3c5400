"""Notes of a release: what its user should know of the published values."""

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.deadline import LONGEST
from aggopt.core.plural import plural
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.errors import attribute_sections
from aggopt.job import Job
from aggopt.job.earlier_section import EarlierGroups
from aggopt.measure import Assessment
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.validate.infeasibility import explain_single_group
from aggopt.pipeline.waves.wave import LaterWave
from aggopt.release.block_names import partition_certificates, partition_names
from aggopt.solvers import Certificate, Status


def explain_stop(certificate: Certificate, job: Job) -> str:
    """Return the reason why optimality is not proven, if the job has no limit."""
    how = job.aggregation
    stopped = certificate.judge and certificate.status.is_open
    if not stopped or getattr(how, "time_limit", None) or getattr(how, "options", None):
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


def note_on_uncounted_changes(job: Job, given: LaterWave | None) -> tuple[str, ...]:
    """Say that changes were not counted, where the job names no earlier table."""
    if given is not None or not isinstance(job.partition, EarlierGroups):
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


NAMES = (nw.String, nw.Categorical, nw.Enum)  # types whose entries may span lines


def note_on_certificates(
    given: PartitionedTable, certificates: dict[str, Certificate]
) -> list[str]:
    """Note constant attributes, open or claimed certificates, and a single group."""
    constant = given.constant
    notes = [
        f"{name!r} has one value only: kept as it is, weight zero."
        for name, same in zip(given.job.roles.quasi_identifier, constant, strict=True)
        if same
    ]
    grouped = partition_certificates(given.blocks, given.job)
    of_groups = {f"groups of {name}": grouped[name] for name in grouped}
    notes += [
        f"{name!r}: {certificate.solver} {certificate.status}."
        f"{explain_stop(certificate, given.job)}"
        for name, certificate in (of_groups | certificates).items()
        if certificate.status in CUT_SHORT
    ]
    notes += [
        f"{name!r}: the bound {certificate.claimed}, and is not proven."
        for name, certificate in (of_groups | certificates).items()
        if certificate.claimed
    ]
    return [*notes, *_note_on_single_group(given, constant)]


def note_on_index(given: PartitionedTable) -> list[str]:
    """Say that the index of a pandas table is kept, if it is."""
    if not given.table.keeps_index:
        return []
    return [
        "The index of the pandas table is kept in release.table, with all that it says "
        "of records; written files have none."
    ]


def _note_on_single_group(given: PartitionedTable, constant: Bool) -> list[str]:
    """Return a note if all records have one value although the originals differ."""
    n = len(given.whole)
    if n < 2 * given.job.privacy.k:
        return [f"All {n} records form one group: there are fewer than 2k."]
    alone = given.blocks[0].groups == 1
    why = explain_single_group(given.held, given.job.privacy) if alone else None
    if why:
        return [f"{why.problem} To fix: {why.fix}"]
    return [
        f"{', '.join(map(repr, names))}: all {n} records form one group."
        for names, block in zip(
            partition_names(given.blocks, given.job), given.blocks, strict=True
        )
        if block.groups == 1 and not constant[list(block.columns)].all()
    ]


def note_on_incomplete_records(rows: Bool, measures: Assessment | None) -> list[str]:
    """Say how many records (n,) the measures are of, if not of all."""
    if rows.all():
        return []
    what = "Linkage, disclosure, loss and satisfaction are "
    of = f"of {len(rows)} records of which nothing is missing, before and after"
    proofs = "certificates are of all values that are there."
    if measures is None:
        return [f"{what}not measured: there are {rows.sum()} {of}; {proofs}"]
    return [f"{what}measured on the {rows.sum()} {of}; {proofs}"]


def note_on_spanning_entries(released: Table, job: Job) -> list[str]:
    """Return notes on the setting that reads CSV entries that span several lines."""
    if job.input.multiline:
        return []
    columns = ((name, released.frame[name]) for name in released.frame.columns)
    text = [(name, c.cast(nw.String)) for name, c in columns if c.dtype in NAMES]
    return [
        f"{name!r}: {plural(count, 'entry', 'entries')} span several lines: of a CSV "
        "file aggopt reads them only with multiline = true under [input]."
        for name, column in text
        if (count := int(column.str.contains("[\r\n]").sum()))
    ]


def note_on_exceeded_ranges(given: PartitionedTable, Y: Floats) -> list[str]:
    """Return a note on values Y (n, p) outside the originals' range, with a remedy."""
    lowest, highest = np.fmin.reduce(given.X), np.fmax.reduce(given.X)
    counts = ((lowest > Y) | (highest < Y)).sum(axis=0)
    if not counts.any():
        return []
    beyond = ", ".join(
        f"{name!r} {count}"
        for name, count in zip(given.names, counts, strict=True)
        if count
    )
    said = (
        f"Released values outside the range of the originals, of {len(Y)} each: "
        f"{beyond}."
    )
    clocks = given.table.clocks
    negative = [
        name
        for j, name in enumerate(given.names)
        if name not in clocks and lowest[j] >= 0 and (Y[:, j] < 0).any()
    ]
    if negative:
        said += (
            f" Below 0, where no original is: {', '.join(map(repr, negative))}; "
            f"lower = 0 under {attribute_sections(negative)} keeps values from 0 up."
        )
    return [said]


MERGING = (
    "Groups are merged until no record dominates one, which can lose several times as "
    "much as groups that keep it from the start: in memory, without missing values, "
    'method = "local_search" makes such groups.'
)


def note_on_sampling_weights(job: Job, weights: Floats | None) -> list[str]:
    """Return a note on the use of weights; nothing if all weights are equal."""
    if weights is None:
        return []
    method = PARTITIONERS.of(job.partition)
    made = (
        "groups, means and losses are by weight"
        if method.weighs
        else f"means and losses are by weight; {method.name!r} makes groups without "
        "weights, of which the certificate says the weighted loss"
    )
    (name,) = job.roles.weight
    counted = "units" if job.roles.unit else "records"
    said = f"{name!r} weighs records: {made}. k counts {counted}, whatever they weigh."
    return [said, *([MERGING] if _merges_for_dominance(job) else [])]


def _merges_for_dominance(job: Job) -> bool:
    """Whether groups are merged for the weights, and for nothing else."""
    repair, only = job.privacy.repair, not (job.privacy.models or job.roles.unit)
    merges = repair is not None and repair.method == "merge"
    return merges and only and job.weights.dominance < 1
