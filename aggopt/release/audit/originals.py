"""Additional results of a recount if the originals are given."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from aggopt.core.standardise import Scale
from aggopt.core.types import Floats, Labels
from aggopt.data.context.rare_categories import (
    PublishedRareCategories,
    find_published_rare,
)
from aggopt.encoding import Domain
from aggopt.errors import toml_key
from aggopt.release.audit.unchanged import Grouped, Unchanged, count_unchanged_values

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
    """

    before: Floats = field(repr=False)
    after: Floats = field(repr=False)
    step: Floats = field(repr=False)
    numeric: tuple[int, ...] | None = None
    dates: tuple[int, ...] = ()
    durations: tuple[int, ...] = ()
    domains: Mapping[int, Domain] = field(default_factory=dict, repr=False)

    @property
    def _numbers(self) -> list[int]:
        everything = range(self.before.shape[1])
        return list(everything if self.numeric is None else self.numeric)

    def unchanged(self, names: Sequence[str], groups: Sequence[Grouped]) -> Unchanged:
        """Return the values that are published unchanged, see `unchanged`."""
        unchanged = count_unchanged_values(
            names, self.before, self.after, self.step, groups
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
        """Return the notes on single attributes: counts and names.

        They report attributes in which one record dominates its group, which discloses
        it, and whole numbers that became impossible values.
        """
        disclosures = list[str]()
        impossible = list[str]()
        numbers = self._numbers
        if not numbers:
            return disclosures, impossible
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
                    counts[name] = count_dominated(x, y, labels[both], dominance, step)
                timed = j in self.dates or j in self.durations
                is_whole = not timed and (x == np.rint(x)).all()
                if is_whole and len(values) <= compute_max_distinct(len(x)):
                    impossible += _describe_impossible(
                        names[j], values, y, GRID * spread[j]
                    )
            disclosures += _describe_dominated(counts, labels.max() + 1, dominance)
        return disclosures, impossible


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
    x: Floats, y: Floats, labels: Labels, share: float, step: float = 0.0
) -> int:
    """Return the number of groups with one value that is most of the sum.

    It makes up more than a share of the sum of absolute values, the p %-rule of
    magnitude tables with p = 1 / share - 1.  Moreover the published value, y (n,),
    times the size of the group is within p % of it.  A mean is; a median can be far
    from it.  Rounding moved y by at most `step`.
    """
    labels = np.unique(labels, return_inverse=True)[1]  # some may have no value
    last = np.lexsort((np.abs(x), labels))
    last = last[np.append(np.diff(labels[last]) > 0, True)]  # the largest of each
    largest = np.abs(x[last])
    sizes = np.bincount(labels)
    over = largest > share * np.bincount(labels, np.abs(x))
    off = np.abs(sizes * y[last] - x[last])
    near = off <= (1 / share - 1) * largest + sizes * step
    return int((over & near).sum())


def _describe_dominated(
    counts: Mapping[str, int], groups: int, share: float
) -> Iterator[str]:
    """Return a note on the number of groups that disclose a value, by attribute."""
    positive = {name: count for name, count in counts.items() if count}
    where = ", ".join(f"{name} in {count}" for name, count in positive.items())
    if positive:
        yield (
            f"One record makes up more than {100 * share:g} % of the sum of absolute "
            f"values of a group, and the published value nearly gives away that of the "
            f"record: {where} of {groups} groups. Cap the largest values before "
            "masking, drop those records, or promise a larger k."
        )


def _describe_impossible(
    name: str, values: Floats, y: Floats, step: float
) -> Iterator[str]:
    """Say how many published values y (n,) are none of the whole numbers there are."""
    ends = np.concatenate([[-np.inf], values, [np.inf]])
    above = np.searchsorted(ends, y)
    nearest = np.minimum(y - ends[above - 1], ends[above] - y)
    count = int((nearest > step).sum())
    if not count:
        return
    subject = f"{name!r}: {count} of {len(y)} published values ({count / len(y):.0%})"
    remedy = "round_integers = true under [output] publishes"
    if len(values) == 2:
        yield (
            f"{subject} are neither of its two values: read them as shares; {remedy} "
            "one."
        )
        return
    yield (
        f"{subject} are none of its {len(values)} different whole numbers. If these "
        "are "
        'codes, their means say nothing: write kind = "nominal" under '
        f"[attributes.{toml_key(name)}], and codes are published; or an order or a "
        f"tree of them. If they count something, {remedy} whole numbers."
    )
