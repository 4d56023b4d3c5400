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
    needs: str = "both"  # or one of "original" and "released", where the other is idle


def one(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, released: of(released)


MEASURES = {
    "highest_risk": Measure(one(measure.highest_risk), 1.0, 1.0, 0.5, "released"),
    "average_risk": Measure(one(measure.average_risk), 1.0, 1.0, 0.5, "released"),
    "reidentifications": Measure(
        lambda _, y: measure.reidentifications(y) / len(y), 1.0, 1.0, 0.5, "released"
    ),
    "record_risk": Measure(
        lambda _, y: float(measure.record_risk(y).max()), 1.0, 1.0, 0.5, "released"
    ),
    "linkage": Measure(lambda x, y: measure.linkage(x, y).share, 1.0, 1.0, 0.5),
    "linkage.limit": Measure(lambda x, y: measure.linkage(x, y).limit, 1.0, 1.0, 0.5),
    "linkage.blocks": Measure(lambda x, y: measure.linkage(x, y).blocks, 1),
    "linkage, in blocks": Measure(
        lambda x, y: measure.linkage(x, y, whole=10).share, 1.0, 1.0, doubled=None
    ),
    "sse": Measure(measure.sse, 0.0, doubled=2.0),
    "sst": Measure(lambda x, _: measure.sst(x), None, doubled=2.0, needs="original"),
    "il": Measure(measure.il, 0.0),
    "il1s": Measure(measure.il1s, 0.0, doubled=None),  # S has divisor n - 1
    "pil": Measure(measure.pil, 0.0, 1.0, doubled=None),  # more records, more sure
    "dld": Measure(measure.dld, 1.0, 1.0, doubled=0.5),  # the copy is as near
    "sdid": Measure(measure.sdid, 1.0, 1.0, doubled=None),  # S again
    "sdid_chance": Measure(measure.sdid_chance, None, 1.0, doubled=None),
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
            ("highest_risk", 1.0, 1.0, 0.5),
            ("average_risk", 1.0, 1.0, 0.5),
            ("linkage", 1.0, 1.0, 0.5),
            ("linkage_limit", 1.0, 1.0, 0.5),
            ("linkage_blocks", 1),
            ("sdid_chance", None, 1.0, None),
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
