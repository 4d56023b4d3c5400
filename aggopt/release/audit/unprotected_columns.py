"""Columns without protection: columns that are published unchanged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.plural import agree, is_or_are, join_names, plural
from aggopt.core.types import AnyInt, Bool, Labels
from aggopt.release.audit.counts import (
    Count,
    combine_codes,
    describe_small_groups,
)

NAMED = 6  # columns that a sentence lists by name
CONSTANT = 0.9  # of the units of several records: a column with one value in so many

Counting = Callable[[Sequence[str], Labels], Count]  # of attributes and combinations


@dataclass(frozen=True)
class UnprotectedColumns:
    """Counts of the combinations of quasi-identifiers and other columns.

    Attributes
    ----------
    columns
        The columns that this count adds: published unchanged.
    known
        Whether others may know them (role other), or are assumed not to (confidential).
    count
        The combinations of all quasi-identifiers with these columns, and with those
        that others may know: of records, or of the units that pseudonyms identify.
    sufficient
        Some of the columns that suffice for equal numbers of unique and of rare
        records; empty if they were not searched for.
    """

    columns: tuple[str, ...]
    known: bool
    count: Count
    sufficient: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """A row's name in the table of measures."""
        return f"with {'other' if self.known else 'confidential'}"

    @property
    def what(self) -> str:
        """Which columns, in two words."""
        return "other columns" if self.known else "confidential columns"

    @property
    def names(self) -> str:
        """The columns, formatted for a sentence: the sufficient ones, if known."""
        columns = self.sufficient or self.columns
        return join_names([repr(name) for name in columns], NAMED)


def count_unprotected(
    attributes: Sequence[str],
    published: Labels,
    public: Mapping[str, AnyInt],
    unknown: Mapping[str, AnyInt],
    count: Counting,
) -> tuple[UnprotectedColumns, ...]:
    """Return the counts with known columns, and with the unknown ones, too.

    Parameters
    ----------
    attributes, published
        The quasi-identifiers and strata, and each record's combination of them, (n,).
    known, unknown
        The codes (n,) of columns that are published unchanged: those that others may
        know, and those that they are assumed not to know.
    count
        Counts the combinations (n,) of these attributes: of records, or of units.
    """
    counts: list[UnprotectedColumns] = []
    for columns, is_known in ((public, True), (unknown, False)):
        if not columns:
            continue
        attributes = (*attributes, *columns)
        published = combine_codes([published, *columns.values()])
        unprotected = count(attributes, published)
        counts.append(UnprotectedColumns(tuple(columns), is_known, unprotected))
    return tuple(counts)


def add_sufficient_columns(
    unprotected: UnprotectedColumns,
    published: Labels,
    columns: Mapping[str, AnyInt],
    count: Counting,
) -> UnprotectedColumns:
    """Return the count with sufficient columns, those with most values first."""
    target = unprotected.count.unique, unprotected.count.rare
    by_values = sorted(unprotected.columns, key=lambda name: -int(columns[name].max()))
    chosen: list[str] = []
    for name in by_values:
        chosen.append(name)
        published = combine_codes([published, columns[name]])
        reached = count(chosen, published)
        if (reached.unique, reached.rare) == target:
            break
    return replace(unprotected, sufficient=tuple(chosen))


def find_identifying_columns(
    frame: nw.DataFrame[Any], others: Mapping[str, AnyInt]
) -> list[str]:
    """Return a note on each unprotected column whose entries all differ."""
    return [
        f"{name!r} (other) differs in every record: is it an identifier?"
        for name, codes in others.items()
        if (frame[name].dtype == nw.String or frame[name].dtype.is_integer())
        and 1 < len(frame) == codes.max() + 1
    ]


@dataclass(frozen=True)
class LinkingColumns:
    """Columns published unchanged that show which records belong to one unit.

    Such a column has one value for all records of a unit, as the income of a household.

    Attributes
    ----------
    columns
        The columns that suffice, those with most values first.
    linked
        Units of several records that have a value which no other unit has.
    unique, rare
        Linked units whose combinations of all their records no other unit has, and
        fewer than k units have.
    total
        Number of units.
    """

    columns: tuple[str, ...]
    linked: int
    unique: int
    rare: int
    total: int

    @property
    def _shows(self) -> str:
        """The columns and the verb of a sentence on them."""
        names = join_names([repr(name) for name in self.columns], NAMED)
        return f"{names} {agree(len(self.columns), 'shows', 'show')}"

    def describe_remedies(self) -> str:
        """Return a sentence on the units that are linked, and the remedies."""
        return (
            f"{self._shows} which records belong to one unit: {self.linked:,} of "
            f"{self.total:,} units have a value that no other unit has. Recode such a "
            "column into few classes, mask it as a quasi-identifier, or drop it."
        )

    def describe(self, k: int) -> str:
        """Return the text on the columns, and on the units that they expose."""
        count = self.unique or self.rare
        exposed = (
            f"{is_or_are(count)} unique"
            if self.unique
            else describe_small_groups(count, k)
        )
        return (
            f"{self._shows} which records belong to one unit, and {count:,} of "
            f"{self.total:,} units {exposed} with these links"
        )


