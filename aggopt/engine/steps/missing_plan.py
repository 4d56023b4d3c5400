"""Refusals, leaves and blocks that depend on the missing values of all records."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from aggopt.core.columns import REFUSE
from aggopt.core.types import I64, Bool
from aggopt.engine.state.moments import PublishedMoments
from aggopt.engine.state.pattern_buckets import PatternBuckets, merge_patterns
from aggopt.engine.state.run_state import BlockState, LeafState
from aggopt.engine.steps.describe import read_descriptions
from aggopt.engine.storage.scratch_files import sum_arrays
from aggopt.pipeline.validate.missing_values import (
    require_any_published,
    require_enough,
    require_no_covariance,
)
from aggopt.pipeline.validate.strata import require_none_of


def choose_buckets(config: LeafState) -> LeafState:
    """Return the run state with leaves of each pattern if missing values are kept.

    Raises
    ------
    InfeasibleInputError
        Too few values of an attribute are present.
    JobError
        The covariance must be kept of numbers with missing values.
    """
    patterns, counts = merge_patterns(read_descriptions(config))
    if not patterns.any():
        return config
    job, records = config.job, int(counts.sum())
    require_enough(_count_present(patterns, counts), records, job, config.categories)
    if patterns[:, config.places].any():
        require_no_covariance(job)
    if job.missing.policy != "patterns":
        return config
    block = job.engine.block
    return replace(
        config, buckets=PatternBuckets.of(patterns, counts, block, config.tree.levels)
    )


def _count_present(patterns: Bool, counts: I64) -> I64:
    """Return the number of records with a value of each attribute, (d,)."""
    return np.asarray(counts @ ~patterns)


def find_least_block_size(config: LeafState) -> int:
    """Return the minimum number of records of a block.

    Records of rare patterns must share a block with many others.
    """
    size: int = 2 * config.job.privacy.k
    if config.buckets is None:
        return size
    return max(size, config.job.engine.block // 2)


def make_enough_values_predicate(config: LeafState) -> Callable[[Sequence[int]], bool]:
    """Return a predicate whether some leaves have enough values for groups that fill.

    They belong to one stratum, if the table has strata.

    Raises
    ------
    InfeasibleInputError
        Some stratum has fewer than k values of an attribute.
    """
    if config.job.missing.policy != "fill":
        return lambda leaves: True
    paths = config.all("there", len(config.pieces))
    counts: I64 = sum_arrays(paths, "there")["there"]
    strata = counts.reshape(-1, config.leaves, counts.shape[1]).sum(axis=1)
    if config.strata is not None:
        _require_in_strata(strata, config)
    needed = np.minimum(2 * config.job.privacy.k, strata)

    def have(leaves: Sequence[int]) -> bool:
        needed_here = needed[leaves[0] // config.leaves]
        return bool((counts[list(leaves)].sum(axis=0) >= needed_here).all())

    return have


def _require_in_strata(counts: I64, config: LeafState) -> None:
    """Refuse strata with too few values (s, d) of an attribute to fill others by."""
    k = config.job.privacy.k
    for name, count in zip(config.job.roles.quasi_identifier, counts.T, strict=True):
        require_none_of(count < k, name, k, k)


def add_published_moments(config: BlockState, n: int) -> BlockState:
    """Return the run state with moments of the values that decide on the release.

    Raises
    ------
    InfeasibleInputError
        Groups of n records publish nothing of an attribute.
    """
    arrays = sum_arrays(config.all("grouped", len(config.blocks)), "there")["there"]
    require_any_published(arrays[None, :] > 0, config.job.roles.quasi_identifier)
    if config.job.missing.policy == REFUSE:
        return config
    paths = config.all("kept", len(config.blocks))
    return replace(config, kept_values=PublishedMoments.of(paths, n))
