"""One point of a sweep: its settings, and its measures."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from aggopt.aggregate import Aggregation
from aggopt.core.html import HtmlFields
from aggopt.measure import PilParts
from aggopt.pipeline.finish.evaluate import Evaluation


@dataclass(frozen=True)
class SweepPoint(HtmlFields):
    """One point of the grid and its measures.

    `linkage` is the expected share of records that the best one-to-one assignment
    links, in `blocks` blocks: more than 1000 records are linked in blocks, which is
    faster and mostly gives more.  So compare points with an equal number of blocks
    only.  `gap` is the largest, None unproven; `holds` is whether the audit of the
    point's values confirms all requirements, None without requirements; `keep` names
    the kept statistics.  Of a user's aggregation `settings` are the settings varied, in
    place of `alpha`, `delta` and `keep`.
    """

    alpha: float | None
    delta: float | None
    linkage: float
    blocks: int
    si: float
    dr: float
    pil: float
    sl: float | None
    il: float
    gap: float | None
    status: str
    usable: bool = True
    holds: bool | None = None
    keep: str = "variance"
    correlation_error: float | None = None
    pil_parts: PilParts = field(default_factory=PilParts)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def at(self) -> dict[str, Any]:
        """Where in the grid it is: alpha and delta, or the settings, by name."""
        return dict(self.settings) or {"alpha": self.alpha, "delta": self.delta}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, each part of PIL under a name of its own."""
        values = asdict(self)
        parts, settings = values.pop("pil_parts"), values.pop("settings")
        own = {f"settings.{name}": value for name, value in settings.items()}
        for name in ("alpha", "delta", "keep") if own else ():
            del values[name]
        named = {f"pil_{name}": share for name, share in parts.items()}
        return own | values | named


def point_of(masked: Aggregation, tried: Evaluation, **at: Any) -> SweepPoint:
    """Return the point of these results; `at` are its settings."""
    usable = all(c.status.usable for c in masked.certificates)
    found = tried.require_measures()
    return SweepPoint(
        **{"alpha": None, "delta": None, **at},
        linkage=found.linkage,
        blocks=found.linkage_blocks,
        si=found.si,
        dr=found.dr,
        pil=found.pil,
        sl=found.sl,
        il=found.il,
        gap=masked.gap,
        status=masked.status,
        usable=usable,
        holds=tried.audit.holds if usable else None,
        correlation_error=found.correlation_error,
        pil_parts=found.pil_parts,
    )
