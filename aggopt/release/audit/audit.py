"""Recount a release from its values, trusting nothing that made them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from aggopt.core.types import AnyInt
from aggopt.core.validation import Labels
from aggopt.data.context.confidential import (
    check_requirements,
    read_confidential_attributes,
)
from aggopt.job import AttributeSection, Privacy
from aggopt.job.roles import Roles
from aggopt.partition._in_blocks import require_cover
from aggopt.privacy.dominance import Dominance
from aggopt.release.audit.bounds import check_bounds
from aggopt.release.audit.counts import Count, combine_codes, encode_entries
from aggopt.release.audit.dominance import find_most_dominated
from aggopt.release.audit.missing import compare_missing, count_missing_values
from aggopt.release.audit.originals import Originals
from aggopt.release.audit.result import Audit as Audit
from aggopt.release.audit.risk_limits import counted_limits
from aggopt.release.audit.unchanged import Grouped
from aggopt.release.audit.unit_compositions import count_linked_units, together_known
from aggopt.release.audit.unprotected_columns import (
    Counting,
    UnprotectedColumns,
    add_sufficient_columns,
    count_unprotected,
    identifying_columns,
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
    omitted.  Entries are compared unchanged.  So a table of text, read from the written
    file, is recounted as any reader of that file would; missing values in it are null.
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
    parts = [names] if blocks is None else blocks
    require_cover(parts, names, "quasi-identifier")
    gone = roles.dropped if dropped is None else dropped
    shared = Combinations.of(frame, roles, parts)
    found = _counted(frame, roles, privacy, shared, decimal, units, pseudonym)
    found = replace(found, notes=(*found.disclosures, *found.notes))
    found = replace(
        found,
        identifiers=tuple(n for n in gone if n in frame.columns),
        within=check_bounds(frame, bounds or {}, decimal),
        promises=(*found.promises, *find_most_dominated(dominance, shared.grouped)),
        limits=tuple(counted_limits(privacy, found.whole, found.linked)),
        missing=count_missing_values(frame, shared.coded, compatible=compatible),
    )
    if found.warning:
        first = found.warning, *found.disclosures
        found = replace(found, disclosures=first, notes=(found.warning, *found.notes))
    if originals is None:
        return found._with_missing
    found = _compared(found, names, originals, shared.grouped, privacy.dominance, units)
    return found.with_rare(originals.rare(names, privacy.k, units))


@dataclass(frozen=True, eq=False)
class Combinations:
    """Records by their published combination: values of quasi-identifiers and strata.

    Attributes
    ----------
    coded
        The codes (n,) of each quasi-identifier, by name.
    parts
        The quasi-identifiers of each block.
    groups, whole
        The combination (n,) of each record: of each part of them, and of all.
    weight
        The sampling weight that is published, and counted among the strata.
    """

    coded: dict[str, AnyInt]
    parts: Sequence[Sequence[str]]
    groups: list[Labels]
    whole: Labels
    weight: str | None

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
        whole = (
            groups[0] if len(parts) == 1 else combine_codes([*coded.values(), *within])
        )
        return cls(coded, parts, groups, whole, weight)

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


def _counted(
    frame: nw.DataFrame[Any],
    roles: Roles,
    privacy: Privacy,
    shared: Combinations,
    decimal: str,
    units: Labels | None,
    pseudonym: str | None,
) -> Audit:
    """Return the audit of combinations, confidential attributes and units alone."""
    k, whole = privacy.k, shared.whole
    confidential = read_confidential_attributes(frame, roles, privacy, decimal)
    equal = (*roles.combination, *([shared.weight] if shared.weight else []))
    known = {name: encode_entries(frame[name]) for name in roles.other}
    unknown = {name: encode_entries(frame[name]) for name in roles.confidential}
    own = next(
        (encode_entries(frame[n]) for n in frame.columns if n == pseudonym), None
    )
    return Audit(
        records=len(frame),
        k=k,
        scope=privacy.scope,
        whole=Count.of(roles.combination, whole, k, units),
        blocks=shared.counts(roles.stratum, k, units),
        identifiers=(),
        promises=check_requirements(frame, equal, confidential),
        beside=(*_beside(roles, whole, known, unknown, own, k),),
        disclosures=(
            *identifying_columns(frame, known),
            *(
                together_known(whole, units, k)
                if units is not None and own is None
                else ()
            ),
        ),
        notes=tuple(note for each in confidential for note in each.notes),
        strata=roles.stratum,
        weight=shared.weight,
        linked=None
        if own is None
        else count_linked_units(roles.combination, whole, own, k),
    )


def _beside(
    roles: Roles,
    whole: Labels,
    known: Mapping[str, AnyInt],
    unknown: Mapping[str, AnyInt],
    pseudonyms: AnyInt | None,
    k: int,
) -> Iterator[UnprotectedColumns]:
    """Yield counts of columns without protection, over records and published units."""
    counts: list[Counting] = [lambda names, labels: Count.of(names, labels, k)]
    if pseudonyms is not None:
        counts.append(
            lambda names, labels: count_linked_units(names, labels, pseudonyms, k)
        )
    for count in counts:
        for each in count_unprotected(roles.combination, whole, known, unknown, count):
            exposed = each.known and each.count.rare
            yield add_sufficient_columns(each, whole, known, count) if exposed else each


def _compared(
    found: Audit,
    names: Sequence[str],
    originals: Originals,
    groups: Sequence[Grouped],
    dominance: float,
    units: Labels | None,
) -> Audit:
    """Return an audit with the comparison to originals of the named columns."""
    same = originals.unchanged(names, groups)
    dominated, impossible = originals.notes(names, groups, dominance)
    values = originals.before, originals.after
    missing = compare_missing(found.missing, names, *values, groups, units)
    found = replace(found, missing=missing)._with_missing
    more = *found.disclosures, *dominated, *same.disclosures(found.records)
    rest = [note for note in found.notes if note not in found.disclosures]
    notes = (*more, *rest, *same.notes(), *impossible)
    return replace(found, unchanged=same, disclosures=more, notes=notes)
