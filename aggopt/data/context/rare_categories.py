"""Categories that few originals have, counted by the nodes of their domain."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import I64, Floats, Labels
from aggopt.encoding import Domain


def count_originals_by_node(counts: I64, domain: Domain) -> I64:
    """Return the number of originals that belong to each node (nodes,).

    `counts` (m,) are the originals of each level.
    """
    return np.asarray(counts @ domain.above.astype(np.int64))


def count_by_level(codes: I64, domain: Domain, units: Labels | None = None) -> I64:
    """Return the number of records (n,), or of units if given, at each level (m,).

    A negative code is not a level.
    """
    present = codes >= 0
    pairs = codes[present]
    if units is not None:
        pairs = np.unique(np.stack([pairs, units[present]]), axis=1)[0]
    return np.bincount(pairs, minlength=domain.m).astype(np.int64)


def find_rare_nodes(counts: I64, domain: Domain, k: int) -> frozenset[Hashable]:
    """Return the names of categories, on all levels, with fewer than k records."""
    few = np.flatnonzero(count_originals_by_node(counts, domain) < k)
    return frozenset(domain.nodes[node] for node in few.tolist())


@dataclass(frozen=True)
class PublishedRareCategories:
    """Published categories of one attribute that fewer than k originals have.

    Attributes
    ----------
    categories, records
        The numbers of published rare categories, and of their records.
    """

    categories: int
    records: int

    @classmethod
    def of(
        cls, counts: I64, released: I64, domain: Domain, k: int
    ) -> "PublishedRareCategories":
        """Return the rare categories that `released` (nodes,) records publish.

        `counts` (m,) are the originals by level.
        """
        rare = (count_originals_by_node(counts, domain) < k) & (released > 0)
        return cls(int(rare.sum()), int(released[rare].sum()))

    def describe(self, name: str, k: int, counted: str = "originals") -> str:
        """Return the note on the attribute: its name and counts.

        `counted` is the word for what k counts.
        """
        one = self.categories == 1
        categories = plural(
            self.categories, "published category", "published categories"
        )
        return (
            f"{name!r}: {categories} of {plural(self.records, 'record')} "
            f"{'is' if one else 'are each'} that of fewer than k = {k} {counted}; "
            f'rare = "avoid" under [attributes.{name}] publishes none of them.'
        )


def find_published_rare(
    before: Floats, after: Floats, domain: Domain, k: int, units: Labels | None
) -> PublishedRareCategories:
    """Return the rare categories that are published, of nodes (n,) before and after.

    A missing value, nan, is not a category.
    """
    present = ~np.isnan(after)
    size = len(domain.nodes)
    nodes = after[present].astype(np.int64)
    released = np.bincount(nodes[nodes < size], minlength=size)  # others are new
    codes = np.where(np.isnan(before), -1, before).astype(np.int64)
    return PublishedRareCategories.of(
        count_by_level(codes, domain, units), released, domain, k
    )
