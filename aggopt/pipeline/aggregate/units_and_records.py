"""Mask attributes of units and attributes of records in one job.

Attributes of units are masked once for each unit, on the table of units.  Attributes of
records are masked in groups with records of k units.  k holds for both kinds, and the
audit checks both.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggopt.core.randomness import BITS, derive_seed, make_secret, require_secret
from aggopt.core.types import Floats
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.job import Job, Mean
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable, aggregate_table
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, read_table
from aggopt.pipeline.validate.units import require_uniform_settings

Part = tuple[PartitionedTable, AggregatedTable]


def mask_units_and_records(
    data: Any, job: Job, on_progress: Progress, secret: str | None
) -> Part:
    """Return a partitioned table of both kinds of attributes, and its values.

    Each kind has random numbers of its own.

    Raises
    ------
    TableError, JobError, InfeasibleInputError, SolverError
        As `aggopt.mask`.
    """
    job = job.load_contents()
    own_secret = make_secret() if secret is None else require_secret(secret)
    table, _ = read_table(data, job)
    parts = []
    for number, part in enumerate(split_job(job, table)):
        apart = f"{derive_seed(own_secret, f'part {number}'):0{BITS // 4}x}"
        partitioned = partition_table(data, part, on_progress, secret=apart)
        parts.append(
            copy_to_records(partitioned, aggregate_table(partitioned, on_progress))
        )
    return _join_parts(table, job, own_secret, parts)


def split_job(job: Job, table: Table) -> tuple[Job, ...]:
    """Return the job for attributes of units, and the job for attributes of records.

    If all attributes are of one kind, return only the job itself.  Raises as
    `require_uniform_settings`.
    """
    require_uniform_settings(job)
    of_units = set(job.units.attributes)
    names = job.roles.quasi_identifier
    if not job.units.apart(job.roles):
        return (job,)
    one = tuple(name for name in names if name in of_units)
    other = tuple(name for name in names if name not in of_units)
    return _restrict_job(job, table, one, other), _restrict_job(job, table, other, one)


def _restrict_job(
    job: Job, table: Table, names: Sequence[str], left: Sequence[str]
) -> Job:
    """Return the job that masks the attributes `names`, and drops those in `left`."""
    roles = job.roles
    aggregation = job.aggregation
    numbers = [name for name in names if name not in table.domains]
    if not numbers:
        aggregation = Mean(categories=aggregation.categories)
    if len(numbers) == len(names):
        aggregation = aggregation.model_copy(update={"categories": None})
    masked = {"quasi_identifier": names, "identifier": (*roles.identifier, *left)}
    types = {
        name: section for name, section in job.attributes.items() if name not in left
    }
    of_units = set(names) <= set(job.units.attributes)
    units = job.units.model_copy(update={"attributes": names if of_units else ()})
    update = {"roles": roles.model_copy(update=masked), "attributes": types}
    return job.model_copy(update={**update, "aggregation": aggregation, "units": units})


def _join_parts(table: Table, job: Job, secret: str, parts: Sequence[Part]) -> Part:
    """Return both parts joined: attributes in the order of the job."""
    names = job.roles.quasi_identifier
    matrix = table.matrix()
    values = np.empty(matrix.shape)
    is_kept = np.full(matrix.shape, True)
    blocks = []
    at = []
    for partitioned, masked in parts:
        columns = [names.index(name) for name in partitioned.job.roles.quasi_identifier]
        values[:, columns] = masked.values
        if partitioned.kept is not None:
            is_kept[:, columns] = partitioned.kept
        at.append([table.numeric.index(name) for name in partitioned.names])
        for block in partitioned.blocks:
            places = tuple(columns[j] for j in block.columns)
            blocks.append(Block(places, block.partition))
    every = [partitioned for partitioned, _ in parts]
    *_, last = every
    certificates = {n: c for _, masked in parts for n, c in masked.certificates.items()}
    ordered = sorted(certificates, key=lambda name: names.index(name.split(", ")[0]))
    joined = replace(
        last,
        job=job,
        table=table,
        whole=matrix,
        records=matrix,
        blocks=tuple(blocks),
        asked=_join_requests(every, at, (len(matrix), len(table.numeric))),
        reasons=tuple(
            dict.fromkeys(why for partitioned in every for why in partitioned.reasons)
        ),
        secret=secret,
        kept=None if is_kept.all() else is_kept,
    )
    notes = tuple(note for _, masked in parts for note in masked.notes)
    return joined, AggregatedTable(
        values, {name: certificates[name] for name in ordered}, notes
    )


def _join_requests(
    partitioned_tables: Sequence[PartitionedTable],
    columns: Sequence[Sequence[int]],
    shape: tuple[int, int],
) -> dict[str, Floats]:
    """Return the requested distances and importances of all numbers, (n, p)."""
    requests: dict[str, Floats] = {}
    for partitioned, places in zip(partitioned_tables, columns, strict=True):
        for name, values in partitioned.asked.items():
            requests.setdefault(name, np.zeros(shape))[:, places] = values
    return requests


def copy_to_records(
    partitioned: PartitionedTable, masked: AggregatedTable
) -> tuple[PartitionedTable, AggregatedTable]:
    """Return groups and values of units, repeated for each of their records.

    The certificates remain those of the units.
    """
    units = partitioned.units
    if units is None or units.records is None:
        return partitioned, masked
    unit_of_record = units.unit_of_record
    table = units.records
    strata = partitioned.strata
    matrix = replace(
        partitioned,
        table=table,
        whole=table.matrix(),
        blocks=tuple(_copy_block(block, units) for block in partitioned.blocks),
        asked={
            name: values[unit_of_record] for name, values in partitioned.asked.items()
        },
        kept=None if partitioned.kept is None else partitioned.kept[unit_of_record],
        strata=None
        if strata is None
        else replace(strata, labels=strata.labels[unit_of_record]),
        units=RecordUnits(unit_of_record),
    )
    return matrix, replace(masked, values=masked.values[unit_of_record])


def _copy_block(block: Block, units: RecordUnits) -> Block:
    """Return a block of attributes with the unit's group for each record."""
    labels = block.labels[units.unit_of_record]
    return replace(block, partition=Partition(labels, block.partition.evidence))
