"""t-closeness: confidential values distributed in each group as in the table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
)

from aggopt.core.section import Finite, Section, to_plain, to_plain_number
from aggopt.core.types import F64, I64, Bool
from aggopt.privacy.distance import Distance
from aggopt.privacy.metric import Kind
from aggopt.privacy.model import Attribute, PrivacyModel
from aggopt.privacy.requirement import Requirement


@dataclass(frozen=True, eq=False)
class Closeness(Requirement):
    """The earth mover's distance of each group from the table is at most t."""

    model: ClassVar[str] = "t"
    sign: ClassVar[str] = "<="

    attribute: str
    distance: Distance = field(repr=False)
    t: float | Fraction
    kind: str = "ordered"

    @property
    def n(self) -> int:
        """Number of records."""
        return self.distance.n

    @property
    def name(self) -> str:
        """Name of the requirement, with its distance."""
        return f"t ({self.kind})"

    @property
    def required(self) -> float:
        """The required t."""
        return float(self.t)

    @cached_property
    def limits(self) -> I64:
        """Largest numerator that t allows, by the size of a group, (n + 1,)."""
        return self.distance.limits(self.t)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the distance of each group, (groups,)."""
        unit = max(self.distance.unit, 1)
        sizes = np.diff(starts)
        return np.asarray(
            self._compute_numerators(records, starts) / (float(unit) * sizes)
        )

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group is farther than t, decided in whole numbers."""
        sizes, which = np.unique(np.diff(starts), return_inverse=True)
        allowed = self.distance.limits(self.t, sizes)[which]
        return np.asarray(self._compute_numerators(records, starts) > allowed)

    def measure_shortfall(self, records: I64, starts: I64) -> F64:
        """Return the excess of each group over t, 0 if none."""
        over = self.measure_groups(records, starts) - float(self.t)
        lowest = 1 / (1 + np.diff(starts) * len(records))
        return np.where(
            self.find_broken(records, starts), np.maximum(over, lowest), 0.0
        )

    def find_worst(self, records: I64, starts: I64, values: F64) -> float:
        """Return the largest distance, exact before it is rounded once."""
        numerators = self._compute_numerators(records, starts)
        return float(self.distance.worst(numerators, np.diff(starts)))

    def describe_kept(self, value: float) -> str:
        """Return the t that these groups satisfy."""
        return f"t of at least {value:.6g}, rounded up"

    @property
    def trivial(self) -> bool:
        """Whether the attribute has one value only."""
        return self.distance.unit == 0

    def _compute_numerators(self, records: I64, starts: I64) -> I64:
        """Return the EMD numerator of each group, (groups,)."""
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        places = self.distance.place[records]
        return self.distance.runs(places[np.lexsort((places, group))], starts)


class Settings(Section):
    """The keys of t.

    Attributes
    ----------
    t, distance
        Largest distance from the table of the distribution of each confidential
        attribute among records that share their published values:
        `aggopt.privacy.t_closeness` with distinct bins.
    """

    t: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        strict=True,
        description="choose 0 < t < 1, strictly between: 0.05 is strict, 0.25 is "
        "lenient.",
    )
    distance: Kind = "ordered"


def _simplify_tree(tree: Any) -> Any:
    return None if tree is None else to_plain(tree)


Value = Annotated[
    StrictBool | StrictInt | Finite | StrictStr, BeforeValidator(to_plain_number)
]


class Treatment(Section):
    """Comparison of the values of one attribute.

    Attributes
    ----------
    distance
        As `aggopt.privacy.t_closeness`; by default the distance of [privacy].
    order
        The values from lowest to highest, of an ordered distance on text.
    tree
        Tree of the hierarchical distance: nested, or the parent of each value.
    """

    distance: Kind | None = None
    order: tuple[Value, ...] | None = Field(
        default=None,
        min_length=1,
        description="list each value once, lowest first, as text, numbers or true and "
        'false: order = ["low", "middle", "high"].',
    )
    tree: Annotated[dict[str, Any] | None, AfterValidator(_simplify_tree)] = Field(
        default=None,
        min_length=1,
        description='nest it, tree = { lung = ["asthma", "flu"], heart = ["attack"] }, '
        "or name the parent of each value.",
    )


def _build_requirement(attribute: Attribute, settings: Settings) -> Requirement:
    """Return the requirement on an attribute for the settings of `[privacy]`."""
    if settings.t is None:
        raise ValueError("No t is required.")
    kind = str(attribute.treatment.distance)
    return Closeness(attribute.name, attribute.distance(), settings.t, kind)


def _describe_sense(settings: Settings, treatments: Sequence[Any]) -> str:
    """Return the text of the required distance for a note."""
    kinds = dict.fromkeys(str(treatment.distance) for treatment in treatments)
    return f"by the {' and '.join(kinds)} distance"


def _is_simple(settings: Settings, treatments: Sequence[Any]) -> bool:
    """Whether only the ordered distance is required, which searches support."""
    return all(treatment.distance == "ordered" for treatment in treatments)


METHOD = PrivacyModel(
    name="t",
    when="a group tells little that the whole table does not",
    rank=20,
    settings=Settings,
    treatment=Treatment,
    requirement=_build_requirement,
    sense=_describe_sense,
    simple=_is_simple,
    template="""\
# t = 0.15               # distance of its distribution from the table's, at most
# distance = "ordered"   # between values; or "equal" (names), "hierarchical" (a tree)
""",
)
