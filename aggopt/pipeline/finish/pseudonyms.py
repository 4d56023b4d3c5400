"""Add a column that shows which records of a release belong to one unit."""

from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.randomness import draw_permutation
from aggopt.data.context.strata import RecordStrata
from aggopt.data.context.units import RecordUnits
from aggopt.data.table import Table
from aggopt.errors import JobError
from aggopt.job import Job
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


def require_linkable(
    job: Job, units: RecordUnits | None, strata: RecordStrata | None
) -> None:
    """Refuse pseudonyms if the joint values of its records would identify a unit.

    Raises
    ------
    JobError
        Records of a unit may be of several groups; or units of a stratum have different
        numbers of records.
    """
    if units is None or job.pseudonym is None:
        return
    sizes = np.bincount(units.of)
    if units.records is None and sizes.max() > 1:
        raise JobError(
            "Pseudonyms tell which records are of one unit, and the records of a unit "
            "are masked each by itself: the groups that they are of, taken together, "
            "tell the unit apart.",
            fix="name every quasi-identifier as attributes under [units], if they are "
            'the same within a unit; or set published = "drop" there.',
        )
    labels = np.zeros_like(sizes)
    if strata is not None and units.records is not None:
        labels = strata.labels
    differ = len({*zip(labels.tolist(), sizes.tolist(), strict=True)})
    several = differ - int(labels.max()) - 1
    if several:
        raise JobError(
            f"Pseudonyms tell how many records a unit has, and {len(sizes)} units have "
            f"{len({*sizes.tolist()})} different numbers of records, by which groups "
            "are not made.",
            fix="add a column with the number of records of each unit to the table, "
            'and name it as stratum under [roles]; or set published = "drop" under '
            "[units].",
        )
