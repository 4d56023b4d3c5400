"""Bounds of published numbers, and whole ones, as each block keeps them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from aggopt.aggregate.bounds import Bounds
from aggopt.aggregate.whole_numbers import round_to_whole_numbers
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.engine.reduce.group_sums import find_date_steps
from aggopt.engine.state.run_state import BlockState, RunState
from aggopt.engine.steps.count_levels import make_empty_table
from aggopt.errors import naming
from aggopt.pipeline.finish.rounding import move_inside_bounds, round_to_grid
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.pipeline.prepare.published_grid import (
    find_attribute_decimals,
    is_asked_whole,
    read_bounds,
)
from aggopt.pipeline.validate.bounds import require_inside, require_number, require_some


def list_bounded_attributes(config: RunState) -> list[str]:
    """Return the attributes whose values are to be within bounds, or whole."""
    attributes = config.job.attributes
    return [name for name, section in attributes.items() if section.limited]


def require_originals_inside(X: Floats, table: Table, config: RunState) -> None:
    """Refuse originals X (n, d) of a piece that are beyond bounds.

    Raises
    ------
    TableError
        The message has their number.
    """
    names = config.job.roles.quasi_identifier
    for name in list_bounded_attributes(config):
        with naming(repr(name)):
            require_inside(
                select_present(X[:, names.index(name)]), table, config.job, name
            )


def require_numbers_with_bounds(config: RunState, schema: pa.Schema) -> None:
    """Refuse bounds of attributes that are not numbers; raises as `require_number`."""
    table = make_empty_table(schema, config)
    for name in list_bounded_attributes(config):
        with naming(repr(name)):
            require_number(table, name)


def require_feasible_bounds(
    config: RunState, schema: pa.Schema, scale: Scale, n: Floats
) -> None:
    """Refuse bounds that exclude all values of these digits, or of this variance.

    `scale` is the scale of numbers with `n` (p,) present values; raises as
    `require_some`.
    """
    table = make_empty_table(schema, config)
    for name in list_bounded_attributes(config):
        j = config.numbers.index(name)
        ends = (part[[j]] for part in (scale.origin, scale.centre, scale.spread))
        with naming(repr(name)):
            require_some(Scale(*ends), int(n[j]), table, config.job, name)


def read_number_bounds(table: Table, config: RunState) -> Bounds:
    """Return the bounds of numbers (p,), infinite if not set."""
    return read_bounds(table, config.job, config.numbers)


def add_bounds(config: BlockState, schema: pa.Schema) -> BlockState:
    """Return the run state with the bounds of numbers on z-scores."""
    table = make_empty_table(schema, config)
    return replace(config, ends=standardise_bounds(table, config))


def standardise_bounds(table: Table, config: BlockState) -> Bounds:
    """Return the bounds of numbers (p,), on z-scores of what decides on a release."""
    ends = read_number_bounds(table, config).standardised(config.scale)
    kept_values = config.kept_values
    return ends if kept_values is None else ends.standardised(kept_values.scale)


def round_centroids(
    values: Floats, sizes: Floats, table: Table, config: RunState, scale: Scale
) -> Floats:
    """Return centroids (m, p) in their own units, on the grid of each attribute.

    `sizes` (m, p) are the records behind each: required whole numbers keep the mean of
    the block.
    """
    centroids, job = values.copy(), config.job
    for name, step in find_date_steps(config, scale).items():
        j = config.numbers.index(name)
        centroids[:, j] = config.clocks[name].on_grid(values[:, j], step)
    for j, name in enumerate(config.numbers):
        if name in config.clocks:
            continue
        spread = float(scale.spread[j])
        place = find_attribute_decimals(table, job, name, spread)
        if place is not None:
            is_complete = place == 0 and is_asked_whole(job, name)
            by = _round_whole if is_complete else _round_to_grid
            centroids[:, j] = by(values[:, j], sizes[:, j], place)
        if name in job.attributes:
            centroids[:, j] = move_inside_bounds(
                centroids[:, j], table, job, name, spread, place
            )
    return centroids


def _round_to_grid(values: Floats, sizes: Floats, place: int) -> Floats:
    return round_to_grid(values, place)


def _round_whole(values: Floats, sizes: Floats, place: int) -> Floats:
    rows = np.flatnonzero(~np.isnan(values))
    if not len(rows) or np.ptp(values[rows]) == 0:
        return round_to_grid(values, place)
    result = values.copy()
    result[rows] = round_to_whole_numbers(values[rows], sizes[rows])
    return result
