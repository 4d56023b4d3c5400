"""p-sensitive k-anonymity: p different confidential values in each group."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field, StrictInt

from aggopt.core.section import Section, to_int
from aggopt.core.types import F64, I64, Bool
from aggopt.privacy._diversity import Counts
from aggopt.privacy.model import Attribute, PrivacyModel
from aggopt.privacy.requirement import Check, Requirement


@dataclass(frozen=True, eq=False)
class Sensitivity(Requirement):
    """Each group has at least p distinct codes (n,).

    A union has the values of both groups, so that it satisfies this if either does.

    Source: Truta and Vinay, Privacy protection: p-sensitive k-anonymity property,
    ICDE Workshops 2006.
    """

    model: ClassVar[str] = "p"

    attribute: str
    codes: I64 = field(repr=False)
    p: int

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.codes)

    @property
    def name(self) -> str:
        """Name of the measured quantity."""
        return "p-sensitive p"

    @property
    def required(self) -> float:
        """The required p."""
        return float(self.p)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the number of distinct values of each group, (groups,)."""
        sizes = np.diff(starts)
        group = np.repeat(np.arange(len(sizes)), sizes)
        return Counts.of(group, self.codes[records]).distinct.astype(float)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group has fewer than p values."""
        return np.asarray(self.measure_groups(records, starts) < self.p)

    def describe_kept(self, value: float) -> str:
        """Return the p that these groups satisfy."""
        return f"p of at most {int(value)}"

    def list_remedies(self, total: Check) -> list[str]:
        """Return feasible alternatives if `total`, the check of all records, fails."""
        return [f"promise {total.keeps}{'' if total.found > 1 else ', that is none'}"]


class Settings(Section):
    """The key of p.

    Attributes
    ----------
    p
        Least number of values of each confidential attribute in each group:
        `aggopt.privacy.p_sensitive`.
    """

    p: Annotated[StrictInt | None, BeforeValidator(to_int)] = Field(
        default=None,
        ge=2,
        description="ask for a whole number of at least 2: with p = 1 a group may "
        "share one value.",
    )


def _build_requirement(attribute: Attribute, settings: Settings) -> Requirement:
    """Return the requirement on an attribute for the settings of `[privacy]`."""
    if settings.p is None:
        raise ValueError("No p is required.")
    return Sensitivity(attribute.name, attribute.codes, settings.p)


METHOD = PrivacyModel(
    name="p",
    when="as l, of distinct values, never of levels",
    rank=30,
    settings=Settings,
    requirement=_build_requirement,
    template="""\
# p = 3                  # p-sensitive: different values, at least, never levels
""",
)
