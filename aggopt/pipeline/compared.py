"""Originals beside a release, and how far its rounding may move a value."""

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.job import Output
from aggopt.output.originals import GRID, Originals
from aggopt.pipeline.rounding import place_of


def compared(before: Floats, after: Floats, output: Output) -> Originals:
    """Return quasi-identifiers before and after masking, both (n, d), with the step.

    That is half of the grid on which a job publishes values, or `GRID` if larger.
    """
    spreads = map(float, Scale.of(before).spread)
    steps = [max(GRID * spread, _half(spread, output)) for spread in spreads]
    return Originals(before, after, np.array(steps))


def _half(spread: float, output: Output) -> float:
    place = place_of(spread, output) if spread else None
    return 0.0 if place is None else 0.5 * float(f"1e{-place}")
