"""Copy the masked values of each unit back to its records."""

from dataclasses import replace

from aggopt.data.context.units import RecordUnits
from aggopt.partition.shared.result import Block, Partition
from aggopt.pipeline.aggregate.aggregate_table import AggregatedTable
from aggopt.pipeline.partition.partitioned_table import PartitionedTable


def copy_to_records(
    given: PartitionedTable, masked: AggregatedTable
) -> tuple[PartitionedTable, AggregatedTable]:
    """Return the masked values of units for each of their records.

    The certificates remain those of the units.
    """
    units = given.units
    if units is None or units.records is None:
        return given, masked
    of = units.of
    table, strata = units.records, given.strata
    made = replace(
        given,
        table=table,
        whole=table.matrix(),
        blocks=tuple(_of_records(block, units) for block in given.blocks),
        asked={name: asked[of] for name, asked in given.asked.items()},
        kept=None if given.kept is None else given.kept[of],
        strata=None if strata is None else replace(strata, labels=strata.labels[of]),
        units=RecordUnits(of),
    )
    return made, replace(masked, values=masked.values[of])


def _of_records(block: Block, units: RecordUnits) -> Block:
    labels = block.labels[units.of]
    return replace(block, partition=Partition(labels, block.partition.evidence))
