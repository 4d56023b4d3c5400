"""Tables of keys: values of rare combinations are suppressed, none is grouped."""

from collections.abc import Sequence

import numpy as np

from aggopt.algorithms.cell_suppression import SuppressedCells, suppress_cells
from aggopt.core.deadline import Deadline
from aggopt.core.types import Bool, Floats, Labels
from aggopt.core.validation import renumber_groups
from aggopt.data.context.strata import RecordStrata
from aggopt.job import Job
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.partition.partitioned_table import Partitions
from aggopt.pipeline.validate.missing_values import require_published_keys
from aggopt.release.audit.counts import combine_codes
from aggopt.solvers import Certificate, Status

SOLVER = "cell suppression"


def add_key_block(
    rest: Partitions, numbers: Floats, job: Job, strata: RecordStrata | None
) -> Partitions:
    """Return the groups of the rest, and the keys as a last block.

    Records of one stratum with equal published keys are a group of that block, and
    `kept` marks the values that are published.  `numbers` (n, d) are the
    quasi-identifiers as numbers.
    The certificate states the weight of the suppressed cells, and a bound.

    Raises
    ------
    JobError
        All values of a column would be suppressed.
    """
    names = job.roles.quasi_identifier
    columns = tuple(map(names.index, job.key_columns))
    values = numbers[:, list(columns)]
    codes = np.where(np.isnan(values), -1, values).astype(np.int64)
    place = {name: j for j, name in enumerate(job.key_columns)}
    tables = [[place[name] for name in keys] for keys in job.privacy.keys or ()]
    clock = Deadline(None)
    cells = _suppress_within_strata(codes, tables, job, strata)
    require_published_keys(cells.kept, job)
    bound = min(cells.bound, cells.cost)  # that differ by rounding of the prices
    proof = Certificate(
        Status.OPTIMAL if bound == cells.cost else Status.LOCAL,
        cells.cost,
        bound,
        0.0,
        SOLVER,
        clock.spent,
    )
    published = [*np.where(cells.kept, codes, -1).T]
    published += [] if strata is None else [strata.labels]
    labels = combine_codes(map(renumber_groups, published))
    is_kept = np.ones(numbers.shape, bool) if rest.kept is None else rest.kept.copy()
    is_kept[:, list(columns)] = cells.kept
    block = Block(columns, Partition(labels, proof))
    return Partitions((*rest.blocks, block), None if is_kept.all() else is_kept)


def _suppress_within_strata(
    codes: Labels,
    tables: Sequence[Sequence[int]],
    job: Job,
    strata: RecordStrata | None,
) -> SuppressedCells:
    """Return the cells whose suppression leaves k records of a stratum equal."""
    prices = _read_prices(job)
    members = [np.arange(len(codes))] if strata is None else [*strata.members]
    is_kept = np.empty(codes.shape, bool)
    cost = bound = 0.0
    for rows in members:
        cells = suppress_cells(codes[rows], tables, job.privacy.k, prices)
        is_kept[rows] = cells.kept
        cost += cells.cost
        bound += cells.bound
    return SuppressedCells(is_kept, cost, bound)


def _read_prices(job: Job) -> Floats:
    """Return the price of a suppressed cell of each key: its weight in the job."""
    sections = (job.attributes.get(name) for name in job.key_columns)
    return np.array([1.0 if s is None else s.weight for s in sections])


def select_grouped(
    columns: Sequence[tuple[int, ...]], job: Job
) -> tuple[tuple[int, ...], ...]:
    """Return the blocks that are grouped: all but the columns of tables of keys."""
    return tuple(columns[:-1] if job.key_columns else columns)


def find_present(numbers: Floats) -> Bool | None:
    """Return which values are present (n, d); None if all are."""
    present = ~np.isnan(numbers)
    return None if present.all() else present
