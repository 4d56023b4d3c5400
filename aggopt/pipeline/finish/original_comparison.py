"""Originals next to a release, and how far its rounding may move a value."""

import numpy as np
import pyarrow as pa

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.data.table import Table
from aggopt.encoding import Domain
from aggopt.encoding.clock import Clock
from aggopt.job import Output
from aggopt.pipeline.finish.rounding import choose_time_step
from aggopt.pipeline.prepare.published_grid import choose_decimals
from aggopt.release.audit.originals import GRID, Originals


def compare_originals(
    before: Floats, after: Floats, output: Output, table: Table | None = None
) -> Originals:
    """Return quasi-identifiers before and after masking, both (n, d), with the step.

    That is half of the grid on which a job publishes numbers, or `GRID` if larger.
    Without a table, all attributes are plain numbers.
    """
    steps = np.zeros(before.shape[1])
    places = list(range(len(steps))) if table is None else table.places
    clocks = {} if table is None else _clocks(table)
    if places:
        spreads = Scale.of(before[:, places]).spread.tolist()
        steps[places] = [
            rounding_distance(spread, output, clocks.get(j))
            for j, spread in zip(places, spreads, strict=True)
        ]
    lengths = {j for j, clock in clocks.items() if pa.types.is_duration(clock.type)}
    dates = tuple(sorted({*clocks} - lengths))
    domains = {} if table is None else _domains(table)
    return Originals(
        before, after, steps, tuple(places), dates, tuple(lengths), domains
    )


def _domains(table: Table) -> dict[int, Domain]:
    names = table.roles.quasi_identifier
    return {names.index(name): domain for name, domain in table.domains.items()}


def _clocks(table: Table) -> dict[int, Clock]:
    names = table.roles.quasi_identifier
    return {names.index(name): clock for name, clock in table.clocks.items()}


def rounding_distance(spread: float, output: Output, clock: Clock | None) -> float:
    """Return how far rounding may move a value of an attribute of this spread."""
    return max(GRID * spread, _half(spread, output, clock))


def _half(spread: float, output: Output, clock: Clock | None) -> float:
    if clock is not None:
        return 0.5 * choose_time_step(clock, spread, output)
    place = choose_decimals(spread, output) if spread else None
    return 0.0 if place is None else 0.5 * float(f"1e{-place}")
