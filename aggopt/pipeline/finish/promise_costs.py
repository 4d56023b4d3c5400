"""Notes on the least cost of requirements of groups, and on their cost here."""

import numpy as np

from aggopt.data.context.confidential import list_requirements
from aggopt.partition.shared.result import Block
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.release.manifest import PROMISE_COST, partition_names

FEWEST = 10  # records, below which no figure on their squares is published


def describe_promise_costs(partitioned: PartitionedTable) -> list[str]:
    """Return a note for each partition that a repair has changed.

    Groups that satisfy the requirements lose the bound of the certificate or more, and
    groups of k alone need not lose more than those before the repair.
    """
    if len(partitioned.whole) < FEWEST:
        return []
    requirements = list_requirements(partitioned.held)
    texts = [
        f"{requirement.name} {requirement.sign} {requirement.required:g}"
        for requirement in requirements
    ]
    promise = " and ".join(dict.fromkeys(texts)) or "the requirements besides k"
    names = partition_names(partitioned.blocks, partitioned.job)
    several = len(partitioned.blocks) > 1
    notes = []
    for attributes, block in zip(names, partitioned.blocks, strict=True):
        whose = f" of {', '.join(attributes)}" if several else ""
        costs = _describe_costs(block, partitioned.job.privacy.k, promise, whose)
        notes += [] if costs is None else [costs]
    return notes


def _describe_costs(block: Block, k: int, promise: str, whose: str) -> str | None:
    """Return the costs of the requirements as text; None if nothing is known of them.

    `promise` states the requirements, and `whose` the attributes.
    """
    free = block.unrepaired_loss
    proof = block.certificate
    if not free or not np.isfinite(free) or proof.objective <= free:
        return None
    cost = f"{_round_percent_down(proof.objective / free - 1)} {PROMISE_COST}"
    if proof.bound is None or proof.bound <= free:
        return (
            f"Groups{whose} with {promise}: no least cost compared with k = {k} alone "
            f"is proven. They cost {cost}"
        )
    added_share = _round_percent_down(proof.bound / free - 1)
    return (
        f"Groups{whose} with {promise} cost at least {added_share} more squared "
        f"error than the best groups of k = {k} alone. They cost {cost}"
    )


def _round_percent_down(share: float) -> str:
    """Return a share as text in percent, rounded down."""
    return f"{np.floor(1000 * share) / 10:.1f} %"
