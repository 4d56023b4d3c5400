"""Add a column that shows which records of a release belong to one unit."""

from dataclasses import replace

import narwhals.stable.v2 as nw

from aggopt.core.randomness import draw_permutation
from aggopt.data.table import Table
from aggopt.pipeline.partition.partitioned_table import PartitionedTable


def add_pseudonyms(given: PartitionedTable, made: Table) -> Table:
    """Return a release with a number for each unit, 1..m, if the job requests it.

    The order of the numbers depends only on the secret of the release.  They reveal
    nothing about a unit, and differ from those of any other release.
    """
    name, units = given.job.pseudonym, given.units
    if name is None or units is None:
        return made
    turn = draw_permutation(given.secret, "pseudonyms of units", units.count)
    frame = made.frame
    column = nw.new_series(name, 1 + turn[units.of], backend=frame.implementation)
    if frame.implementation.is_pandas():
        native = column.to_native()
        native.index = frame.to_native().index
        column = nw.from_native(native, series_only=True)
    return replace(
        made, frame=frame.with_columns(column), roles=given.job.released_roles
    )
