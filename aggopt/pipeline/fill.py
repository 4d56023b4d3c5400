"""Groups made by imputed values, with k values of their own behind each attribute."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from aggopt.core.deadline import Deadline
from aggopt.core.types import Bool
from aggopt.core.validation import numbered
from aggopt.encoding import Encoded
from aggopt.encoding._incomplete import filled
from aggopt.input.confidential import Confidential, requirements_of
from aggopt.job import Job
from aggopt.missing._imputed import by_neighbours
from aggopt.missing._observed import Observed
from aggopt.partition._in_blocks import divided
from aggopt.partition._shared.block import Block
from aggopt.partition._shared.result import Partition
from aggopt.pipeline.attribute_blocks import Columns
from aggopt.pipeline.guarantees import repaired
from aggopt.pipeline.holes import (
    Holed,
    How,
    Told,
    absent_of,
    by_patterns,
    observed_sse,
    repaired_across,
    require_published,
    share_of,
)
from aggopt.privacy._requirement import Requirement
from aggopt.repair._merge_until_satisfied import merge_until_satisfied
from aggopt.solvers import Certificate, Status

SEED = 0  # of ties among nearest records: a table has the same groups each time
CUT = (Status.LIMIT, Status.INTERRUPTED)


def with_neighbours(incomplete: Encoded) -> Encoded:
    """Return coordinates with those of the nearest records in place of missing ones."""
    found = by_neighbours(incomplete.coordinates, incomplete.owner, SEED)
    return filled(incomplete, found)


def by_policy(
    incomplete: Encoded,
    columns: Columns,
    how: How,
    job: Job,
    held: Sequence[Confidential],
    repair: Told | None,
) -> Holed:
    """Return the groups of records with holes, as the job's policy makes them.

    With `repair`, its progress callback, they satisfy all that the job requires.

    Raises
    ------
    InfeasibleInputError
        Nothing of an attribute would be published.
    """
    if job.missing.policy == "fill":
        return by_imputed(incomplete, columns, how, job, held, repair)
    names = job.roles.quasi_identifier
    blocks, kept = found = by_patterns(incomplete, job.privacy.k, columns, how, names)
    if repair:
        found = repaired_across(blocks[0], kept, incomplete, job, held, repair)
    require_published(found.kept, names)
    return found


def by_imputed(
    incomplete: Encoded,
    columns: Columns,
    how: How,
    job: Job,
    held: Sequence[Confidential],
    repair: Told | None,
) -> Holed:
    """Return groups made by imputed values, merged until k values stand behind each.

    The certificates are of the values that are there, without a bound: what is proven
    of imputed values says nothing of them.
    """
    divide, settings, told = how
    absent, k = absent_of(incomplete), job.privacy.k
    records = with_neighbours(incomplete)
    names, blocks = job.roles.quasi_identifier, []
    for done, columns_of in enumerate(columns):
        clock = Deadline(None)
        part = partial(share_of, told, done, len(columns))
        (block,) = divided(records, k, [columns_of], divide, settings, part, names)
        asked = _observed(absent, columns_of, names, k)
        first = block.partition
        if repair:
            block = repaired(block, records, job, held, repair, asked)
            asked += requirements_of(held)
        blocks.append(_merged(block, first, records, absent, asked, clock, job))
    return Holed(tuple(blocks), ~absent)


def _observed(
    absent: Bool, block: Sequence[int], names: Sequence[str], k: int
) -> list[Requirement]:
    there = ((names[j], ~absent[:, j]) for j in block)
    return [Observed(name, own, k) for name, own in there if not own.all()]


def _merged(
    block: Block,
    first: Partition,
    records: Encoded,
    absent: Bool,
    asked: Sequence[Requirement],
    clock: Deadline,
    job: Job,
) -> Block:
    """Return a block whose groups satisfy all, with what its own values lose."""
    own, there = records.only(block.columns), ~absent[:, list(block.columns)]
    labels = numbered(merge_until_satisfied(own, block.labels, asked))
    ended = {proof.status for proof in (*first.evidence, *block.partition.evidence)}
    merged = labels.max() < first.labels.max()
    proof = Certificate(
        next((status for status in CUT if status in ended), Status.HEURISTIC),
        observed_sse(own, labels, there),
        None,
        0.0,
        f"{job.partition.method} on imputed values{', then merging' * bool(merged)}",
        clock.spent,
    )
    return replace(block, partition=Partition(labels, proof))
