"""A categorical attribute of the records of a table."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aggopt.core.memory import require_memory
from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import check_groups
from aggopt.encoding._domain import Domain


@dataclass(frozen=True, eq=False)
class Categories:
    """Which level of its domain each record has.

    Attributes
    ----------
    domain
        The levels, and what they are apart.
    codes : (n,)
        Level of each record, 0..m-1.
    """

    domain: Domain
    codes: I64 = field(repr=False)

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Names of the levels (m,), those included that no record has."""
        return self.domain.levels

    @property
    def distances(self) -> F64:
        """Distances between nodes (nodes, nodes), of which the first m are levels."""
        return self.domain.distances

    @cached_property
    def observed(self) -> Bool:
        """Which levels a record has, (m,)."""
        return self.each > 0

    @cached_property
    def each(self) -> I64:
        """How many records have each level, (m,)."""
        return np.bincount(self.codes, minlength=self.domain.m)

    def points(self) -> F64:
        """Return coordinates (n, q) in which some records differ.

        Their squared distances are those of the nodes that the records have.
        """
        kept = self.domain.apart(np.unique(self.codes))
        n, p = len(self.codes), kept.shape[1]
        require_memory(16 * n * p, f"{p} coordinates of {n} records")
        return np.asarray(kept[self.codes])

    def counts(self, labels: npt.ArrayLike, weights: F64 | None = None) -> I64 | F64:
        """Return how many records of each group have each level, (groups, m).

        With `weights` (n,) the sum of theirs.

        >>> Categories(Domain.nominal("ab"), np.array([0, 1, 1])).counts([0, 0, 1])
        array([[1, 1],
               [0, 1]])
        """
        group = check_groups(labels, len(self.codes))
        size, m = int(group.max()) + 1, self.domain.m
        found = np.bincount(group * m + self.codes, weights, minlength=size * m)
        return found.reshape(size, m)

    def costs(self, labels: npt.ArrayLike, *, nodes: bool = False) -> F64:
        """Return the total distance of each group's records from each candidate.

        Candidates are the m levels, with `nodes` all nodes of the tree: (groups, m) or
        (groups, nodes).  Exact up to one rounding, so that equal costs are equal.

        >>> Categories(Domain.ordinal("abc"), np.array([0, 1, 2])).costs([0, 0, 0])
        array([[1.5, 1. , 1.5]])
        """
        domain = self.domain
        steps = domain.steps[: domain.m, : None if nodes else domain.m]
        return np.asarray(self.counts(labels) @ steps / domain.unit)
