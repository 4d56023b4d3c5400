"""Candidates for published values of categorical attributes, and their losses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np

from aggopt.aggregate.categories.published import PublishedCategories
from aggopt.core.frame import to_column
from aggopt.core.memory import require_memory
from aggopt.core.types import F64, I64, Labels
from aggopt.encoding import AttributeType, Categories, EncodedAttribute
from aggopt.encoding.levels import read_categories
from aggopt.encoding.typed_column import RANKED, TypedColumn
from aggopt.errors import JobError
from aggopt.solvers import Certificate


@dataclass(frozen=True, eq=False)
class Candidates:
    """Categories of one attribute, or combinations of several, that can be published.

    Attributes
    ----------
    of
        The attributes.
    nodes : (q, attributes)
        The node of each attribute's domain for each candidate.
    own : (n,)
        The candidate equal to each record's own values.
    labels : (n,)
        Group of each record.
    weights : (n,)
        Sampling weights, of mean 1, by which records are counted; None if all are
        equal.
    """

    of: tuple[Categories, ...]
    nodes: I64 = field(repr=False)
    original: I64 = field(repr=False)
    labels: Labels = field(repr=False)
    weights: F64 | None = field(default=None, repr=False)

    @classmethod
    def observed(
        cls, of: Sequence[Categories], labels: Labels, weights: F64 | None = None
    ) -> "Candidates":
        """Return the categories, or their combinations, that some record has."""
        codes = np.stack([categories.codes for categories in of], axis=1)
        nodes, own_candidate = np.unique(codes, axis=0, return_inverse=True)
        return cls(tuple(of), nodes, own_candidate.ravel(), labels, weights)

    @classmethod
    def all_nodes(
        cls, categories: Categories, labels: Labels, weights: F64 | None = None
    ) -> "Candidates":
        """Return all nodes of an attribute's tree, including nodes without a record."""
        nodes = np.arange(len(categories.domain.nodes))[:, None]
        return cls((categories,), nodes, categories.codes, labels, weights)

    @cached_property
    def unit(self) -> float:
        """The factor that makes distances between levels whole numbers, if possible."""
        units = [categories.domain.unit for categories in self.of]
        if all(unit.is_integer() for unit in units):
            return float(lcm(*map(int, units)))
        return 1.0

    @cached_property
    def losses(self) -> F64:
        """Total distance of each group's records from each candidate, times `unit`.

        (groups, q): whole numbers, so that equal losses are equal, unless a user gave
        the distances, or records have weights.
        """
        groups = int(self.labels.max()) + 1
        width = len(self.nodes)
        require_memory(32 * groups * width, f"{width} candidates of {groups} groups")
        total = np.zeros((groups, width))
        for categories, nodes in zip(self.of, self.nodes.T, strict=True):
            steps = categories.domain.steps[: categories.domain.m, nodes]
            each_is = self.unit / categories.domain.unit
            total += categories.counts(self.labels, self.weights) @ (steps * each_is)
        return total

    def published(
        self, picked: I64, labels: Labels, proof: Certificate, **ties: Any
    ) -> tuple[PublishedCategories, ...]:
        """Return the published categories of each attribute, from chosen candidates.

        `picked` (m,) is the candidate of each group, of `labels` (n,).
        """
        return tuple(
            PublishedCategories(
                categories.domain.nodes, nodes[picked], labels, proof, **ties
            )
            for categories, nodes in zip(self.of, self.nodes.T, strict=True)
        )

    def table(self, codes: I64) -> tuple[F64, F64]:
        """Return two cross tables of `codes` (n,): with groups, and with candidates.

        (R, groups) and (R, q); with weights the sum of theirs.
        """
        rows = int(codes.max()) + 1
        return (
            self._count_crossed(codes, self.labels, (rows, int(self.labels.max()) + 1)),
            self._count_crossed(codes, self.original, (rows, len(self.nodes))),
        )

    def _count_crossed(self, row: I64, column: I64, shape: tuple[int, int]) -> F64:
        """Return the cross table of two codes: counts, or sums of weights."""
        cell = row * shape[1] + column
        cells = shape[0] * shape[1]
        counts = np.bincount(cell, self.weights, minlength=cells)
        return counts.reshape(shape).astype(np.float64)


def read_attributes(columns: Any) -> tuple[Categories, ...]:
    """Return the categories of two or more attributes of an encoded table.

    Raises
    ------
    JobError
        They are fewer than two, or one is numeric, or something else.
    """
    attributes = getattr(columns, "attributes", columns)
    several = isinstance(attributes, list | tuple) and len(attributes) > 1
    if not (several and all(isinstance(a, EncodedAttribute) for a in attributes)):
        raise JobError(
            f"A {type(columns).__name__} is not two encoded attributes or more.",
            fix='pass aggopt.encode(people[["sex", "occupation"]]), or attributes of '
            "what it returns.",
        )
    numeric = [repr(a.name) for a in attributes if a.categories is None]
    if numeric:
        raise JobError(
            f"{', '.join(numeric)}: numbers, and categories alone are chosen together.",
            fix='pass those that are categories, aggopt.encode(people[["sex", '
            '"occupation"]]); numbers that are codes have kind = "nominal".',
        )
    return tuple(Categories(a.domain, a.codes) for a in attributes)


def read_level_categories(column: Any, order: Any, tree: Any) -> Categories:
    """Return one attribute's levels and codes, its type inferred if not given."""
    if isinstance(column, EncodedAttribute):
        if order is not None or tree is not None:
            raise JobError(
                "An encoded attribute has its order or tree already.",
                fix="leave order and tree out.",
            )
        return Categories(column.domain, column.codes)
    declared = AttributeType(order=order, tree=tree)
    typed = TypedColumn.of(to_column(column))
    inferred = "ordinal" if typed.what == RANKED else "nominal"
    return read_categories(typed, declared.kind or inferred, declared)
