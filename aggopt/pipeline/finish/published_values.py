"""The released table: published values, sampling weights and pseudonyms."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.randomness import draw_permutation
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats, Labels
from aggopt.data.restore_types import replace_values
from aggopt.data.table import Table
from aggopt.job import Job
from aggopt.pipeline.finish.rounding import find_time_steps, round_numbers
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.published_grid import (
    is_asked_whole,
)


def round_release(partitioned: PartitionedTable, values: Floats) -> Table:
    """Return the table that publishes values (n, d), rounded by the job's settings."""
    table = partitioned.table
    job = partitioned.job
    sampling = partitioned.sampling
    rounded = values.copy()
    rounded[:, table.places] = round_numbers_of_table(
        partitioned, partitioned.of_numbers(values)
    )
    spreads = Scale.of(partitioned.X).spread
    released = publish_values(table, rounded, partitioned.labels, job, spreads)
    if sampling is not None:
        released = publish_weights(released, partitioned.labels, sampling.values, job)
    return add_pseudonyms(partitioned, released)


def publish_values(
    table: Table,
    values: Floats,
    labels: Labels,
    job: Job,
    spreads: Floats,
    levels: Mapping[str, nw.Series[Any]] = MappingProxyType({}),
) -> Table:
    """Return a copy of the table with published values (n, d), typed and rounded.

    Groups are `labels` (n,) or (n, d), for the statements that are published of them.
    `spreads` (p,) are the standard deviations of its numbers.  `levels` has the entries
    of each category if these records are some of all.
    """
    return table.with_values(
        values,
        round_integers=job.output.round_integers,
        integers=[name for name in table.numeric if is_asked_whole(job, name)],
        levels=levels,
        steps=find_time_steps(table.clocks, table.numeric, spreads, job.output),
        labels=labels,
    )


def publish_weights(
    released: Table, labels: Labels, weights: Floats, job: Job
) -> Table:
    """Return the release with sampling weights (n,) as the job publishes them.

    Weights are the mean of each group, which keeps the sum of weights in it; or they
    are dropped, or unchanged.
    """
    published = job.weights.published
    if published == "as is":
        return released
    (name,) = job.roles.weight
    frame = released.frame
    if published == "drop":
        books = {n: book for n, book in released.codebooks.items() if n != name}
        return replace(
            released, frame=frame.drop(name), roles=job.released_roles, codebooks=books
        )
    means = np.bincount(labels, weights) / np.bincount(labels)
    column = replace_values(frame[name], means[labels], round_integers=False)
    return replace(released, frame=frame.with_columns(column))


def add_pseudonyms(partitioned: PartitionedTable, released: Table) -> Table:
    """Return the release with a pseudonym of each unit, 1..m, if requested.

    The order of the numbers depends only on the secret of the release.  They reveal
    nothing about a unit, and differ from those of any other release.
    """
    name = partitioned.job.pseudonym
    units = partitioned.units
    if name is None or units is None:
        return released
    turn = draw_permutation(partitioned.secret, "pseudonyms of units", units.count)
    frame = released.frame
    column = nw.new_series(
        name, 1 + turn[units.unit_of_record], backend=frame.implementation
    )
    if frame.implementation.is_pandas():
        native = column.to_native()
        native.index = frame.to_native().index
        column = nw.from_native(native, series_only=True)
    return replace(
        released, frame=frame.with_columns(column), roles=partitioned.job.released_roles
    )


def round_numbers_of_table(partitioned: PartitionedTable, values: Floats) -> Floats:
    """Return values (n, p) of the table's numbers on the grid of each."""
    return round_numbers(
        values,
        partitioned.labels_of_numbers,
        partitioned.weights,
        Scale.of(partitioned.X).spread,
        partitioned.table,
        partitioned.job,
    )
