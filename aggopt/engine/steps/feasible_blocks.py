"""Blocks whose records, as one group, satisfy the requirements on groups.

Within such a block groups are merged until they satisfy them, too: at the latest as one
group.  Tasks test each block; refused blocks are merged with neighbours until one
satisfies them.  Values that are missing decide on leaves and on the size of blocks.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from aggopt.core.columns import REFUSE
from aggopt.core.types import I64, Bool
from aggopt.data.context.confidential import list_requirements
from aggopt.data.table import Table
from aggopt.engine.state.moments import PublishedMoments
from aggopt.engine.state.run_state import BlockState, LeafState, PartState
from aggopt.engine.state.shuffle import Each, Shuffle
from aggopt.engine.state.split_tree import PatternBuckets, merge_patterns
from aggopt.engine.steps import describe
from aggopt.engine.steps.block import partition_table_of_block
from aggopt.engine.steps.global_confidential import read_confidential_of_part
from aggopt.engine.steps.strata import (
    Part,
    assign_parts_to_blocks,
    count_records,
    split_strata,
)
from aggopt.engine.steps.weights import list_table_weight_requirements
from aggopt.engine.storage.scratch_files import Sources, read_sources, sum_arrays
from aggopt.engine.validate import values
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job
from aggopt.pipeline.validate.missing_values import (
    require_any_published,
    require_enough,
    require_no_covariance,
)
from aggopt.privacy.requirement import Requirement

WIDEST = 16  # blocks that may go together: tasks read one at a time


def merge_infeasible_blocks(
    run_step: Each, sizes: I64, spread: Shuffle, config: LeafState
) -> tuple[Sources, ...]:
    """Return the sources of each block's records, once all are feasible.

    Raises
    ------
    InfeasibleInputError
        All records together violate a requirement, the records of a stratum do,
        or the number of blocks to merge is too large.
    """
    parts = split_strata(
        sizes,
        config,
        make_enough_values_predicate(config),
        find_least_block_size(config),
    )
    if needs_requirements_check(config.job):
        parts = _merge_until_feasible(run_step, parts, sizes, spread, config)
    blocks = assign_parts_to_blocks(parts, sizes, config)
    return tuple(spread.sources(sum(block, ()), config) for block in blocks)


def needs_requirements_check(job: Job) -> bool:
    """Whether groups of k records may violate a requirement of the job."""
    weighed = bool(job.roles.weight) and job.weights.dominance < 1
    return bool(job.privacy.models) or weighed


class Refusal(NamedTuple):
    """Reason why the records of a part, as one group, violate a requirement."""

    problem: str
    fix: str

    @property
    def error(self) -> InfeasibleInputError:
        """The exception to raise for this reason."""
        return InfeasibleInputError(self.problem, fix=self.fix)


def check_feasible(number: int, config: PartState) -> list[Refusal | None]:
    """Return for each part why one group of its records is infeasible, or None."""
    sources = config.tried[number]
    errors = (_find_refusal(read_sources(part, config.at), config) for part in sources)
    return [Refusal(no.problem, no.fix) if no else None for no in errors]


def _find_refusal(rows: pa.Table, config: PartState) -> InfeasibleInputError | None:
    """Return the error if the requirements are infeasible for rows; None if not."""
    job = config.job
    records = rows.select(list(range(len(config.columns))))
    table = describe.read_checked_table(records, config)
    of_values = list_requirements(read_confidential_of_part(table.frame, config))
    requirements = (*of_values, *list_table_weight_requirements(table, job))
    refusals = (
        requirement.explain_infeasible(job.privacy.k) for requirement in requirements
    )
    refusal = next(filter(None, refusals), None)
    if refusal is None and any(map(_may_satisfy_in_groups, requirements)):
        return _explain_infeasible(table, config)
    return refusal


def _may_satisfy_in_groups(requirement: Requirement) -> bool:
    """Whether smaller groups may satisfy what one group of all violates."""
    return not (
        requirement.additive
        or requirement.is_satisfied(np.zeros(requirement.n, np.intp))
    )


def _explain_infeasible(table: Table, config: PartState) -> InfeasibleInputError | None:
    """Return the error of partitioning a table; None if that succeeds."""
    records = describe.compute_coordinates(table.matrix(), config, config.scale)
    try:
        partition_table_of_block(table, records, config)
    except InfeasibleInputError as error:
        return error
    return None


def _merge_until_feasible(
    run_step: Each, parts: list[Part], sizes: I64, spread: Shuffle, config: LeafState
) -> list[Part]:
    """Return parts that satisfy the requirements, refused parts merged."""
    keep: set[Part] = set()
    turn = 0
    while new := [part for part in parts if part not in keep]:
        turn += 1
        batches = assign_parts_to_blocks(new, sizes, config)
        tried = tuple(
            tuple(spread.sources(part, config) for part in batch) for batch in batches
        )
        part_state = PartState(**vars(config), tried=tried)
        refusals = run_step(f"keep {turn}", len(tried), part_state)
        answers = [answer for batch in refusals for answer in batch]
        refused = {part: no for part, no in zip(new, answers, strict=True) if no}
        single_parts = [
            parts_of_stratum[0]
            for parts_of_stratum in _iterate_strata(parts, config)
            if len(parts_of_stratum) == 1
        ]
        of_strata = [refused[part].error for part in single_parts if part in refused]
        values.require_feasible_strata(of_strata, several=config.strata is not None)
        keep |= set(new) - set(refused)
        parts = _merge_with_neighbours(parts, refused, config)
        for part in parts:
            if count_records(part, sizes) > WIDEST * config.job.engine.block:
                within = [old for old in refused if set(old) <= set(part)]
                records = [count_records(old, sizes) for old in within]
                values.require_small_blocks(records, config.job.engine.block)
    return parts


def _iterate_strata(parts: Sequence[Part], config: LeafState) -> Iterator[list[Part]]:
    """Yield the parts of each stratum; all parts if the table has no strata."""
    leaves = config.leaves

    def stratum(part: Part) -> int:
        return 0 if config.strata is None else part[0] // leaves

    for _, stratum_parts in groupby(parts, stratum):
        yield list(stratum_parts)


def _merge_with_neighbours(
    parts: Sequence[Part], refused: Collection[Part], config: LeafState
) -> list[Part]:
    """Return the parts, each refused one merged with a neighbour in its tree."""
    neighbours: list[Part] = []
    for stratum_parts in _iterate_strata(parts, config):
        neighbours += merge_refused(stratum_parts, refused)
    return neighbours


def merge_refused(parts: Sequence[Part], refused: Collection[Part]) -> list[Part]:
    """Return a stratum's parts, each refused one merged with the next.

    The last part is merged with the one before it.
    """
    result: list[Part] = []
    waits = False
    for part in parts:
        if waits:
            result[-1] += part
            waits = False
        else:
            result.append(part)
            waits = part in refused
    if waits and len(result) > 1:
        last = result.pop()
        result[-1] += last
    return result


def choose_buckets(config: LeafState) -> LeafState:
    """Return the run state with buckets for patterns of missing values, if needed.

    Raises
    ------
    InfeasibleInputError
        Too few values of an attribute are present.
    JobError
        The covariance must be kept of numbers with missing values.
    """
    patterns, counts = merge_patterns(describe.read_descriptions(config))
    if not patterns.any():
        return config
    job = config.job
    records = int(counts.sum())
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
    """Return a predicate: whether leaves have enough present values to fill.

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
        values.require_values_of_strata(strata, config.job)
    needed = np.minimum(2 * config.job.privacy.k, strata)

    def have(leaves: Sequence[int]) -> bool:
        needed_here = needed[leaves[0] // config.leaves]
        return bool((counts[list(leaves)].sum(axis=0) >= needed_here).all())

    return have


def add_published_moments(config: BlockState, n: int) -> BlockState:
    """Return the run state with the moments of the values that groups keep.

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
