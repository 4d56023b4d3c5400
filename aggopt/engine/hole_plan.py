"""What all records decide where values are missing: refusals, leaves, blocks."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from aggopt.core.types import I64, Bool
from aggopt.engine.config import InBlocks, InLeaves
from aggopt.engine.hole_buckets import Buckets, together
from aggopt.engine.kept_values import KeptValues
from aggopt.engine.passes_in import described_in
from aggopt.engine.workspace import summed
from aggopt.pipeline.holes import (
    require_enough,
    require_no_covariance,
    require_published,
)
from aggopt.pipeline.strata import require_none_of
from aggopt.privacy._values import REFUSE


def with_buckets(config: InLeaves) -> InLeaves:
    """Return what tasks are told, with leaves of each pattern where holes are kept.

    Raises
    ------
    InfeasibleInputError
        Too few values of an attribute are there.
    JobError
        The covariance is to be kept of numbers of which some are missing.
    """
    patterns, counts = together(described_in(config))
    if not patterns.any():
        return config
    job, records = config.job, int(counts.sum())
    require_enough(_there(patterns, counts), records, job, config.categories)
    if patterns[:, config.places].any():
        require_no_covariance(job)
    if job.missing.policy != "patterns":
        return config
    block = job.engine.block
    return replace(
        config, buckets=Buckets.of(patterns, counts, block, config.tree.levels)
    )


def _there(patterns: Bool, counts: I64) -> I64:
    """Return how many records have a value of each attribute, (d,)."""
    return np.asarray(counts @ ~patterns)


def least_of(config: InLeaves) -> int:
    """Return how many records a block has at least.

    Those of rare patterns are to lie beside many others.
    """
    least: int = 2 * config.job.privacy.k
    if config.buckets is None:
        return least
    return max(least, config.job.engine.block // 2)


def having(config: InLeaves) -> Callable[[Sequence[int]], bool]:
    """Return what says whether some leaves have values enough for groups that fill.

    They are of one stratum, if there are any.

    Raises
    ------
    InfeasibleInputError
        Some stratum has fewer than k values of an attribute.
    """
    if config.job.missing.policy != "fill":
        return lambda leaves: True
    paths = config.all("there", len(config.pieces))
    there: I64 = summed(paths, "there")["there"]
    strata = there.reshape(-1, config.leaves, there.shape[1]).sum(axis=1)
    if config.strata is not None:
        _require_in_strata(strata, config)
    least = np.minimum(2 * config.job.privacy.k, strata)

    def have(leaves: Sequence[int]) -> bool:
        own = least[leaves[0] // config.leaves]
        return bool((there[list(leaves)].sum(axis=0) >= own).all())

    return have


def _require_in_strata(there: I64, config: InLeaves) -> None:
    """Refuse strata with too few values (s, d) of an attribute to fill others by."""
    k = config.job.privacy.k
    for name, count in zip(config.job.roles.quasi_identifier, there.T, strict=True):
        require_none_of(count < k, name, k, k)


def with_kept(config: InBlocks, n: int) -> InBlocks:
    """Return what tasks are told, with what the values have that decide on a release.

    Raises
    ------
    InfeasibleInputError
        Groups of n records publish nothing of an attribute.
    """
    there = summed(config.all("grouped", len(config.blocks)), "there")["there"]
    require_published(there[None, :] > 0, config.job.roles.quasi_identifier)
    if config.job.missing.policy == REFUSE:
        return config
    paths = config.all("kept", len(config.blocks))
    return replace(config, kept_values=KeptValues.of(paths, n))
