"""Buckets by pattern of missing values: records with one pattern are kept together.

A pattern is a set of attributes that are missing.  Each pattern has its own leaves of
the tree, as many as its records need.  Leaves of rare patterns follow each other, so
that a block has several of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.engine.storage.scratch_files import load_arrays

MOST = 1000  # patterns that have leaves of their own: each is a batch of each file


@dataclass(frozen=True, eq=False)
class PatternBuckets:
    """Leaves of a tree with a number of levels for each pattern.

    Attributes
    ----------
    patterns : (p, d)
        Which attributes are missing; records of another pattern go to the last bucket.
    levels : (p,)
        Levels of the tree that records of each pattern descend.
    depth
        Levels of the tree.
    """

    patterns: Bool = field(repr=False)
    levels: I64 = field(repr=False)
    depth: int

    @classmethod
    def of(
        cls, patterns: Bool, counts: I64, block: int, depth: int
    ) -> "PatternBuckets":
        """Return the buckets of patterns (p, d) with these record counts, in blocks."""
        common = np.argsort(-counts, kind="stable")[:MOST]
        ordered = common[np.lexsort(patterns[common].T)]
        needed = np.rint(np.log2(np.maximum(counts[ordered] / block, 1.0)))
        levels = np.minimum(needed, depth).astype(np.int64)
        return cls(patterns[ordered], levels, depth)

    @property
    def count(self) -> int:
        """How many buckets there are."""
        return int(self._first[-1]) + 1

    def bucket(self, absent: Bool, leaf: I64) -> I64:
        """Return the bucket of records (n,), by missing values (n, d) and leaf."""
        groups, which = np.unique(absent, axis=0, return_inverse=True)
        at = {pattern.tobytes(): j for j, pattern in enumerate(self.patterns)}
        other = len(self.patterns)
        place = np.array([at.get(pattern.tobytes(), other) for pattern in groups])
        place = place[which.ravel()]
        shift = np.append(self.depth - self.levels, self.depth)[place]
        return np.asarray(self._first[place] + (leaf >> shift))

    @property
    def _first(self) -> I64:
        return np.concatenate([[0], np.cumsum(1 << self.levels)]).astype(np.int64)


def count_patterns(absent: Bool) -> dict[str, Bool | I64]:
    """Return the patterns of records (n, d), and how many have each, by name."""
    if not absent.any():  # no sorting of records
        first = absent[:1]
        return {"patterns": first, "of each": np.full(len(first), len(absent))}
    patterns, counts = np.unique(absent, axis=0, return_counts=True)
    return {"patterns": patterns, "of each": counts.astype(np.int64)}


def merge_patterns(paths: Sequence[Path]) -> tuple[Bool, I64]:
    """Return the patterns (p, d) of all pieces, and how many records have each."""
    arrays = [load_arrays(path, "patterns", "of each") for path in paths]
    rows = np.vstack([requirement["patterns"] for requirement in arrays])
    patterns, which = np.unique(rows, axis=0, return_inverse=True)
    counts = np.concatenate([requirement["of each"] for requirement in arrays])
    return patterns, np.bincount(which.ravel(), counts).astype(np.int64)


def count_present(X: Floats, leaf: I64, leaves: int) -> dict[str, I64]:
    """Return how many values of each attribute each leaf has (leaves, d), by name."""
    columns = [np.bincount(leaf, ~absent, leaves) for absent in np.isnan(X).T]
    return {"there": np.stack(columns, axis=1).astype(np.int64)}
