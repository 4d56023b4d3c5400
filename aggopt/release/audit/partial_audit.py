"""Counts of the records of one part of a release, and the audit of all parts.

A table in memory is one part.  No record of a part equals a record of another part in
all quasi-identifiers, strata and published weights, so counts of combinations add up.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.types import AnyInt, Labels
from aggopt.data.context.confidential import Confidential, check_requirements
from aggopt.job import AttributeSection, Privacy, Roles
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import Check
from aggopt.release.audit.bounds import BoundsCheck, check_bounds
from aggopt.release.audit.counts import Count, combine_codes, encode_entries
from aggopt.release.audit.dominance import find_most_dominated
from aggopt.release.audit.missing import MissingValues, find_missing_in
from aggopt.release.audit.originals import Grouped
from aggopt.release.audit.result import Audit
from aggopt.release.audit.risk_limits import check_counted_limits
from aggopt.release.audit.unprotected_columns import (
    UnprotectedColumns,
    count_unprotected,
)

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Combinations:
    """Records by their published combination: values of quasi-identifiers and strata.

    Attributes
    ----------
    coded
        The codes (n,) of each quasi-identifier, by name.
    parts
        The quasi-identifiers of each block.
    groups, combination
        The combination (n,) of each record: of each part of them, and of all.
    weight
        The sampling weight that is published, and counted among the strata.
    public, unknown
        The codes (n,) of columns that are published unchanged: known to others, and
        confidential.
    """

    coded: dict[str, AnyInt]
    parts: Sequence[Sequence[str]]
    groups: list[Labels]
    combination: Labels
    weight: str | None
    public: dict[str, AnyInt]
    unknown: dict[str, AnyInt]

    @classmethod
    def of(
        cls, frame: nw.DataFrame[Any], roles: Roles, parts: Sequence[Sequence[str]]
    ) -> "Combinations":
        """Return the combinations of a released table."""
        coded = {name: encode_entries(frame[name]) for name in roles.quasi_identifier}
        weight = next((n for n in roles.weight if n in frame.columns), None)
        columns = [*roles.stratum, *([weight] if weight else [])]
        within = [encode_entries(frame[name]) for name in columns]
        groups = [combine_codes([*(coded[n] for n in part), *within]) for part in parts]
        combined = (
            groups[0] if len(parts) == 1 else combine_codes([*coded.values(), *within])
        )
        public, unknown = (
            {name: encode_entries(frame[name]) for name in names}
            for names in (roles.other, roles.confidential)
        )
        return cls(coded, parts, groups, combined, weight, public, unknown)

    def counts(
        self, strata: Sequence[str], k: int, units: Labels | None
    ) -> tuple[Count, ...]:
        """Return the number of records, or units, in each combination of a block.

        Combinations include the strata.
        """
        pairs = zip(self.parts, self.groups, strict=True)
        return tuple(Count.of((*p, *strata), labels, k, units) for p, labels in pairs)

    @property
    def grouped(self) -> list[Grouped]:
        """Positions of each block's columns, and the combination of each record."""
        names = list(self.coded)
        places = [[names.index(name) for name in part] for part in self.parts]
        return [*zip(places, self.groups, strict=True)]


@dataclass(frozen=True)
class PartialAudit:
    """Counts of the records of one part.

    Attributes
    ----------
    records
        Number of records.
    whole, blocks
        Combinations of all quasi-identifiers, and of each block of them.
    beside
        Combinations that include the columns published unchanged, if any.
    checks
        Values that groups reach for the requirements on confidential attributes and on
        the weights of their records.
    columns
        The columns that are published.
    within
        Results for values that must be within bounds, or whole.
    weight
        The column of published sampling weights; None without.
    cells
        Number of missing values of quasi-identifiers.
    patterns
        The sets of quasi-identifiers that are missing in some record.
    """

    records: int
    whole: Count
    blocks: tuple[Count, ...]
    beside: tuple[UnprotectedColumns, ...]
    checks: tuple[Check, ...]
    columns: tuple[str, ...]
    within: tuple[BoundsCheck, ...]
    weight: str | None
    cells: int
    patterns: frozenset[bytes]


