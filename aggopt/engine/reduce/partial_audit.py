"""Audit of the records of one place, and of all places together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.validation import Floats
from aggopt.data.context.confidential import check_requirements
from aggopt.engine.run_state import RunState
from aggopt.engine.steps.global_confidential import confidential_attributes
from aggopt.engine.steps.weights import check_weights_of_groups
from aggopt.job import Job
from aggopt.privacy.requirement import Check
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.bounds import BoundsCheck, check_bounds
from aggopt.release.audit.counts import Count, combine_codes, encode_entries
from aggopt.release.audit.missing import MissingValues, find_missing_in
from aggopt.release.audit.unprotected_columns import (
    UnprotectedColumns,
    count_unprotected,
)


@dataclass(frozen=True)
class PartialAudit:
    """Counts of records, with all records that equal one of them in one place.

    Attributes
    ----------
    whole
        Combinations of all quasi-identifiers.
    beside
        Combinations that include the columns published unchanged, if any.
    checks
        Values that groups reach for the requirements on confidential attributes and on
        the weights of their records.
    columns
        The columns that were written.
    within
        Results for values that must be within bounds, or whole.
    cells
        Number of missing values of quasi-identifiers.
    patterns
        The sets of quasi-identifiers that are missing in some record.
    """

    whole: Count
    beside: tuple[UnprotectedColumns, ...]
    checks: tuple[Check, ...]
    columns: tuple[str, ...]
    within: tuple[BoundsCheck, ...] = ()
    cells: int = 0
    patterns: frozenset[bytes] = frozenset()


def audit_part(
    rows: pa.Table, weights: Floats | None, config: RunState
) -> PartialAudit:
    """Return the audit of the written rows.

    `weights` (n, w) are the weights of the records, in each attribute or in all.
    """
    frame = nw.from_native(rows, eager_only=True)
    job, roles, privacy = config.job, config.job.roles, config.job.privacy
    quasi = combine_codes([encode_entries(frame[name]) for name in job.combination])
    known = {name: encode_entries(frame[name]) for name in roles.other}
    unknown = {name: encode_entries(frame[name]) for name in roles.confidential}
    absent = np.stack(
        [find_missing_in(frame[n]) for n in roles.quasi_identifier], axis=1
    )
    return PartialAudit(
        whole=Count.of(roles.combination, quasi, privacy.k),
        beside=count_unprotected(
            roles.combination,
            quasi,
            known,
            unknown,
            lambda names, labels: Count.of(names, labels, privacy.k),
        ),
        checks=(
            *check_requirements(
                frame, job.combination, confidential_attributes(frame, config)
            ),
            *check_weights_of_groups(job, weights, quasi),
        ),
        columns=tuple(rows.column_names),
        within=check_bounds(frame, job.attributes, job.input.decimal),
        cells=int(absent.sum()),
        patterns=frozenset(row.tobytes() for row in np.unique(absent, axis=0)),
    )


def merge_audits(found: Sequence[PartialAudit], job: Job) -> Audit:
    """Return the audit of all records."""
    roles = job.roles
    whole = _all([each.whole for each in found])
    return Audit(
        records=whole.total,
        k=job.privacy.k,
        scope=job.privacy.scope,
        whole=whole,
        blocks=(whole,),
        identifiers=tuple(name for name in job.dropped if name in found[0].columns),
        within=tuple(map(_both, zip(*(each.within for each in found), strict=True))),
        promises=tuple(map(_worst, zip(*(each.checks for each in found), strict=True))),
        strata=roles.stratum,
        weight=next(iter(job.released_roles.weight), None),
        missing=_missing(found, len(roles.quasi_identifier)),
        beside=tuple(map(_of_all, zip(*(each.beside for each in found), strict=True))),
    )


def _missing(found: Sequence[PartialAudit], width: int) -> MissingValues | None:
    """Return the missing values of this many quasi-identifiers; None if none is."""
    cells = sum(each.cells for each in found)
    patterns = frozenset[bytes]().union(*(each.patterns for each in found))
    return MissingValues(cells, len(patterns - {bytes(width)})) if cells else None


def _of_all(parts: Sequence[UnprotectedColumns]) -> UnprotectedColumns:
    """Return the count with columns of all places."""
    return replace(parts[0], count=_all([part.count for part in parts]))


def _all(counts: Sequence[Count]) -> Count:
    """Return the counts over parts; no record of one part equals one of another."""
    return replace(
        counts[0],
        combinations=sum(count.combinations for count in counts),
        rarest=min(count.rarest for count in counts),
        rare=sum(count.rare for count in counts),
        unique=sum(count.unique for count in counts),
        total=sum(count.total for count in counts),
    )


def _both(found: Sequence[BoundsCheck]) -> BoundsCheck:
    """Return the results for an attribute in all parts."""
    beyond, broken = (sum(getattr(each, of) for each in found) for of in _COUNTS)
    return replace(found[0], beyond=beyond, broken=broken)


_COUNTS = ("beyond", "broken")


def _worst(checks: Sequence[Check]) -> Check:
    """Return the worst value that any group reaches for one requirement."""
    sign = -1 if checks[0].sign == "<=" else 1
    worst = min(checks, key=lambda check: (sign * check.found, check.worst))
    return replace(
        worst,
        holds=all(check.holds for check in checks),
        groups=sum(check.groups for check in checks),
        broken=sum(check.broken for check in checks),
    )
