"""Blocks of attributes that a job microaggregates together, and their limits."""

import numpy as np

from aggopt.core.validation import Floats
from aggopt.encoding import Encoded
from aggopt.job import Correlation, Job
from aggopt.partition import correlated_blocks
from aggopt.partition._in_blocks import require_cover
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
