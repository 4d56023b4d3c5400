"""What is masked once for each unit, copied back to its records."""

from dataclasses import replace

from aggopt.input.units import Members
from aggopt.partition._shared.result import Block, Partition
from aggopt.pipeline.aggregate_step import Masked
from aggopt.pipeline.grouped import Grouped


def copied_back(given: Grouped, masked: Masked) -> tuple[Grouped, Masked]:
    """Return what was masked of units as it is of their records, each alike.

    The certificates stay those of the units.
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
        units=Members(of),
    )
    return made, replace(masked, values=masked.values[of])


def _of_records(block: Block, units: Members) -> Block:
    labels = block.labels[units.of]
    return replace(block, partition=Partition(labels, block.partition.evidence))
