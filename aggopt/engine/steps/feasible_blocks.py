"""Blocks whose records, as one group, satisfy the requirements on groups.

Within such a block groups are merged until they satisfy them, too: at the latest as one
group.  Tasks test each block; refused blocks are merged with neighbours until one
satisfies them.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from aggopt.core.types import I64
from aggopt.data.context.confidential import list_requirements
from aggopt.data.table import Table
from aggopt.engine.state.run_state import LeafState, PartState
from aggopt.engine.state.shuffle import Each, Shuffle
from aggopt.engine.steps.block_groups import partition_table_of_block
from aggopt.engine.steps.coordinates import compute_coordinates
from aggopt.engine.steps.describe import read_checked_table
from aggopt.engine.steps.global_confidential import read_confidential_of_part
from aggopt.engine.steps.missing_plan import (
    find_least_block_size,
    make_enough_values_predicate,
)
from aggopt.engine.steps.strata import (
    Part,
    assign_parts_to_blocks,
    count_records,
    split_strata,
)
from aggopt.engine.steps.weights import list_table_weight_requirements
from aggopt.engine.storage.scratch_files import Sources, read_sources
from aggopt.errors import InfeasibleInputError, naming
from aggopt.job import Job
from aggopt.privacy.requirement import Requirement

WIDEST = 16  # blocks that may go together: tasks read one at a time


def merge_infeasible_blocks(
    run_step: Each, sizes: I64, spread: Shuffle, config: LeafState
) -> tuple[Sources, ...]:
    """Return the places of the records of each block; buckets have counts (buckets,).

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
    """Whether groups of k records may violate a requirement."""
    weighed = bool(job.roles.weight) and job.weights.dominance < 1
    return bool(job.privacy.models) or weighed


class Refusal(NamedTuple):
    """Reason why the records of a part, as one group, violate a requirement."""

    problem: str
    fix: str

    @property
    def error(self) -> InfeasibleInputError:
        """The error for this reason."""
        return InfeasibleInputError(self.problem, fix=self.fix)


def check_feasible(number: int, config: PartState) -> list[Refusal | None]:
    """Return of each part why its records, as one group, do not keep it; None if so."""
    sources = config.tried[number]
    errors = (_find_refusal(read_sources(part, config.at), config) for part in sources)
    return [Refusal(no.problem, no.fix) if no else None for no in errors]


def _find_refusal(rows: pa.Table, config: PartState) -> InfeasibleInputError | None:
    job, records = config.job, rows.select(list(range(len(config.columns))))
    table = read_checked_table(records, config)
    of_values = list_requirements(read_confidential_of_part(table.frame, config))
    requirements = (*of_values, *list_table_weight_requirements(table, job))
    refusals = (
        requirement.explain_infeasible(job.privacy.k) for requirement in requirements
    )
    refusal = next(filter(None, refusals), None)
    if refusal is None and any(map(_may_keep_in_groups, requirements)):
        return _explain_infeasible(table, config)
    return refusal


def _may_keep_in_groups(requirement: Requirement) -> bool:
    """Whether one group of all violates it, although several groups may satisfy it."""
    return not (
        requirement.additive
        or requirement.is_satisfied(np.zeros(requirement.n, np.intp))
    )


def _explain_infeasible(table: Table, config: PartState) -> InfeasibleInputError | None:
    """Return why no groups satisfy the requirements; None if some do."""
    records = compute_coordinates(table.matrix(), config, config.scale)
    try:
        partition_table_of_block(table, records, config)
    except InfeasibleInputError as error:
        return error
    return None


def _merge_until_feasible(
    run_step: Each, parts: list[Part], sizes: I64, spread: Shuffle, config: LeafState
) -> list[Part]:
    """Return parts that each satisfy the requirements, some of them merged."""
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
        _require_others(parts, refused, config)
        keep |= set(new) - set(refused)
        parts = _merge_with_neighbours(parts, refused, config)
        _require_small(parts, refused, sizes, config)
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
    """Return parts; each refused part is merged with a neighbour in the tree."""
    neighbours: list[Part] = []
    for stratum_parts in _iterate_strata(parts, config):
        neighbours += merge_refused(stratum_parts, refused)
    return neighbours


def merge_refused(parts: Sequence[Part], refused: Collection[Part]) -> list[Part]:
    """Return parts of a stratum: a refused part is merged with the next one.

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


def _require_others(
    parts: Sequence[Part],
    refused: dict[Part, Refusal],
    config: LeafState,
) -> None:
    """Refuse requirements that all records of the table, or of a stratum, violate."""
    for stratum_parts in _iterate_strata(parts, config):
        if len(stratum_parts) > 1 or stratum_parts[0] not in refused:
            continue
        if config.strata is None:
            raise refused[stratum_parts[0]].error
        with naming("In one stratum"):
            raise refused[stratum_parts[0]].error


def _require_small(
    parts: Sequence[Part],
    refused: Collection[Part],
    sizes: I64,
    config: LeafState,
) -> None:
    block = config.job.engine.block
    for part in parts:
        if count_records(part, sizes) <= WIDEST * block:
            continue
        within = [
            stratum_parts
            for stratum_parts in refused
            if set(stratum_parts) <= set(part)
        ]
        if within:
            largest = max(
                count_records(stratum_parts, sizes) for stratum_parts in within
            )
            raise InfeasibleInputError(
                f"Not even {largest} records that lie together keep what is promised "
                "of "
                f"groups, and [engine] block = {block} allows no more.",
                fix="promise less of them, or choose a larger block.",
            )
