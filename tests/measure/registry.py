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


def stated(
    name: str,
    unchanged: float | None,
    doubled: float | None = 1.0,
    of: Callable[..., Any] | None = None,
) -> Measure:
    """Return a measure with the range and the tables that it states itself."""
    said = measure.MEASURES[name]
    own = {"both": said.function, "released": one(said.function)}
    own["original"] = lambda original, _: said.function(original)
    top, needs = said.highest, said.needs
    return Measure(of or own[needs], unchanged, top, doubled, needs)


def one(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, released: of(released)


MEASURES = {
    "highest_risk": stated("highest_risk", 1.0, 0.5),
    "average_risk": stated("average_risk", 1.0, 0.5),
    "reidentifications": Measure(
        lambda _, y: measure.reidentifications(y) / len(y), 1.0, 1.0, 0.5, "released"
    ),
    "record_risk": stated(
        "record_risk", 1.0, 0.5, lambda _, y: float(measure.record_risk(y).max())
    ),
    "linkage": stated("linkage", 1.0, 0.5, lambda x, y: measure.linkage(x, y).share),
    "linkage.limit": Measure(lambda x, y: measure.linkage(x, y).limit, 1.0, 1.0, 0.5),
    "linkage.blocks": Measure(lambda x, y: measure.linkage(x, y).blocks, 1),
    "linkage, in blocks": Measure(
        lambda x, y: measure.linkage(x, y, whole=10).share, 1.0, 1.0, doubled=None
    ),
    "sse": stated("sse", 0.0, 2.0),
    "sst": stated("sst", None, 2.0),
    "il": stated("il", 0.0),
    "il1s": stated("il1s", 0.0, None),  # S has divisor n - 1
    "pil": stated("pil", 0.0, None),  # more records, more sure
    "correlation_error": stated("correlation_error", 0.0),
    "mean_correlation_error": stated("mean_correlation_error", 0.0),
    "dld": stated("dld", 1.0, 0.5),  # the copy is as near
    "dld, second nearest": Measure(
        lambda x, y: measure.dld(x, y, nearest=2), 1.0, 1.0, None
    ),
    "interval_disclosure": stated("interval_disclosure", 1.0),
    "interval_disclosure by rank": Measure(
        lambda x, y: measure.interval_disclosure(x, y, relative_to="rank"),
        *(1.0, 1.0, None),
    ),
    "range_sse": stated("range_sse", 0.0, 2.0),
    "sdid": stated("sdid", 1.0, None),  # S again
    "sdid_chance": stated("sdid_chance", None, None),
    "dr": stated("dr", 1.0, None),
    "si": stated("si", 0.5, None),
    "sl": stated("sl", 0.0),
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
            ("correlation_error", 0.0, 2.0),
            ("mean_correlation_error", 0.0, 2.0),
            ("dld", 1.0, 1.0, 0.5),
            ("sdid", 1.0, 1.0, None),
            ("dr", 1.0, 1.0, None),
            ("si", 0.5, 1.0, None),
            ("sl", 0.0, 1.0),
        )
    },
}
