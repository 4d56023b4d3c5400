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
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.job import Job, Mean
from aggopt.partition.shared.result import Block
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable, aggregate_table
from aggopt.pipeline.aggregate.unit_values import copy_to_records
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, read_table
from aggopt.pipeline.validate.units import require_uniform_settings

Part = tuple[PartitionedTable, AggregatedTable]


def mask_units_and_records(
    data: Any, job: Job, on_progress: Progress, known: str | None
) -> Part:
    """Return the table, grouped by both kinds of attributes, and its published values.

    Each kind has random numbers of its own.

    Raises
    ------
    TableError, JobError, InfeasibleInputError, SolverError
        As `aggopt.mask`.
    """
    job = job.contained()
    own = make_secret() if known is None else require_secret(known)
    table, _ = read_table(data, job)
    parts = []
    for number, part in enumerate(split_job(job, table)):
        apart = f"{derive_seed(own, f'part {number}'):0{BITS // 4}x}"
        given = partition_table(data, part, on_progress, known=apart)
        parts.append(copy_to_records(given, aggregate_table(given, on_progress)))
    return _join_parts(table, job, own, parts)


def split_job(job: Job, table: Table) -> tuple[Job, ...]:
    """Return the job of the attributes of units, and that of the attributes of records.

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
    return _of(job, table, one, other), _of(job, table, other, one)


def _of(job: Job, table: Table, names: Sequence[str], left: Sequence[str]) -> Job:
    """Return the job that masks the attributes `names`, and drops those in `left`."""
    roles, how = job.roles, job.aggregation
    numbers = [name for name in names if name not in table.domains]
    if not numbers:
        how = Mean(categories=how.categories)
    if len(numbers) == len(names):
        how = how.model_copy(update={"categories": None})
    masked = {"quasi_identifier": names, "identifier": (*roles.identifier, *left)}
    types = {name: said for name, said in job.attributes.items() if name not in left}
    of_units = set(names) <= set(job.units.attributes)
    units = job.units.model_copy(update={"attributes": names if of_units else ()})
    update = {"roles": roles.model_copy(update=masked), "attributes": types}
    return job.model_copy(update={**update, "aggregation": how, "units": units})


def _join_parts(table: Table, job: Job, own: str, parts: Sequence[Part]) -> Part:
    """Return both parts as one, the attributes in the order of the job."""
    names, whole = job.roles.quasi_identifier, table.matrix()
    values, kept = np.empty(whole.shape), np.full(whole.shape, True)
    blocks, at = [], []
    for given, masked in parts:
        columns = [names.index(name) for name in given.job.roles.quasi_identifier]
        values[:, columns] = masked.values
        if given.kept is not None:
            kept[:, columns] = given.kept
        at.append([table.numeric.index(name) for name in given.names])
        for block in given.blocks:
            places = tuple(columns[j] for j in block.columns)
            blocks.append(Block(places, block.partition))
    every = [given for given, _ in parts]
    *_, last = every
    found = {n: c for _, masked in parts for n, c in masked.certificates.items()}
    ordered = sorted(found, key=lambda name: names.index(name.split(", ")[0]))
    made = replace(
        last,
        job=job,
        table=table,
        whole=whole,
        records=whole,
        blocks=tuple(blocks),
        asked=_asked(every, at, (len(whole), len(table.numeric))),
        reasons=tuple(dict.fromkeys(why for given in every for why in given.reasons)),
        secret=own,
        kept=None if kept.all() else kept,
    )
    notes = tuple(note for _, masked in parts for note in masked.notes)
    return made, AggregatedTable(values, {name: found[name] for name in ordered}, notes)


def _asked(
    every: Sequence[PartitionedTable],
    at: Sequence[Sequence[int]],
    shape: tuple[int, int],
) -> dict[str, Floats]:
    """Return the requests of records for each number, (n, p)."""
    found: dict[str, Floats] = {}
    for given, places in zip(every, at, strict=True):
        for name, asked in given.asked.items():
            found.setdefault(name, np.zeros(shape))[:, places] = asked
    return found