def audit_part(
    frame: nw.DataFrame[Any],
    shared: Combinations,
    roles: Roles,
    k: int,
    confidential: Sequence[Confidential],
    *,
    decimal: str,
    bounds: Mapping[str, AttributeSection],
    dominance: Sequence[Dominance],
    units: Labels | None = None,
) -> PartialAudit:
    """Return the counts of some released records, by their combinations `shared`.

    The others are as `audit_release` takes them.
    """
    equal = (*roles.combination, *([shared.weight] if shared.weight else []))
    absent = np.stack([find_missing_in(frame[name]) for name in shared.coded], axis=1)
    return PartialAudit(
        records=len(frame),
        whole=Count.of(roles.combination, shared.combination, k, units),
        blocks=shared.counts(roles.stratum, k, units),
        beside=count_unprotected(
            roles.combination,
            shared.combination,
            shared.public,
            shared.unknown,
            lambda names, labels: Count.of(names, labels, k),
        ),
        checks=(
            *check_requirements(frame, equal, confidential),
            *find_most_dominated(dominance, shared.grouped),
        ),
        columns=tuple(frame.columns),
        within=check_bounds(frame, bounds, decimal),
        weight=shared.weight,
        cells=int(absent.sum()),
        patterns=frozenset(row.tobytes() for row in np.unique(absent, axis=0)),
    )


def merge_audits(
    parts: Sequence[PartialAudit],
    roles: Roles,
    privacy: Privacy,
    dropped: Sequence[str],
    linked: Count | None = None,
) -> Audit:
    """Return the audit of all records.

    `dropped` are the columns that must be absent, and `linked` the units by all of
    their records, if pseudonyms identify these.  Units that k counts are in one part.
    """
    first = parts[0]
    combination = _add_counts([part.whole for part in parts])
    return Audit(
        records=sum(part.records for part in parts),
        k=privacy.k,
        scope=privacy.scope,
        whole=combination,
        blocks=_merge_each(_add_counts, [part.blocks for part in parts]),
        identifiers=tuple(name for name in dropped if name in first.columns),
        within=_merge_each(_add_bounds, [part.within for part in parts]),
        promises=_merge_each(_find_worst, [part.checks for part in parts]),
        limits=tuple(check_counted_limits(privacy, combination, linked)),
        beside=_merge_each(_add_columns, [part.beside for part in parts]),
        missing=_add_missing(parts, len(roles.quasi_identifier)),
        strata=roles.stratum,
        weight=first.weight,
        linked=linked,
    )


def _merge_each(
    merge: Callable[[Sequence[T]], T], parts: Iterable[Sequence[T]]
) -> tuple[T, ...]:
    """Return each of several results, merged over the parts, which have them all."""
    return tuple(map(merge, zip(*parts, strict=True)))


def _add_counts(counts: Sequence[Count]) -> Count:
    """Return the counts over parts; no record of one part equals one of another."""
    pairs = [count.pairs for count in counts if count.pairs is not None]
    return replace(
        counts[0],
        combinations=sum(count.combinations for count in counts),
        rarest=min(count.rarest for count in counts),
        rare=sum(count.rare for count in counts),
        unique=sum(count.unique for count in counts),
        total=sum(count.total for count in counts),
        pairs=sum(pairs) if pairs else None,
    )


def _add_columns(parts: Sequence[UnprotectedColumns]) -> UnprotectedColumns:
    """Return the count with columns of all parts."""
    return replace(parts[0], count=_add_counts([part.count for part in parts]))


def _add_bounds(parts: Sequence[BoundsCheck]) -> BoundsCheck:
    """Return the results for an attribute in all parts."""
    return replace(
        parts[0],
        beyond=sum(part.beyond for part in parts),
        broken=sum(part.broken for part in parts),
    )


def _find_worst(checks: Sequence[Check]) -> Check:
    """Return the worst value that any group reaches for one requirement."""
    sign = -1 if checks[0].sign == "<=" else 1
    worst = min(checks, key=lambda check: (sign * check.found, check.worst))
    return replace(
        worst,
        holds=all(check.holds for check in checks),
        groups=sum(check.groups for check in checks),
        broken=sum(check.broken for check in checks),
    )


def _add_missing(parts: Sequence[PartialAudit], width: int) -> MissingValues | None:
    """Return the missing values of this many quasi-identifiers; None if none is."""
    cells = sum(part.cells for part in parts)
    patterns = frozenset[bytes]().union(*(part.patterns for part in parts))
    return MissingValues(cells, len(patterns - {bytes(width)})) if cells else None