def find_linking_columns(
    compositions: Labels, units: AnyInt, columns: Mapping[str, AnyInt], k: int
) -> LinkingColumns | None:
    """Return the columns that link the records of units; None if they expose no unit.

    `compositions` are those of `find_compositions`, `units` (n,) is the unit of each
    record, and `columns` have the codes (n,) of what is published unchanged.
    """
    units = np.unique(units, return_inverse=True)[1]
    are_several = np.bincount(units) > 1
    if not are_several.any():
        return None
    constant = {
        name: codes
        for name, codes in columns.items()
        if _has_one_code(codes, units)[are_several].mean() >= CONSTANT
    }
    by_values = sorted(constant, key=lambda name: -int(constant[name].max()))
    if not by_values:
        return None
    target = are_several & _is_linked(combine_codes(constant.values()), units)
    chosen: list[str] = []
    codes = np.zeros_like(units)
    for name in by_values:
        chosen.append(name)
        codes = combine_codes([codes, constant[name]])
        if (_is_linked(codes, units) >= target).all():
            break
    shared = np.bincount(compositions)[compositions]
    rare = int((target & (shared < k)).sum())
    if not rare:
        return None
    unique = int((target & (shared == 1)).sum())
    return LinkingColumns(
        tuple(chosen), int(target.sum()), unique, rare, len(are_several)
    )


def _has_one_code(codes: AnyInt, groups: AnyInt) -> Bool:
    """Return whether all records of each group, 0..m-1, have the same code, (m,)."""
    count = int(groups.max()) + 1
    least = np.full(count, np.iinfo(np.intp).max)
    largest = np.full(count, -1)
    np.minimum.at(least, groups, codes)
    np.maximum.at(largest, groups, codes)
    return np.asarray(least == largest)


def _is_linked(codes: Labels, units: AnyInt) -> Bool:
    """Return whether each unit has one code, (m,), which no other unit has."""
    code = np.empty(int(units.max()) + 1, dtype=np.intp)
    code[units] = codes
    return np.asarray(_has_one_code(codes, units) & _has_one_code(units, codes)[code])


def describe_linked_units(compositions: Labels, k: int) -> list[str]:
    """Return a note on units that are rare by the combinations of all their records.

    A release has no column with the numbers of units.  `compositions` are those of
    `find_compositions`.
    """
    linked = Count.of((), compositions, k)
    if not linked.rare:
        return []
    return [
        "Units are not published. If somebody knew which records belong to one unit, "
        f"the combinations of its records would make {linked.unique} of "
        f"{plural(linked.total, 'unit')} unique, and put {linked.rare} into groups "
        f"smaller than {k}. If a published column tells how large a unit is, make it a "
        "stratum."
    ]


def count_linked_units(
    attributes: Sequence[str], published: Labels, units: AnyInt, k: int
) -> Count:
    """Return how many units share the combinations of all their records.

    The combinations of a unit are counted with multiplicity.  `published` (n,) is the
    combination of `attributes` of each record, and `units` (n,) its unit.
    """
    linked = Count.of(attributes, find_compositions(published, units), k)
    return replace(linked, what="unit")


def find_compositions(published: Labels, units: AnyInt) -> Labels:
    """Return the composition of each unit, (units,), 0..m-1, in the order of units.

    Units of equal compositions have the same combinations, equally often.  `published`
    (n,) is the combination of each record, and `units` (n,) its unit.
    """
    order = np.lexsort((published, units))
    ends = np.flatnonzero(np.diff(units[order])) + 1
    compositions = [
        tuple(combinations.tolist())
        for combinations in np.split(published[order], ends)
    ]
    place = {
        composition: j for j, composition in enumerate(dict.fromkeys(compositions))
    }
    return np.array([place[composition] for composition in compositions])
