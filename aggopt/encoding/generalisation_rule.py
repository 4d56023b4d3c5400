"""Rules for true statements about groups: their form and their loss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import F64
from aggopt.core.validation import is_number
from aggopt.errors import JobError, TableError, UnknownNameError, require_known

LEAVES, HEIGHT = "leaves", "height"
COSTS = (LEAVES, HEIGHT)
ANCESTOR, SUPPRESS, INTERVAL, RANGE = "ancestor", "suppress", "interval", "range"
PUBLISHED = {  # that attributes of each kind may publish; the first is the default
    "hierarchical": (ANCESTOR, SUPPRESS),
    "nominal": (SUPPRESS,),
    "ordinal": (RANGE, SUPPRESS),
    "numeric": (RANGE, INTERVAL, SUPPRESS),
    "date": (RANGE, INTERVAL, SUPPRESS),
}


@dataclass(frozen=True, eq=False)
class GeneralisationRule:
    """What an attribute publishes about a group, and how much its loss counts.

    Attributes
    ----------
    publish
        "ancestor", the lowest common node of a tree; "suppress", the value that all
        records share, or nothing; "interval" between `cuts`; or "range", from the least
        to the greatest value.  If omitted, the type decides: a tree publishes
        ancestors, names are suppressed, and an order or a number publishes ranges, or
        intervals if cuts are set.
    cost
        Loss of a node of a tree: "leaves", "height", or a cost for each inner node, by
        its name.
    cuts
        Cut points of a number, ascending; the first and the last enclose all values.
    weight
        Factor of the loss, above 0.
    """

    publish: str | None = None
    cost: str | Mapping[Any, float] = LEAVES
    cuts: Sequence[float] | None = field(default=None, repr=False)
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.cost, Mapping):
            require_known("cost of a node", self.cost, COSTS)
        weight = self.weight
        if not (is_number(weight) and isfinite(weight) and weight > 0):
            raise JobError(
                f"weight = {weight if is_number(weight) else type(weight).__name__}.",
                fix="pass a finite number above 0; leave the attribute out if its loss "
                "does not matter.",
            )

    @property
    def is_truthful(self) -> bool:
        """Whether it states what groups publish, and not only what would be lost."""
        return self.publish is not None or self.cuts is not None

    def choose(self, kind: str) -> str:
        """Return the way in which an attribute of this kind is published.

        Raises
        ------
        JobError
            The kind has no such statement; or cuts are missing, or have no meaning.
        """
        if kind not in PUBLISHED:
            raise JobError(
                f'An attribute of kind "{kind}" publishes no true statement: groups of '
                "its levels have no names.",
                fix="give it a tree, or make it nominal.",
            )
        usual = INTERVAL if self.cuts is not None else PUBLISHED[kind][0]
        publish = usual if self.publish is None else self.publish
        if publish not in PUBLISHED[kind]:
            raise UnknownNameError(
                f"statement about attributes of kind {kind}", publish, PUBLISHED[kind]
            )
        if (publish == INTERVAL) != (self.cuts is not None):
            raise JobError(
                f'publish = "{publish}" with{"out" if self.cuts is None else ""} cuts.',
                fix='write both, cuts and publish = "interval", or neither.',
            )
        return publish


def read_cuts(cuts: Any) -> F64:
    """Return cut points (c,) as ascending numbers, two or more."""
    array = np.asarray(cuts, dtype=object)
    numbers = array.ndim == 1 and all(is_number(cut) for cut in array)
    points = array.astype(np.float64) if numbers else np.empty(0)
    if len(points) < 2 or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
        raise JobError(
            "cuts are no ascending numbers.",
            fix="name two or more, each once, lowest first: cuts = [0, 18, 45, 65].",
        )
    return points


def require_enclosed(values: F64, cuts: F64) -> None:
    """Refuse values outside the cut points; the message has their number alone."""
    outside = int(((values < cuts[0]) | (values > cuts[-1])).sum())
    if outside:
        raise TableError(
            f"{plural(outside, 'value')} of {len(values)} outside the cut points.",
            fix="name a first and a last cut point that enclose all values, or code "
            "the values below and above before.",
        )
