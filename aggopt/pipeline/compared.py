"""Originals beside a release, and how far its rounding may move a value."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.job import Output
from aggopt.output.originals import GRID, Originals
from aggopt.pipeline.rounding import place_of


def compared(
    before: Floats, after: Floats, output: Output, numeric: Sequence[int] | None = None
) -> Originals:
    """Return quasi-identifiers before and after masking, both (n, d), with the step.

    That is half of the grid on which a job publishes numbers, or `GRID` if larger.
    `numeric` are the positions of these; all when omitted.
    """
    steps = np.zeros(before.shape[1])
    places = list(range(len(steps)) if numeric is None else numeric)
    if places:
        spreads = Scale.of(before[:, places]).spread.tolist()
        steps[places] = [max(GRID * s, _half(s, output)) for s in spreads]
    return Originals(before, after, steps, tuple(places))


def _half(spread: float, output: Output) -> float:
    place = place_of(spread, output) if spread else None
    return 0.0 if place is None else 0.5 * float(f"1e{-place}")
