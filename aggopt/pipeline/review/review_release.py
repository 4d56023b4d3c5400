"""Read a written release again: recount it and measure it against the original."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv

from aggopt.core.regular_files import require_regular
from aggopt.core.types import Floats, Labels
from aggopt.data.context.strata import stratify
from aggopt.data.context.units import read_units
from aggopt.data.context.weights import read_sampling_weights, read_scaled_weights
from aggopt.data.readers.read import read_file, read_release_as_text
from aggopt.data.table import Table
from aggopt.errors import TableError
from aggopt.job import AttributeSection, Input, Job, Roles
from aggopt.measure import Assessment
from aggopt.measure.criteria import Criteria
from aggopt.pipeline.finish.evaluate import (
    compare_originals,
    find_complete,
    measure_if_varying,
)
from aggopt.pipeline.finish.notes import explain_excessive_loss
from aggopt.pipeline.prepare.job_settings import find_blocks
from aggopt.pipeline.prepare.record_requests import read_requests
from aggopt.pipeline.review import release_checks
from aggopt.pipeline.review.private_key import read_record_order, read_released_records
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.audit.dominance import (
    make_dominance_requirements,
    select_value_weights,
)
from aggopt.release.audit.risks import (
    RiskMeasures,
    measure_risks,
    replace_counted_risks,
)
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.manifest import block_names

CHANCE = 0.05  # kappa of categories in another order, but for luck
NUMERIC = "numeric"
NAMES = AttributeSection(kind="nominal")  # a release is read as its originals are

ReadTable = Callable[[Path, Roles, Input, Mapping[str, AttributeSection]], pa.Table]


class ReleaseSource(Protocol):
    """A written release and its original: two files, or two folders of files."""

    @property
    def same_order(self) -> bool:
        """Whether original and release are assumed to have one record order."""

    def tables(self, job: Job) -> tuple[Table, Table]:
        """Return the original and the released table, each in its own order."""

    def places(self, n: int) -> Labels:
        """Return the position of each of n original records in the release, (n,)."""

    def written(self, job: Job) -> pa.Table:
        """Return the released table as text, read without a key."""


@dataclass(frozen=True)
class TwoFiles:
    """A release in one file, its original in another; the key next to it."""

    original: Path
    released: Path
    same_order: bool = False
    private: Path | None = None

    def tables(self, job: Job) -> tuple[Table, Table]:
        """Return the original and the released table, each in its own order."""
        return read_original_and_release(
            self.original, self.released, job, self.private
        )

    def places(self, n: int) -> Labels:
        """Return the position of each of n original records in the release, (n,)."""
        files = ReleaseFiles.of_table(self.released, self.private)
        if self.same_order:
            release_checks.require_record_order(self.original, files, n)
            return np.arange(n)
        return find_places_by_key(self.original, files, n)

    def written(self, job: Job) -> pa.Table:
        """Return the released table as text, read without a key."""
        return read_release_as_text(self.released, job.released_input, job.roles)


@dataclass(frozen=True)
class Review:
    """The audit, measures and risks of a written release."""

    audit: Audit
    measures: Assessment | None
    same_order: bool = False  # taken for granted, with no key to show it
    unmeasured: str | None = None  # the reason why no measures exist, if any
    risks: RiskMeasures | None = None  # requested by [risk]
    loss: str | None = None  # why it is not what largest_loss allows
    criteria: Criteria | None = None  # measured with a control

    @property
    def holds(self) -> bool:
        """Whether the release satisfies all requirements and the limit of its loss."""
        return self.audit.holds and self.loss is None

    @property
    def warning(self) -> str | None:
        """The text of a warning on missing or doubtful measures, or None.

        It states why nothing was measured, or that the two tables can hardly be in
        equal order, so that the measures would compare wrong pairs.
        """
        if self.unmeasured is not None:
            return self.unmeasured
        sign = (
            _describe_disorder(self.measures)
            if self.same_order and self.measures
            else None
        )
        if sign is None:
            return None
        return (
            f"{sign}, as of records in different orders: if these are, no measure here "
            "but the counts of equal records means anything."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the review as plain values, ready for JSON."""
        return {
            "audit": self.audit.to_dict(),
            "measures": None if self.measures is None else self.measures.to_dict(),
            "warning": self.warning,
            **({} if self.risks is None else {"risk": self.risks.totals}),
            **({} if self.loss is None else {"largest_loss": self.loss}),
            **({} if self.criteria is None else {"criteria": self.criteria.to_dict()}),
        }


def assess_release(
    original: Path,
    released: Path,
    job: Job,
    *,
    same_order: bool = False,
    private: Path | None = None,
) -> Review:
    """Return the audit and the measures of a written release and its original.

    A release is shuffled.  Its private key, next to it or in the folder `private`,
    links its records to the originals.  With `same_order` the two files are assumed to
    have one record order, for a release of another program.  A manifest or key that
    contradicts this is not overruled.

    Raises
    ------
    TableError, JobError
        A file cannot be used; the two files are exchanged; the numbers of records
        differ; the key is missing or belongs to another release; or `same_order` is
        false by the manifest or the key.
    """
    return assess_source(TwoFiles(original, released, same_order, private), job)


