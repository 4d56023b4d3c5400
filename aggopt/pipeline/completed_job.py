"""What a job leaves open, decided for its table: a method, and repairs it implies."""

from functools import partial

from aggopt.job import Job, settled
from aggopt.pipeline.attribute_blocks import Columns
from aggopt.pipeline.category_job import most_distinct, widest, with_categories
from aggopt.pipeline.guarantees import with_search
from aggopt.pipeline.prepared import PreparedTable
from aggopt.pipeline.sampling_weights import with_dominance
from aggopt.pipeline.units import with_repair


def completed(
    job: Job, given: PreparedTable, columns: Columns
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with nothing left open, and why it is as it is.

    `columns` are those grouped together.
    """
    records = given.records
    differing = partial(most_distinct, records, columns)
    size, weighted = len(given.whole), given.weights is not None
    of = widest(records, columns), differing
    job, chosen = settled(job, size, *of, weighted=weighted)
    job, added = with_search(with_categories(job, given.table))
    job, repaired = with_repair(job, given.units)
    job, merged = with_dominance(job, given.sampling, apart=given.apart)
    return job, (*chosen, *added, *repaired, *merged, *given.notes)
