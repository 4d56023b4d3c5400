"""Groups of a block without missing values."""

from dataclasses import replace

import numpy as np

from aggopt.core.types import I64
from aggopt.core.validation import Labels
from aggopt.data.context.confidential import list_requirements
from aggopt.data.table import Table
from aggopt.encoding import Encoded
from aggopt.encoding.incomplete import select_rows
from aggopt.engine.state.run_state import LeafState
from aggopt.engine.steps.global_confidential import read_confidential_of_part
from aggopt.engine.steps.strata import apply_within_strata
from aggopt.engine.steps.weights import (
    list_weight_requirements,
    read_weights,
    scale_weights,
)
from aggopt.engine.storage.scratch_files import load_state, stop_on_request
from aggopt.partition.registry import PARTITIONERS
from aggopt.pipeline.partition.methods import make_weight_arguments
from aggopt.repair.merge_until_satisfied import merge_until_satisfied


def partition_in_strata(table: Table, records: Encoded, config: LeafState) -> Labels:
    """Return groups of records, (n,), made within each stratum independently."""
    if config.strata is None:
        return partition_records(table, records, config)
    is_present = np.ones(len(records.attributes), bool)

    def made(rows: I64) -> Labels:
        part = replace(table, frame=table.frame[rows])
        return partition_records(part, select_rows(records, rows, is_present), config)

    return apply_within_strata(
        load_state(config.strata).of(table.frame.to_arrow()), made
    )


def partition_records(table: Table, records: Encoded, config: LeafState) -> Labels:
    """Return groups of a table, merged until they satisfy the requirements.

    `records` are its coordinates.
    """
    job, each = config.job, read_weights(table)
    on_progress = stop_on_request(config.work, 2 if job.privacy.repair else 1)
    weights = scale_weights(each, config)
    settings = {**job.partition.settings, **make_weight_arguments(job, weights)}
    partition = PARTITIONERS.of(job.partition).function(
        records,
        min(job.privacy.k, len(records)),
        **settings,
        region_size=len(records),  # all of them: no border within
        jobs=1,
        progress=on_progress,
    )
    if not job.privacy.repair:
        return partition.labels
    requirements = (
        *list_requirements(read_confidential_of_part(table.frame, config)),
        *list_weight_requirements(job, each),
    )
    return merge_until_satisfied(
        records, partition.labels, requirements, progress=on_progress, weights=weights
    )
