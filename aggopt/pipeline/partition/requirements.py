"""Requirements that the groups of a table must satisfy."""

import numpy as np

from aggopt.data.context.confidential import (
    Confidential,
    list_requirements,
    read_confidential_attributes,
)
from aggopt.data.context.units import RecordUnits
from aggopt.data.context.weights import SamplingWeights
from aggopt.data.table import Table
from aggopt.job import Job
from aggopt.pipeline.prepare.prepared_table import PreparedTable
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.release.audit.dominance import make_dominance_requirements


def read_confidential(table: Table, job: Job, decimal: str) -> tuple[Confidential, ...]:
    """Return the confidential attributes if anything is required of them.

    Raises
    ------
    TableError, JobError
        As `read_confidential_attributes`.
    InfeasibleInputError
        No groups satisfy the job's requirements.
    """
    held = read_confidential_attributes(table.frame, table.roles, job.privacy, decimal)
    for requirement in list_requirements(held):
        if refusal := requirement.explain_infeasible(job.privacy.k):
            raise refusal
    return held


def unit_requirements(job: Job, units: RecordUnits | None) -> tuple[Confidential, ...]:
    """Return the requirement on the units of records: k distinct ones in a group."""
    if units is None or units.records is not None:
        return ()
    codes = units.of.astype(np.int64)
    asked = Diversity("unit", codes, job.privacy.k)
    return (Confidential("unit", codes, (asked,)),)


def dominance_requirements(
    job: Job, sampling: SamplingWeights | None
) -> tuple[Confidential, ...]:
    """Return the requirement on the weights of records: no record dominates a group."""
    if sampling is None:
        return ()
    asked = make_dominance_requirements(job, sampling.each)
    if not asked:
        return ()
    codes = np.unique(sampling.each, return_inverse=True)[1].astype(np.int64)
    return (Confidential(sampling.name, codes, asked),)


def group_requirements(given: PreparedTable, job: Job) -> tuple[Confidential, ...]:
    """Return what groups are required to keep of each confidential attribute."""
    return (
        *read_confidential(given.table, job, job.input.decimal),
        *unit_requirements(job, given.units),
        *dominance_requirements(job, given.sampling),
    )