def assess_source(source: ReleaseSource, job: Job) -> Review:
    """Return the audit and the measures of a release, read from files or folders."""
    first, beside, place = read_aligned(source, job)
    same_order = source.same_order
    written = source.written(job)
    audit = _audit_written(written, first, beside, np.argsort(place), job)
    requests = read_requests(first, first.matrix(), job)
    try:
        measures = measure_if_varying(first, beside, requests, job.measures.own)
    except TableError as error:  # the audit is available in any case
        message = f"Nothing but equal records was measured. {error.problem}"
        audit = audit.with_linkage(job.privacy, None)
        loss = explain_excessive_loss(None, job.measures)
        return Review(audit, None, same_order, message, loss=loss)
    counted = None if measures is None else replace_counted_risks(measures, audit)
    is_complete = find_complete(first.matrix(), beside.matrix()).all()
    linkage = measures.linkage if measures is not None and is_complete else None
    audit = audit.with_linkage(job.privacy, linkage)
    return Review(
        audit,
        counted,
        same_order,
        risks=measure_risks(first, beside, job),
        loss=explain_excessive_loss(measures, job.measures),
    )


def read_aligned(source: ReleaseSource, job: Job) -> tuple[Table, Table, Labels]:
    """Return the original, the release in its order, and the records' positions (n,).

    These are the place of each original record in the release (n,).
    """
    first, second = source.tables(job)
    place = source.places(len(first.frame))
    return first, replace(second, frame=second.frame[place.tolist()]), place


def _audit_written(
    written: Any, original: Table, beside: Table, order: Labels, job: Job
) -> Audit:
    """Return the audit of a written release, compared with its originals.

    `beside` is the released table in the order of the originals.
    """
    X = original.matrix()
    units = read_units(original)
    encoded = original.encode(job.partition.weights, read_scaled_weights(original))
    blocks = block_names(find_blocks(job, X if encoded is None else encoded), job)
    weights = read_shared_weights(original, beside)
    sampling = read_sampling_weights(original)
    return audit_release(
        written,
        job.roles,
        job.privacy,
        blocks,
        decimal=job.input.decimal,
        originals=compare_originals(
            *(X[order], beside.matrix()[order], job.output, original),
            replace(beside, frame=beside.frame[order.tolist()]),
            weights=None if sampling is None else sampling.values[order],
        ),
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=None if units is None else units[order],
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=make_dominance_requirements(
            job, None if weights is None else weights[order]
        ),
    )


def read_shared_weights(original: Table, released: Table) -> Floats | None:
    """Return the sampling weights of records (n,); None if they have none.

    If values are missing before or after masking, return the weights of values (n, d);
    see `weights_of_values`.
    """
    sampling = read_sampling_weights(original)
    if sampling is None:
        return None
    before = original.matrix()
    after = released.matrix()
    return select_value_weights(sampling.values, ~(np.isnan(before) | np.isnan(after)))


def read_original_and_release(
    original: Path, released: Path, job: Job, private: Path | None = None
) -> tuple[Table, Table]:
    """Return the original and the released table, each in its own order.

    Records that the private key marks as held back are removed.
    """
    release_checks.require_original_first(original, released)
    key = ReleaseFiles.of_table(released, private).private
    return read_pair(original, released, job, read_released_records(key))


def read_pair(
    original: Path,
    released: Path,
    job: Job,
    is_released: pa.ChunkedArray | None,
    read: ReadTable = read_file,
) -> tuple[Table, Table]:
    """Return the original and the released table, read with equal types.

    `is_released` are the records of the original that the key marks as released.
    """
    roles = job.roles
    types = job.attributes
    data = read(original, roles, job.input, types)
    if is_released is not None and len(is_released) == len(data):
        data = data.filter(is_released)
    first, _ = stratify(Table.of(data, roles, types, missing=job.missing), job)
    released_roles = job.released_roles
    levels = dict.fromkeys(first.domains, NAMES)
    texts = dict.fromkeys(first.spans, NAMES)
    types = {**levels, **job.released_attributes, **texts}
    again = read(released, released_roles, job.released_input, types)
    second = Table.of(_drop_columns(again, job.dropped), released_roles, like=first)
    n = len(first.frame)
    if len(second.frame) != n:
        raise TableError(
            f"{original.name} has {n} records and {released.name} {len(second.frame)}.",
            fix="assess a release against the table it was made from.",
        )
    return first, second


def _describe_disorder(measures: Assessment) -> str | None:
    """Return the text of a sign that records are in different orders, or None.

    It is a loss above the whole variance of the numbers, on average.  Without numbers,
    it is an agreement of categories no better than chance.
    """
    types = measures.types
    numbers = [measures.il]
    kappas = []
    if types is not None:
        numbers = [types["il"][n] for n, kind in types.kinds.items() if kind == NUMERIC]
        kappas = [kappa for kappa in types["kappa"].values() if kappa is not None]
    if sum(numbers) > len(numbers):
        loss = 100 * sum(numbers) / len(numbers)
        return f"The loss is {loss:.0f} % of the variance"
    if not numbers and max(kappas) < CHANCE:
        return "Categories are the records' own no more often than by chance"
    return None


def _drop_columns(table: Any, dropped: tuple[str, ...]) -> Any:
    """Return a released table without columns that must be dropped."""
    return table.drop_columns([c for c in dropped if c in table.column_names])


def find_places_by_key(original: Path, files: ReleaseFiles, n: int) -> Labels:
    """Return the position of each original record in the release (n,), by its key."""
    for written in (files.manifest, files.private):
        if written.exists():
            require_regular(written)
    if files.manifest.exists():
        release_checks.require_described_files(original, files)
    if not files.private.exists():
        raise TableError(
            f"{files.private} is not there, so nobody can tell which record of "
            f"{files.table.name} is which.",
            fix="put it there, name its folder (--private), or pass --same-order if "
            "the two tables have the same record order.",
        )
    place = read_record_order(files.private, n)
    if place is None:
        raise TableError(
            f"{files.private.name} is not the key of these two tables.",
            fix="put back the one that was written with the release.",
        )
    return place
