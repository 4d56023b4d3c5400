"""Values published unchanged, or nearly so: identical groups, and own values."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from aggopt.core.types import Bool, Floats, Labels

Grouped = tuple[Sequence[int], Labels]  # attributes and the groups (n,) they share
MANY = 0.5  # of the groups: above it members' own values are no chance, but a method
Counts = dict[str, int]


@dataclass(frozen=True)
class Unchanged:
    """Records that are published unchanged, and records of identical groups.

    Attributes
    ----------
    records
        Number of records with their original value, up to rounding, in every
        quasi-identifier that is not missing, whatever the rest of their group has.
    cells
        Number of records with their original value, up to rounding, in each
        quasi-identifier, whatever the rest of their group has.
    identical
        Number of records of groups that are identical in all quasi-identifiers, for any
        published value.
    identical_cells
        Number of values of each quasi-identifier in groups that are identical in it,
        and publish a value.
    moved
        Number of these that are published with another value.
    differing
        Number of groups that differ, in each quasi-identifier of more than two values.
    own
        Number of differing groups that publish a member's value, up to rounding.
    """

    records: int
    cells: Counts = field(hash=False)
    identical: int = 0
    identical_cells: Counts = field(hash=False, default_factory=dict)
    moved: Counts = field(hash=False, default_factory=dict)
    differing: Counts = field(hash=False, default_factory=dict)
    own: Counts = field(hash=False, default_factory=dict)

    def of_members(self, names: Collection[str]) -> "Unchanged":
        """Return it with the values that are members' own of these attributes alone.

        A category that is published is nearly always one that a member has.
        """
        differing, members = (
            {name: count for name, count in counts.items() if name in names}
            for counts in (self.differing, self.own)
        )
        return replace(self, differing=differing, own=members)

    @classmethod
    def merge(cls, parts: Sequence["Unchanged"]) -> "Unchanged":
        """Return the counts of parts of a table, no group of which is in two."""
        sums = {
            attribute.name: _sum([getattr(part, attribute.name) for part in parts])
            for attribute in fields(cls)
        }
        return cls(**sums)

    def describe(self, records: int) -> str | None:
        """Say how many records are unchanged, or of identical groups, if any is."""
        if not (self.records or self.identical):
            return None
        sentence = f"{_describe_count(self.records, records)} published unchanged"
        if not self.identical:
            return f"{sentence}."
        return (
            f"{sentence}; {_describe_count(self.identical, records)} in identical "
            "groups, whose "
            "originals are equal in every quasi-identifier."
        )

    def disclosures(self, records: int) -> Iterator[str]:
        """Yield how many values of each attribute are unchanged, or nearly."""
        if any(self.cells.values()):
            yield (
                f"Values published unchanged, of {records} in each column: "
                f"{_join_counts(self.cells)}."
            )
        if any(self.identical_cells.values()):
            sentence = (
                "Values in identical groups, whose records have the same original, of "
                f"{records} in each column: {_join_counts(self.identical_cells)}."
            )
            if any(self.moved.values()):
                sentence += (
                    f" Published with another value: {_join_counts(self.moved)}; the "
                    "possible value nearest to it may be the original."
                )
            yield sentence

    def notes(self) -> Iterator[str]:
        """Yield in how many groups of each attribute a value is a member's own."""
        for name, count in self.own.items():
            if count > MANY * self.differing[name]:
                yield (
                    f"{name!r}: in {count} of {self.differing[name]} groups of "
                    "differing originals the published value is a member's own: "
                    "medians are, and whole or rounded numbers can be by chance."
                )


def _sum(counts: Sequence[Any]) -> Any:
    """Return the sum of counts, or of the counts by name, over parts."""
    if not isinstance(counts[0], dict):
        return sum(counts)
    return {name: sum(part[name] for part in counts) for name in counts[0]}


def _describe_count(count: int, records: int) -> str:
    return f"{count} of {records} records {'is' if count == 1 else 'are'}"


def _join_counts(counts: Counts) -> str:
    return ", ".join(f"{name!r} {count}" for name, count in counts.items() if count)


def count_unchanged_values(
    names: Sequence[str],
    X: Floats,
    Y: Floats,
    step: Floats,
    groups: Sequence[Grouped],
) -> Unchanged:
    """Return the values of X (n, d) published unchanged, or nearly so, in Y (n, d).

    A record is unchanged when each of its values is published unchanged, up to the
    effect of rounding: `step` (d,).  `groups` are the groups of each block.  A missing
    value, nan, is not counted: a group has one original if its present values are
    equal.
    """
    near: Bool = np.abs(Y - X) <= step
    same = np.empty_like(near)
    differing = {}
    members = {}
    for columns, labels in groups:
        for j in columns:
            same[:, j] = _is_identical(X[:, j], labels)
            if not _is_between(X[:, j]):
                continue
            differs = ~same[:, j] & ~np.isnan(X[:, j])
            differing[names[j]] = _count_groups(labels, differs)
            members[names[j]] = _count_groups(labels, near[:, j] & differs)
    missing = np.isnan(X)
    published = ~np.isnan(Y)
    some = ~missing.all(axis=1)
    return Unchanged(
        records=int((some & (near | missing).all(axis=1)).sum()),
        cells=_count_by_name(names, near),
        identical=int((some & (same | missing).all(axis=1)).sum()),
        identical_cells=_count_by_name(names, same & published),
        moved=_count_by_name(names, same & published & ~near),
        differing=differing,
        own=members,
    )


def _count_by_name(names: Sequence[str], which: Bool) -> Counts:
    return dict(zip(names, which.sum(axis=0).tolist(), strict=True))


def _count_groups(labels: Labels, which: Bool) -> int:
    """Return how many groups have one of these records (n,)."""
    return len(np.unique(labels[which]))


def _is_between(x: Floats) -> bool:
    """Whether a value is neither the least nor the largest."""
    return bool(((x > np.fmin.reduce(x)) & (x < np.fmax.reduce(x))).any())


def _is_identical(x: Floats, labels: Labels) -> Bool:
    """Whether a record has a value, and its group no other."""
    is_present = ~np.isnan(x)
    some = np.empty_like(x)  # groups are at most as many as records
    some[labels[is_present]] = x[is_present]  # one member's
    differing = np.bincount(labels, is_present & (x != some[labels]))
    return np.asarray((differing[labels] == 0) & is_present)
