"""A categorical attribute of the records of a table."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aggopt.core.memory import require_memory
from aggopt.core.types import F64, I64, Bool
from aggopt.core.validation import check_groups
from aggopt.encoding.domain import Domain


@dataclass(frozen=True, eq=False)
class Categories:
    """Levels of records in a domain.

    Attributes
    ----------
    domain
        The levels, and the distances between them.
    codes : (n,)
        Level of each record, 0..m-1.
    """

    domain: Domain
    codes: I64 = field(repr=False)

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Names of all levels (m,), with or without records."""
        return self.domain.levels

    @property
    def distances(self) -> F64:
        """Distances between nodes (nodes, nodes); the first m nodes are levels."""
        return self.domain.distances

    @cached_property
    def observed(self) -> Bool:
        """Whether any record has each level, (m,)."""
        return self.record_counts > 0

    @cached_property
    def record_counts(self) -> I64:
        """Number of records with each level, (m,)."""
        return np.bincount(self.codes, minlength=self.domain.m)

    def points(self) -> F64:
        """Return coordinates (n, q) without constant columns.

        Squared distances of records are the distances of their nodes.
        """
        coordinates = self.domain.apart(np.unique(self.codes))
        n = len(self.codes)
        p = coordinates.shape[1]
        require_memory(16 * n * p, f"{p} coordinates of {n} records")
        return np.asarray(coordinates[self.codes])

    def counts(self, labels: npt.ArrayLike, weights: F64 | None = None) -> I64 | F64:
        """Return the number of records with each level in each group, (groups, m).

        With `weights` (n,), return sums of weights instead.

        >>> Categories(Domain.nominal("ab"), np.array([0, 1, 1])).counts([0, 0, 1])
        array([[1, 1],
               [0, 1]])
        """
        group = check_groups(labels, len(self.codes))
        size = int(group.max()) + 1
        m = self.domain.m
        counts = np.bincount(group * m + self.codes, weights, minlength=size * m)
        return counts.reshape(size, m)

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
