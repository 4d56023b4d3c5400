"""Strata of fewer than k records, each merged with the nearest one."""

from collections.abc import Mapping

import numpy as np

from aggopt.core.types import F64, I64
from aggopt.core.validation import Floats
from aggopt.encoding import Domain
from aggopt.job import Job


def merge_small_strata(
    keys: I64, sizes: I64, centres: Floats, domains: Mapping[str, Domain], job: Job
) -> I64:
    """Return the values that each stratum is published with, (s, q) nodes.

    `keys` (s, q) are its values, `domains` the domains of the q columns, and `centres`
    (s, p) the means of its records.  The smallest stratum below k joins the nearest
    one, until none is below k.  By the order and the tree of columns, values that have
    neither being 1 apart; among strata equally near, and where no column has an order
    or a tree, by the distance of the means.  Both are then published as the nearest is,
    in a column with a tree as the lowest node above both.
    """
    state = _Merging(keys, sizes, centres, tuple(domains.values()))
    while (small := state.find_smallest(job.privacy.k)) >= 0:
        state.merge(small, state.find_nearest(small))
    return state.keys[state.into]


class _Merging:
    """Strata while they are merged: a stratum that is gone has no record."""

    def __init__(
        self, keys: I64, sizes: I64, centres: Floats, domains: tuple[Domain, ...]
    ) -> None:
        self.keys = keys.copy()
        self.sizes = sizes.copy()
        self.centres = centres.copy()
        self.domains = domains
        self.into = np.arange(len(keys))
        near = any(domain.kind != "nominal" for domain in domains)
        self.apart = [domain.distances for domain in domains] if near else []

    def find_smallest(self, k: int) -> int:
        """Return the smallest stratum of fewer than k records, or -1."""
        present = np.flatnonzero(self.sizes)
        first = int(present[self.sizes[present].argmin()])
        return first if self.sizes[first] < k else -1

    def find_nearest(self, small: int) -> int:
        """Return the stratum that is nearest to a small one."""
        others = np.flatnonzero(self.sizes)
        others = others[others != small]
        apart = ((self.centres[others] - self.centres[small]) ** 2).sum(axis=1)
        return int(
            others[np.lexsort((apart, self._compute_distances(others, small)))[0]]
        )

    def _compute_distances(self, others: I64, small: int) -> F64:
        """Return the distances of strata from a small one, by their values."""
        totals = np.zeros(len(others))
        for j, distances in enumerate(self.apart):
            totals += distances[self.keys[others, j], self.keys[small, j]]
        return totals

    def merge(self, small: int, near: int) -> None:
        """Publish two strata as one."""
        for j, domain in enumerate(self.domains):
            if domain.kind == "hierarchical":
                pair = self.keys[small, j], self.keys[near, j]
                self.keys[near, j] = _find_common_ancestor(
                    domain.parent, *map(int, pair)
                )
        sizes = self.sizes[[small, near]]
        self.centres[near] = np.average(self.centres[[small, near]], 0, weights=sizes)
        self.sizes[near] = sizes.sum()
        self.sizes[small] = 0
        self.into[self.into == small] = near


def _find_common_ancestor(parent: I64, one: int, other: int) -> int:
    """Return the lowest node that is one of two nodes, or above it, for both."""
    chain = {one}
    while (one := int(parent[one])) >= 0:
        chain.add(one)
    while other not in chain:
        other = int(parent[other])
    return other
