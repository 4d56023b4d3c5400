"""Blocks of attributes that a job microaggregates together, and their limits."""

import numpy as np

from aggopt.core.validation import Floats
from aggopt.encoding import Encoded
from aggopt.errors import JobError
from aggopt.job import Correlation, Job
from aggopt.partition import correlated_blocks
from aggopt.partition._in_blocks import require_cover
from aggopt.partition.registry import PARTITIONERS, AttributeUse
from aggopt.partition.shared.settings import ONE_BY_ONE, TOGETHER

Columns = tuple[tuple[int, ...], ...]


def find_blocks(job: Job, X: Floats | Encoded) -> Columns:
    """Return the positions of the attributes of X that are grouped together.

    Raises
    ------
    JobError
        The job names blocks, and a quasi-identifier is in none or in two, or is none.
    """
    asked, names = job.partition.attributes, job.roles.quasi_identifier
    if job.units.apart(job.roles):
        of_unit = [name in job.units.attributes for name in names]
        each = (np.flatnonzero(np.equal(of_unit, kind)) for kind in (True, False))
        return tuple(tuple(columns.tolist()) for columns in each)
    if asked == TOGETHER:
        return (tuple(range(len(names))),)
    if asked == ONE_BY_ONE:
        return tuple((j,) for j in range(len(names)))
    if isinstance(asked, Correlation):
        return tuple(map(tuple, correlated_blocks(X, asked.correlation)))
    require_cover(asked, names, "quasi-identifier")
    return tuple(tuple(map(names.index, block)) for block in asked)


def require_one_at_a_time(job: Job, blocks: Columns) -> None:
    """Refuse several attributes in one block for a method that takes one.

    Raises
    ------
    JobError
        The message has the method and how many are grouped together.
    """
    method = job.partition.method
    most = max(map(len, blocks))
    if PARTITIONERS.of(job.partition).takes is AttributeUse.ONE and most > 1:
        raise JobError(
            f"{method} takes one attribute, and the job groups {most} together.",
            fix="group one attribute at a time, with method = "
            '"individual_ranking" or attributes = "one by one", which takes scope = '
            '"blocks" under [privacy]; or all together, with method = "projection" or '
            '"mhm".',
        )


def require_scope(job: Job, blocks: Columns) -> None:
    """Refuse several blocks where k is of the combination of all quasi-identifiers.

    Raises
    ------
    JobError
        k would hold within each block alone.
    """
    method, d = job.partition.method, len(job.roles.quasi_identifier)
    if len(blocks) > 1 and job.privacy.scope == "combination":
        raise JobError(
            f"{method} is to group {d} quasi-identifiers in {len(blocks)} blocks, each "
            f"by itself. k = {job.privacy.k} then holds within each block, and not for "
            "the combination of all of them, which the job promises.",
            fix='promise less, with scope = "blocks" under [privacy] (a record '
            "may then be unique with its combination); or group all together, with "
            f"{_together(job)}.",
        )


def _together(job: Job) -> str:
    if PARTITIONERS.of(job.partition).takes is not AttributeUse.SEVERAL:
        return 'method = "mdav", "mhm" or another that takes several attributes'
    return 'attributes = "together" under [partition]'
