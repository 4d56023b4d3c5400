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
from aggopt.engine.steps.block_groups import partition_records
from aggopt.engine.steps.coordinates import coordinates
from aggopt.engine.steps.describe import check_table
from aggopt.engine.steps.global_confidential import confidential_attributes
from aggopt.engine.steps.missing_groups import partition_by_policy
from aggopt.engine.steps.missing_plan import enough_values_predicate, least_block_size
from aggopt.engine.steps.strata import (
    Part,
    assign_parts_to_blocks,
    count_records,
    split_strata,
)
from aggopt.engine.steps.weights import requirements_of_all_weights
from aggopt.engine.storage.bucket_refs import Sources, read_sources
from aggopt.errors import InfeasibleInputError, naming
from aggopt.job import Job
from aggopt.pipeline.prepare.value_patterns import find_missing
from aggopt.privacy.requirement import Requirement

WIDEST = 16  # blocks that may go together: tasks read one at a time


def merge_infeasible_blocks(
    each: Each, sizes: I64, spread: Shuffle, config: LeafState
) -> tuple[Sources, ...]:
    """Return the places of the records of each block; buckets have counts (buckets,).

    Raises
    ------
    InfeasibleInputError
        All records together violate a requirement, the records of a stratum do,
        or the number of blocks to merge is too large.
    """
    parts = split_strata(
        sizes, config, enough_values_predicate(config), least_block_size(config)
    )
    if needs_requirements_check(config.job):
        parts = _merge_until_feasible(each, parts, sizes, spread, config)
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
    errors = (_refusal(read_sources(part, config.at), config) for part in sources)
    return [Refusal(no.problem, no.fix) if no else None for no in errors]


def _refusal(rows: pa.Table, config: PartState) -> InfeasibleInputError | None:
    job, own = config.job, rows.select(list(range(len(config.columns))))
    table = check_table(own, config)
    of_values = list_requirements(confidential_attributes(table.frame, config))
    asked = (*of_values, *requirements_of_all_weights(table, job))
    refusals = (requirement.explain_infeasible(job.privacy.k) for requirement in asked)
    refusal = next(filter(None, refusals), None)
    if refusal is None and any(map(_groups_alone_may_keep, asked)):
        return _not_grouped(table, config)
    return refusal


def _groups_alone_may_keep(asked: Requirement) -> bool:
    """Whether one group of all violates it, although several groups may satisfy it."""
    return not (asked.additive or asked.is_satisfied(np.zeros(asked.n, np.intp)))


def _not_grouped(table: Table, config: PartState) -> InfeasibleInputError | None:
    """Return why no groups satisfy the requirements; None if some do."""
    records = coordinates(table.matrix(), config, config.scale)
    try:
        if find_missing(records).any():
            partition_by_policy(table, records, config)
        else:
            partition_records(table, records, config)
    except InfeasibleInputError as error:
        return error
    return None


def _merge_until_feasible(
    each: Each, parts: list[Part], sizes: I64, spread: Shuffle, config: LeafState
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
        asked = PartState(**vars(config), tried=tried)
        found = each(f"keep {turn}", len(tried), asked)
        answers = [answer for batch in found for answer in batch]
        refused = {part: no for part, no in zip(new, answers, strict=True) if no}
        _require_others(parts, refused, config)
        keep |= set(new) - set(refused)
        parts = _merge_with_neighbours(parts, refused, config)
        _require_small(parts, refused, sizes, config)
    return parts


def _of_strata(parts: Sequence[Part], config: LeafState) -> Iterator[list[Part]]:
    """Yield the parts of each stratum; all parts if the table has no strata."""
    leaves = config.leaves

    def stratum(part: Part) -> int:
        return 0 if config.strata is None else part[0] // leaves

    for _, own in groupby(parts, stratum):
        yield list(own)


def _merge_with_neighbours(
    parts: Sequence[Part], refused: Collection[Part], config: LeafState
) -> list[Part]:
    """Return parts; each refused part is merged with a neighbour in the tree."""
    found: list[Part] = []
    for own in _of_strata(parts, config):
        found += merge_refused(own, refused)
    return found


def merge_refused(parts: Sequence[Part], refused: Collection[Part]) -> list[Part]:
    """Return parts of a stratum: a refused part is merged with the next one.

    The last part is merged with the one before it.
    """
    found: list[Part] = []
    waits = False
    for part in parts:
        if waits:
            found[-1] += part
            waits = False
        else:
            found.append(part)
            waits = part in refused
    if waits and len(found) > 1:
        last = found.pop()
        found[-1] += last
    return found


def _require_others(
    parts: Sequence[Part],
    refused: dict[Part, Refusal],
    config: LeafState,
) -> None:
    """Refuse requirements that all records of the table, or of a stratum, violate."""
    for own in _of_strata(parts, config):
        if len(own) > 1 or own[0] not in refused:
            continue
        if config.strata is None:
            raise refused[own[0]].error
        with naming("In one stratum"):
            raise refused[own[0]].error


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
        within = [own for own in refused if set(own) <= set(part)]
        if within:
            most = max(count_records(own, sizes) for own in within)
            raise InfeasibleInputError(
                f"Not even {most} records that lie together keep what is promised of "
                f"groups, and [engine] block = {block} allows no more.",
                fix="promise less of them, or choose a larger block.",
            )
