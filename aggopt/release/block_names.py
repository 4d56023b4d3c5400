"""Blocks of attributes by name, and the certificates of their partitions."""

from collections.abc import Sequence

from aggopt.job import Job
from aggopt.partition.shared.result import Block
from aggopt.solvers import Certificate


def block_names(
    columns: Sequence[Sequence[int]], job: Job
) -> tuple[tuple[str, ...], ...]:
    """Return the attributes in each block of column positions."""
    names = job.roles.quasi_identifier
    return tuple(tuple(names[j] for j in block) for block in columns)


def partition_names(blocks: Sequence[Block], job: Job) -> tuple[tuple[str, ...], ...]:
    """Return the attributes of each block."""
    return block_names(tuple(block.columns for block in blocks), job)


def partition_certificates(blocks: Sequence[Block], job: Job) -> dict[str, Certificate]:
    """Return the certificate of each partition, by its attributes."""
    named_blocks = zip(partition_names(blocks, job), blocks, strict=True)
    return {", ".join(names): b.certificate for names, b in named_blocks}
