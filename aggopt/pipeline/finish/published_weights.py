"""The column of sampling weights in a release."""

from dataclasses import replace

import numpy as np

from aggopt.data.restore_types import replace_values
from aggopt.data.table import Table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable


def add_weights(given: PartitionedTable, made: Table) -> Table:
    """Return a release with its weights as the job publishes them.

    Weights are the mean of each group, which keeps the sum of weights in it; or they
    are dropped, or unchanged.
    """
    sampling, how = given.sampling, given.job.weights.published
    if sampling is None or how == "as is":
        return made
    name = sampling.name
    if how == "drop":
        books = {n: book for n, book in made.codebooks.items() if n != name}
        return replace(
            made,
            frame=made.frame.drop(name),
            roles=given.job.released_roles,
            codebooks=books,
        )
    labels = given.labels
    means = np.bincount(labels, sampling.each) / np.bincount(labels)
    column = replace_values(made.frame[name], means[labels], round_integers=False)
    return replace(made, frame=made.frame.with_columns(column))
