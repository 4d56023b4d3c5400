"""Choose the open settings of a job for its table: a method, and implied repairs."""

from functools import partial

from aggopt.job import Job, settled
from aggopt.pipeline.prepare.attribute_blocks import Columns
from aggopt.pipeline.prepare.prepared_table import PreparedTable
from aggopt.pipeline.validate.categories import (
    count_most_distinct,
    count_widest_block,
    set_category_method,
)
from aggopt.pipeline.validate.privacy_guarantees import add_repair_for_search
from aggopt.pipeline.validate.sampling_weights import add_dominance_repair
from aggopt.pipeline.validate.units import add_repair_for_units


def with_defaults(
    job: Job, given: PreparedTable, columns: Columns
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with all settings chosen, and the reasons for the choices.

    `columns` are the attributes that are grouped together.
    """
    records = given.records
    differing = partial(count_most_distinct, records, columns)
    size, weighted = len(given.whole), given.weights is not None
    of = count_widest_block(records, columns), differing
    job, chosen = settled(job, size, *of, weighted=weighted)
    job, added = add_repair_for_search(set_category_method(job, given.table))
    job, repaired = add_repair_for_units(job, given.units)
    job, merged = add_dominance_repair(job, given.sampling, apart=given.apart)
    return job, (*chosen, *added, *repaired, *merged, *given.notes)
