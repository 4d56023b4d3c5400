"""Columns without protection: columns that are published unchanged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.plural import join_names, plural
from aggopt.core.types import AnyInt, Labels
from aggopt.release.audit.counts import Count, combine_codes

NAMED = 6  # columns that a sentence lists by name

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


def describe_linked_units(published: Labels, units: Labels, k: int) -> list[str]:
    """Return a note on units that are rare by the combinations of all their records.

    No release reveals which records belong to one unit.  `published` is the combination
    of each record, (n,), and `units` its unit.
    """
    linked = count_linked_units((), published, units, k)
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
    linked = Count.of(attributes, _find_compositions(published, units), k)
    return replace(linked, what="unit")


def _find_compositions(published: Labels, units: AnyInt) -> Labels:
    """Return the composition of each unit, (units,), 0..m-1."""
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
