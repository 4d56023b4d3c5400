"""Columns of a release besides the masked ones: pseudonyms and sampling weights."""

from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.randomness import draw_permutation
from aggopt.data.restore_types import replace_values
from aggopt.data.table import Table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable


def add_pseudonyms(partitioned: PartitionedTable, released: Table) -> Table:
    """Return a release with a number for each unit, 1..m, if the job requests it.

    The order of the numbers depends only on the secret of the release.  They reveal
    nothing about a unit, and differ from those of any other release.
    """
    name, units = partitioned.job.pseudonym, partitioned.units
    if name is None or units is None:
        return released
    turn = draw_permutation(partitioned.secret, "pseudonyms of units", units.count)
    frame = released.frame
    column = nw.new_series(name, 1 + turn[units.of], backend=frame.implementation)
    if frame.implementation.is_pandas():
        native = column.to_native()
        native.index = frame.to_native().index
        column = nw.from_native(native, series_only=True)
    return replace(
        released, frame=frame.with_columns(column), roles=partitioned.job.released_roles
    )


def add_weights(partitioned: PartitionedTable, released: Table) -> Table:
    """Return a release with its weights as the job publishes them.

    Weights are the mean of each group, which keeps the sum of weights in it; or they
    are dropped, or unchanged.
    """
    sampling, published = partitioned.sampling, partitioned.job.weights.published
    if sampling is None or published == "as is":
        return released
    name = sampling.name
    if published == "drop":
        books = {n: book for n, book in released.codebooks.items() if n != name}
        return replace(
            released,
            frame=released.frame.drop(name),
            roles=partitioned.job.released_roles,
            codebooks=books,
        )
    labels = partitioned.labels
    means = np.bincount(labels, sampling.each) / np.bincount(labels)
    column = replace_values(released.frame[name], means[labels], round_integers=False)
    return replace(released, frame=released.frame.with_columns(column))
