"""Which attributes a job microaggregates together, and what that lets it promise."""

import time
from collections.abc import Sequence
from dataclasses import replace

from aggopt.aggregate import mean
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.errors import JobError
from aggopt.job import Correlation, IndividualRanking, Job, Univariate
from aggopt.job._partition import ONE_BY_ONE, TOGETHER
from aggopt.partition import correlated_blocks
from aggopt.partition._in_blocks import require_cover
from aggopt.partition._loss_bound import least_loss
from aggopt.partition._shared.block import Block
from aggopt.solvers import Certificate, Status

Columns = tuple[tuple[int, ...], ...]


def blocks_of(job: Job, X: Floats) -> Columns:
    """Return the positions of the attributes of X (n, d) that are grouped together.

    Raises
    ------
    JobError
        The job names blocks, and a quasi-identifier is in none or in two, or is none.
    """
    asked, names = job.partition.attributes, job.roles.quasi_identifier
    if asked == TOGETHER:
        return (tuple(range(len(names))),)
    if asked == ONE_BY_ONE:
        return tuple((j,) for j in range(len(names)))
    if isinstance(asked, Correlation):
        return tuple(map(tuple, correlated_blocks(X, asked.correlation)))
    require_cover(asked, names, "quasi-identifier")
    return tuple(tuple(map(names.index, block)) for block in asked)


def bounded(blocks: Sequence[Block], X: Floats, job: Job) -> tuple[Block, ...]:
    """Return the blocks, each with a certificate that has a bound.

    Where a method proves nothing of squares, the bound is that of
    `aggopt.partition.loss_bound`, and the objective, if it states none, the sum of
    squares within groups, both on z-scores of X (n, d).
    """
    return tuple(_bounded(block, X[:, block.columns], job) for block in blocks)


def _bounded(block: Block, X: Floats, job: Job) -> Block:
    found = block.certificate
    squares = getattr(job.partition, "cost", "sse") == "sse"
    if found is not None and (found.bound is not None or not squares):
        return block  # what is proven of squares says nothing of another cost
    started = time.perf_counter()
    Z = Scale.of(X).standardise(X)
    objective = sum(c.objective for c in mean(X, block.labels).certificates)
    bound = min(least_loss(Z, job.privacy.k), objective)
    if found is not None:
        return replace(block, certificate=replace(found, bound=bound))
    status = Status.OPTIMAL if bound == objective else Status.HEURISTIC
    spent, by = time.perf_counter() - started, job.partition.method
    return replace(
        block, certificate=Certificate(status, objective, bound, 0.0, by, spent)
    )


def require_promise(job: Job, blocks: Columns) -> None:
    """Refuse a partition that cannot be made, or cannot keep what the job promises.

    Raises
    ------
    JobError
        Several attributes in one block for a method that takes one; or several blocks
        although k records are to share each combination of all quasi-identifiers.
    """
    method, d = job.partition.method, len(job.roles.quasi_identifier)
    most = max(map(len, blocks))
    if isinstance(job.partition, Univariate) and most > 1:
        raise JobError(
            f"univariate takes one attribute, and the job groups {most} together.",
            fix="group one attribute at a time, with method = "
            '"individual_ranking" or attributes = "one by one", which takes scope = '
            '"blocks" under [privacy]; or all together, with method = "projection" or '
            '"mhm".',
        )
    if len(blocks) > 1 and job.privacy.scope == "combination":
        raise JobError(
            f"{method} is to group {d} quasi-identifiers in {len(blocks)} blocks, each "
            f"by itself. k = {job.privacy.k} then holds within each block, and not for "
            "the combination of all of them, which the job promises.",
            fix='promise less, with scope = "blocks" under [privacy] (a record '
            "may then be alone with its combination); or group all together, with "
            f"{_together(job)}.",
        )


def _together(job: Job) -> str:
    if isinstance(job.partition, IndividualRanking | Univariate):
        return 'method = "mdav", "mhm" or another that takes several attributes'
    return 'attributes = "together" under [partition]'
