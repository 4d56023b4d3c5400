"""Recount a release, in memory or written, trusting nothing that made it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from aggopt.core.types import AnyInt, Floats, Labels
from aggopt.data.context.confidential import read_confidential_attributes
from aggopt.data.readers.read import read_release_as_text
from aggopt.errors import PrivacyError, TableError
from aggopt.job import AttributeSection, Job, Privacy, Roles
from aggopt.partition.block_partition import require_cover
from aggopt.privacy.dominance import Dominance
from aggopt.release.audit.counts import Count, encode_entries
from aggopt.release.audit.dominance import make_dominance_requirements
from aggopt.release.audit.missing import MissingChanges, count_compatible
from aggopt.release.audit.originals import Originals
from aggopt.release.audit.partial_audit import Combinations, audit_part, merge_audits
from aggopt.release.audit.result import Audit as Audit
from aggopt.release.audit.unprotected_columns import (
    Counting,
    UnprotectedColumns,
    add_sufficient_columns,
    count_linked_units,
    count_unprotected,
    describe_linked_units,
    find_compositions,
    find_identifying_columns,
    find_linking_columns,
)


def audit_release(
    released: Any,
    roles: Roles,
    privacy: Privacy,
    blocks: Sequence[Sequence[str]] | None = None,
    *,
    decimal: str = ".",
    originals: Originals | None = None,
    compatible: bool = False,
    bounds: Mapping[str, AttributeSection] | None = None,
    units: Labels | None = None,
    dropped: Sequence[str] | None = None,
    dominance: Sequence[Dominance] = (),
    pseudonym: str | None = None,
) -> Audit:
    """Return the audit of `released`, a pandas, Polars or PyArrow table.

    `blocks` are the quasi-identifiers that were grouped together; all of them when
    omitted.  With tables of keys, these are counted in place of blocks.  Entries are
    compared unchanged.  So a table of text, read from the written file, is recounted as
    any reader of that file would; missing values in it are null.
    Groups are records equal in all quasi-identifiers and strata, independent of their
    origin; numbers among confidential text have this `decimal` point.  With the
    `originals`, in the order of these records, the audit also counts unchanged values,
    records that dominate their group, and values that are not originals.  A missing
    value is a value of its own; `compatible` also counts the records that share the
    rarest combination if it equalled anything.  `bounds` limit the published values of
    attributes.  With the `units` (n,) of these records, k counts units.  `dropped` are
    the columns that must be absent, by default those of the roles.  `dominance` is the
    requirement on groups from the weights of these records, in all attributes or in
    each of them.  `pseudonym` is the column that identifies the unit of each record.

    Raises
    ------
    JobError
        A quasi-identifier is in no block, or in two.
    TableError
        Confidential values do not fit their settings in the job.
    """
    frame = nw.from_native(released, eager_only=True)
    names = roles.quasi_identifier
    if privacy.keys is None:
        parts = [names] if blocks is None else blocks
        require_cover(parts, names, "quasi-identifier")
    else:
        parts = list_key_parts(names, privacy.keys)
    gone = roles.dropped if dropped is None else dropped
    shared = Combinations.of(frame, roles, parts)
    confidential = read_confidential_attributes(frame, roles, privacy, decimal)
    part = audit_part(
        frame,
        shared,
        roles,
        privacy.k,
        confidential,
        decimal=decimal,
        bounds=bounds or {},
        dominance=dominance,
        units=units,
    )
    pseudonyms, linked = None, None
    if pseudonym is not None and pseudonym in frame.columns:
        pseudonyms = encode_entries(frame[pseudonym])
        linked = count_linked_units(
            roles.combination, shared.combination, pseudonyms, privacy.k
        )
    audit = merge_audits([part], roles, privacy, gone, linked)
    disclosures = [audit.warning] if audit.warning else []
    disclosures += find_identifying_columns(frame, shared.public)
    linking = None
    if units is not None and pseudonyms is None:
        columns = {**shared.public, **shared.unknown}
        compositions = find_compositions(shared.combination, units)
        linking = find_linking_columns(compositions, units, columns, privacy.k)
        disclosures += describe_linked_units(compositions, privacy.k)
    missing = audit.missing
    if missing and compatible:
        missing = replace(missing, compatible=count_compatible(frame, shared.coded))
    beside = _list_unprotected(audit.beside, roles, shared, pseudonyms, privacy.k)
    notes = [note for attribute in confidential for note in attribute.notes]
    audit = replace(
        audit,
        beside=tuple(beside),
        linking=linking,
        missing=missing,
        disclosures=tuple(disclosures),
        notes=(*disclosures, *notes),
    )
    if originals is None:
        return audit.with_missing
    return _add_originals(audit, originals, shared, privacy, units)


def list_key_parts(
    names: Sequence[str], keys: Sequence[Sequence[str]]
) -> list[Sequence[str]]:
    """Return the tables of keys, after the quasi-identifiers that are in none.

    >>> list_key_parts(["age", "sex", "job"], [["sex", "job"]])
    [['age'], ['sex', 'job']]
    """
    key_names = {name for table in keys for name in table}
    rest = [name for name in names if name not in key_names]
    return [*([rest] if rest else []), *keys]


def _add_originals(
    audit: Audit,
    originals: Originals,
    shared: Combinations,
    privacy: Privacy,
    units: Labels | None,
) -> Audit:
    """Return the audit with its counts of unchanged, dominated and rare originals."""
    names = tuple(shared.coded)
    groups = shared.grouped
    audit = audit.with_originals(
        names,
        MissingChanges.of(originals.before, originals.after, groups, units),
        originals.unchanged(names, groups),
        *originals.notes(names, groups, privacy.dominance),
    )
    return audit.with_rare(originals.rare(names, privacy.k, units))


def _list_unprotected(
    beside: Sequence[UnprotectedColumns],
    roles: Roles,
    shared: Combinations,
    pseudonyms: AnyInt | None,
    k: int,
) -> Iterator[UnprotectedColumns]:
    """Yield the unprotected counts of records `beside`, and then of published units.

    Add the sufficient ones of the columns that others may know.
    """
    counts: list[Counting] = [lambda names, labels: Count.of(names, labels, k)]
    columns_so_far = [beside]
    combination = shared.combination
    public = shared.public
    if pseudonyms is not None:
        counts.append(
            lambda names, labels: count_linked_units(names, labels, pseudonyms, k)
        )
        columns_so_far.append(
            count_unprotected(
                roles.combination, combination, public, shared.unknown, counts[-1]
            )
        )
    for count, columns in zip(counts, columns_so_far, strict=True):
        for unprotected in columns:
            exposed = unprotected.known and unprotected.count.rare
            yield (
                add_sufficient_columns(unprotected, combination, public, count)
                if exposed
                else unprotected
            )


def recount_file(
    aside: Path,
    job: Job,
    blocks: Sequence[Sequence[str]],
    records: int,
    units: Labels | None = None,
    weights: Floats | None = None,
) -> Audit:
    """Return the audit of a release from the bytes of its file.

    `units` are the units of its records, in its order, if k counts them.  `weights` are
    the records' weights, published or not: (n,), or (n, d) of their values.

    Raises
    ------
    PrivacyError
        The file does not read as this number of records.
    """
    try:
        csv_format = job.released_input.model_copy(update={"multiline": True})
        written = read_release_as_text(aside, csv_format, job.roles)
    except TableError:
        written = ()
    if len(written) != records:
        raise PrivacyError(
            f"What was written does not read as {records} records.",
            fix="write a .parquet file; nothing was left behind.",
        )
    return audit_release(
        written,
        job.roles,
        job.privacy,
        blocks,
        decimal=job.input.decimal,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=units,
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=make_dominance_requirements(job, weights),
    )
