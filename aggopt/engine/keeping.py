"""Blocks of which all records, as one group, keep what is promised of groups.

Within such a block groups are merged until they keep it, too: at the latest into one.
Which ones do so, tasks tell; others go together with their neighbours until they do.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa

from aggopt.core.types import I64
from aggopt.engine.config import InLeaves, InParts
from aggopt.engine.coordinates import coordinates
from aggopt.engine.hole_groups import grouped_by_policy
from aggopt.engine.hole_plan import having, least_of
from aggopt.engine.passes_in import table_of
from aggopt.engine.passes_of_borders import grouped_anew
from aggopt.engine.sources import Sources, read
from aggopt.engine.strata import Part, parts_within, records_of, shared
from aggopt.engine.two_levels import Each, Spread
from aggopt.engine.weights import of_all_weights
from aggopt.engine.whole import held_of
from aggopt.errors import InfeasibleInputError, naming
from aggopt.input.confidential import requirements_of
from aggopt.input.table import Table
from aggopt.job import Job
from aggopt.pipeline.holes import absent_of
from aggopt.privacy._requirement import Requirement

WIDEST = 16  # blocks that may go together: tasks read one at a time


def blocks_that_keep(
    each: Each, sizes: I64, spread: Spread, config: InLeaves
) -> tuple[Sources, ...]:
    """Return where the records of each block are; buckets have so many, (buckets,).

    Raises
    ------
    InfeasibleInputError
        All records together do not keep what is promised, those of a stratum do not,
        or not as many as go together.
    """
    parts = parts_within(sizes, config, having(config), least_of(config))
    if asks(config.job):
        parts = _until_kept(each, parts, sizes, spread, config)
    blocks = shared(parts, sizes, config)
    return tuple(spread.sources(sum(block, ()), config) for block in blocks)


def asks(job: Job) -> bool:
    """Whether groups of k records may not keep what is promised."""
    weighed = bool(job.roles.weight) and job.weights.dominance < 1
    return bool(job.privacy.models) or weighed


def kept(number: int, config: InParts) -> list[InfeasibleInputError | None]:
    """Return of each part why its records, as one group, do not keep it; None if so."""
    sources = config.tried[number]
    return [_refusal(read(part, config.at), config) for part in sources]


def _refusal(rows: pa.Table, config: InParts) -> InfeasibleInputError | None:
    job, own = config.job, rows.select(list(range(len(config.columns))))
    table = table_of(own, config)
    of_values = requirements_of(held_of(table.frame, config))
    asked = (*of_values, *of_all_weights(table, job))
    refusals = (requirement.infeasible(job.privacy.k) for requirement in asked)
    refusal = next(filter(None, refusals), None)
    if refusal is None and any(map(_groups_alone_may_keep, asked)):
        return _not_grouped(table, config)
    return refusal


def _groups_alone_may_keep(asked: Requirement) -> bool:
    """Whether one group of all does not satisfy it, which says nothing of others."""
    return not (asked.additive or asked.satisfied(np.zeros(asked.n, np.intp)))


def _not_grouped(table: Table, config: InParts) -> InfeasibleInputError | None:
    """Return why no groups are found that keep what is promised; None if some are."""
    records = coordinates(table.matrix(), config, config.scale)
    try:
        if absent_of(records).any():
            grouped_by_policy(table, records, config)
        else:
            grouped_anew(table, records, config)
    except InfeasibleInputError as error:
        return error
    return None


def _until_kept(
    each: Each, parts: list[Part], sizes: I64, spread: Spread, config: InLeaves
) -> list[Part]:
    """Return parts of which each keeps what is promised, some of them together."""
    keep: set[Part] = set()
    turn = 0
    while new := [part for part in parts if part not in keep]:
        turn += 1
        batches = shared(new, sizes, config)
        tried = tuple(
            tuple(spread.sources(part, config) for part in batch) for batch in batches
        )
        asked = InParts(**vars(config), tried=tried)
        found = each(f"keep {turn}", len(tried), asked)
        answers = [answer for batch in found for answer in batch]
        refused = {part: no for part, no in zip(new, answers, strict=True) if no}
        _require_others(parts, refused, config)
        keep |= set(new) - set(refused)
        parts = _joined(parts, refused, config)
        _require_small(parts, refused, sizes, config)
    return parts


def _of_strata(parts: Sequence[Part], config: InLeaves) -> Iterator[list[Part]]:
    """Yield the parts of each stratum; all of them where there are none."""
    leaves = config.tree.leaves

    def stratum(part: Part) -> int:
        return 0 if config.strata is None else part[0] // leaves

    for _, own in groupby(parts, stratum):
        yield list(own)


def _joined(
    parts: Sequence[Part], refused: Collection[Part], config: InLeaves
) -> list[Part]:
    """Return parts, those that are refused together with a neighbour in the tree."""
    found: list[Part] = []
    for own in _of_strata(parts, config):
        found += joined(own, refused)
    return found


def joined(parts: Sequence[Part], refused: Collection[Part]) -> list[Part]:
    """Return parts of a stratum: with one that is refused goes the one after it.

    With the last one goes that before it.
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
    refused: dict[Part, InfeasibleInputError],
    config: InLeaves,
) -> None:
    """Refuse what all records of the table, or of a stratum, do not keep."""
    for own in _of_strata(parts, config):
        if len(own) > 1 or own[0] not in refused:
            continue
        if config.strata is None:
            raise refused[own[0]]
        with naming("In one stratum"):
            raise refused[own[0]]


def _require_small(
    parts: Sequence[Part],
    refused: Collection[Part],
    sizes: I64,
    config: InLeaves,
) -> None:
    block = config.job.engine.block
    for part in parts:
        if records_of(part, sizes) <= WIDEST * block:
            continue
        within = [own for own in refused if set(own) <= set(part)]
        if within:
            most = max(records_of(own, sizes) for own in within)
            raise InfeasibleInputError(
                f"Not even {most} records that lie together keep what is promised of "
                f"groups, and [engine] block = {block} allows no more.",
                fix="promise less of them, or choose a larger block.",
            )
