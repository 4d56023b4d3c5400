"""Additional results of a recount if the originals are given: unchanged values."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from aggopt.core.plural import is_or_are
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool, Floats, Labels
from aggopt.data.context.rare_categories import (
    PublishedRareCategories,
    find_published_rare,
)
from aggopt.encoding import Domain

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
    """Return the beginning of a sentence about `count` of the records."""
    return f"{count} of {records} records {is_or_are(count)}"


def _join_counts(counts: Counts) -> str:
    """Return counts above 0 as text, with the attribute of each."""
    return ", ".join(f"{name!r} {count}" for name, count in counts.items() if count)


def count_unchanged_values(
    names: Sequence[str],
    X: Floats,
    Y: Floats,
    step: Floats,
    groups: Sequence[Grouped],
    wide: Bool | None = None,
) -> Unchanged:
    """Return the values of X (n, d) published unchanged, or nearly so, in Y (n, d).

    A record is unchanged when each of its values is published unchanged, up to the
    effect of rounding: `step` (d,).  `groups` are the groups of each block.  A missing
    value, nan, is not counted: a group has one original if its present values are
    equal.  A value published in a statement of several, `wide` (n, d), is changed.
    """
    near: Bool = np.abs(Y - X) <= step
    if wide is not None:
        near &= ~wide
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
    """Return the number of true entries of each column of a matrix, by name."""
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


GRID = 1e-5  # of a standard deviation: rounding to six digits of it moves half of it


@dataclass(frozen=True, eq=False)
class Originals:
    """Quasi-identifiers before masking and after, records in the release's order.

    Attributes
    ----------
    before, after : (n, d)
        Numbers in their own units, categories by the number of their node.  Private; no
        message has them.
    step : (d,)
        Distance by which rounding may have moved a published value.
    numeric
        Positions of numbers, dates and times; all when omitted.
    dates
        Positions of dates and times of day: these have no size, and are not codes.
    durations
        Positions of durations, which are not codes.
    domains
        The levels of the categories, by position.
    weights
        The sampling weights of the records (n,), if groups publish weighted means.
    wide : (n, d)
        Whether a number is published in a statement of several values; None if none is.
    """

    before: Floats = field(repr=False)
    after: Floats = field(repr=False)
    step: Floats = field(repr=False)
    numeric: tuple[int, ...] | None = None
    dates: tuple[int, ...] = ()
    durations: tuple[int, ...] = ()
    domains: Mapping[int, Domain] = field(default_factory=dict, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    wide: Bool | None = field(default=None, repr=False)

    @property
    def _numbers(self) -> list[int]:
        everything = range(self.before.shape[1])
        return list(everything if self.numeric is None else self.numeric)

    def unchanged(self, names: Sequence[str], groups: Sequence[Grouped]) -> Unchanged:
        """Return the values that are published unchanged, see `unchanged`."""
        unchanged = count_unchanged_values(
            names, self.before, self.after, self.step, groups, self.wide
        )
        return unchanged.of_members([names[j] for j in self._numbers])

    def rare(
        self, names: Sequence[str], k: int, units: Labels | None
    ) -> dict[str, PublishedRareCategories]:
        """Return the published categories that fewer than k originals have, by name.

        With the `units` (n,) that records are of, these are counted.
        """
        published = {
            names[j]: find_published_rare(
                self.before[:, j], self.after[:, j], domain, k, units
            )
            for j, domain in self.domains.items()
        }
        return {
            name: categories
            for name, categories in published.items()
            if categories.categories
        }

    def notes(
        self, names: Sequence[str], groups: Sequence[Grouped], dominance: float
    ) -> tuple[list[str], list[str]]:
        """Return the notes on attributes: counts and names.

        They report attributes in which one record dominates its group, which discloses
        it, and whole numbers that became values that no record has.
        """
        disclosures = list[str]()
        impossible: Counts = {}
        numbers = self._numbers
        if not numbers:
            return disclosures, []
        spreads = Scale.of(self.before[:, numbers]).spread.tolist()
        spread = dict(zip(numbers, spreads, strict=True))
        for columns, labels in groups:
            counts: dict[str, int] = {}
            for j in filter(spread.__contains__, columns):
                both = ~(np.isnan(self.before[:, j]) | np.isnan(self.after[:, j]))
                x = self.before[both, j]
                y = self.after[both, j]
                name = repr(names[j])
                values = np.sort(pd.unique(x))
                if len(values) > 2 and j not in self.dates:  # ones have no size
                    step = float(self.step[j])
                    weights = None if self.weights is None else self.weights[both]
                    counts[name] = count_dominated(
                        x, y, labels[both], dominance, step, weights
                    )
                timed = j in self.dates or j in self.durations
                is_whole = not timed and (x == np.rint(x)).all()
                if is_whole and len(values) <= compute_max_distinct(len(x)):
                    impossible[names[j]] = _count_impossible(
                        values, y, GRID * spread[j]
                    )
            disclosures += _describe_dominated(
                counts, labels.max() + 1, dominance, weighted=self.weights is not None
            )
        return disclosures, [*_describe_impossible(impossible, len(self.before))]


def compute_max_distinct(records: int) -> int:
    """Return how many different values are few: 20, or one for every 20 records.

    Whole numbers of so few different values may be codes; ages and counts of a large
    table have more.

    Examples
    --------
    >>> compute_max_distinct(100), compute_max_distinct(4000)
    (20, 200)
    """
    return max(20, records // 20)


def count_dominated(
    x: Floats,
    y: Floats,
    labels: Labels,
    share: float,
    step: float = 0.0,
    weights: Floats | None = None,
) -> int:
    """Return the number of groups with one value that is most of the sum.

    It makes up more than a share of the sum of absolute values, the p %-rule of
    magnitude tables with p = 1 / share - 1.  Moreover the published value, y (n,),
    times the size of the group is within p % of it.  A mean is; a median can be far
    from it.  Rounding moved y by at most `step`.  The value must also be
    larger than half the distance between the quartiles of x.  Smaller ones are near the
    rest of their group, as ages of babies.

    With `weights` (n,) a group is counted, too, if the rule holds for the weighted sum,
    or if one value is most of the plain sum and y is within p % of the weighted mean.
    """
    labels = np.unique(labels, return_inverse=True)[1]  # some may have no value
    sizes = np.bincount(labels)
    published = np.empty(len(sizes))
    published[labels] = y
    lower, upper = np.quantile(x, [0.25, 0.75])
    large = np.abs(x) > (upper - lower) / 2
    over, largest = _find_dominant(x, labels, share, large)
    p = 1 / share - 1
    if weights is None:
        off = np.abs(sizes * published - largest)
        return int((over & (off <= p * np.abs(largest) + sizes * step)).sum())
    total = np.bincount(labels, weights)
    sums = np.bincount(labels, weights * x)
    weighed, heaviest = _find_dominant(weights * x, labels, share, large)
    published *= total
    near = np.abs(published - heaviest) <= p * np.abs(heaviest) + total * step
    is_mean = np.abs(published - sums) <= p * np.abs(sums) + total * step
    return int((weighed & near | over & is_mean).sum())


def _find_dominant(
    x: Floats, labels: Labels, share: float, large: Bool
) -> tuple[Bool, Floats]:
    """Return which groups one of the values `large` (n,) dominates, and their largest.

    It exceeds the share of the sum of absolute values of its group.
    """
    last = np.lexsort((np.abs(x), labels))
    last = last[np.append(np.diff(labels[last]) > 0, True)]  # the largest of each
    largest = x[last]
    exceeds = np.abs(largest) > share * np.bincount(labels, np.abs(x))
    return exceeds & large[last], largest


def _describe_dominated(
    counts: Mapping[str, int], groups: int, share: float, *, weighted: bool
) -> Iterator[str]:
    """Return a note on the number of groups that disclose a value, by attribute."""
    positive = {name: count for name, count in counts.items() if count}
    where = ", ".join(f"{name} in {count}" for name, count in positive.items())
    disclosed = "and the published value nearly gives away that of the record"
    if weighted:
        disclosed = "with weights or without them, and is part of the published mean"
    if positive:
        yield (
            f"One record makes up more than {100 * share:g} % of the sum of absolute "
            f"values of a group, {disclosed}: {where} of {groups} groups. Cap the "
            "largest values before masking, drop those records, or promise a larger k."
        )


def _count_impossible(values: Floats, y: Floats, step: float) -> int:
    """Return how many published values y (n,) are none of the original values."""
    ends = np.concatenate([[-np.inf], values, [np.inf]])
    above = np.searchsorted(ends, y)
    nearest = np.minimum(y - ends[above - 1], ends[above] - y)
    return int((nearest > step).sum())


def _describe_impossible(counts: Counts, records: int) -> Iterator[str]:
    """Yield a note on whole numbers published as values that no record has, if any."""
    if not any(counts.values()):
        return
    yield (
        "Columns of whole numbers have published values that no record has, as 1.7; of "
        f"{records} in each column: {_join_counts(counts)}. If a column holds codes, "
        'as region or sex, its means say nothing: write kind = "nominal" under '
        "[attributes.NAME]. If it counts something, round_integers = true under "
        "[output] publishes whole numbers."
    )
