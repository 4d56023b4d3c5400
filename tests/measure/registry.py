"""Every measure with the facts that the laws need: a new measure is a new line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggopt import measure


@dataclass(frozen=True)
class Measure:
    of: Callable[..., Any]  # of (original, released)
    unchanged: float | None  # its value when the original is released
    top: float = np.inf
    doubled: float | None = 1.0  # its factor when every record comes twice


MEASURES = {
    "sse": Measure(measure.sse, 0.0, doubled=2.0),
    "sst": Measure(lambda x, _: measure.sst(x), None, doubled=2.0),
    "il": Measure(measure.il, 0.0),
    "il1s": Measure(measure.il1s, 0.0, doubled=None),  # S has divisor n - 1
    "pil": Measure(measure.pil, 0.0, 1.0, doubled=None),  # more records, more sure
    "dld": Measure(measure.dld, 1.0, 1.0, doubled=0.5),  # the copy is never first
    "sdid": Measure(measure.sdid, 1.0, 1.0, doubled=None),  # S again
    "dr": Measure(measure.dr, 1.0, 1.0, doubled=None),
    "si": Measure(measure.si, 0.5, 1.0, doubled=None),
    "sl": Measure(measure.sl, 0.0, 1.0),
    **{
        f"pil_parts.{part}": Measure(
            lambda x, y, part=part: getattr(measure.pil_parts(x, y), part),
            0.0,
            1.0,
            doubled=None,
        )
        for part in ("quantiles", "means", "variances", "covariances", "correlations")
    },
    **{
        f"assess.{name}": Measure(
            lambda x, y, name=name: getattr(measure.assess(x, y), name), *facts
        )
        for name, *facts in (
            ("sse", 0.0, np.inf, 2.0),
            ("sst", None, np.inf, 2.0),
            ("il", 0.0),
            ("il1s", 0.0, np.inf, None),
            ("pil", 0.0, 1.0, None),
            ("dld", 1.0, 1.0, 0.5),
            ("sdid", 1.0, 1.0, None),
            ("dr", 1.0, 1.0, None),
            ("si", 0.5, 1.0, None),
            ("sl", 0.0, 1.0),
        )
    },
}
