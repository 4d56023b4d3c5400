"""Bounds of published numbers, and whole ones, as each block keeps them."""

from dataclasses import replace

import pyarrow as pa

from aggopt.aggregate.bounds import Bounds
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.engine.state.run_state import BlockState, RunState
from aggopt.engine.steps.count_levels import make_empty_table
from aggopt.errors import naming
from aggopt.pipeline.prepare.prepared_table import select_present
from aggopt.pipeline.prepare.published_grid import read_bounds
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
