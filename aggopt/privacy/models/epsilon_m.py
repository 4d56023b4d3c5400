"""(epsilon, m)-anonymity: no group reveals a confidential number approximately."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field, StrictBool, StrictInt

from aggopt.core.columns import describe_argument, read_labels
from aggopt.core.section import Section, to_int
from aggopt.core.types import F64, I64, Bool
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.privacy.exact_order import (
    Epsilon,
    Near,
    NearNumbers,
    count_crowded,
    list_epsilon_attributes,
    read_epsilon,
    read_exact_numbers,
    select_epsilon,
)
from aggopt.privacy.model import Attribute, PrivacyModel
from aggopt.privacy.requirement import Requirement


@dataclass(frozen=True, eq=False)
class Proximity(NearNumbers):
    """At most 1/m of the records of each group are near any of its values.

    Near x are values within epsilon of x, or within epsilon |x| if `relative`; x itself
    is near.

    A union of two groups that satisfy this need not: with epsilon = 1 and m = 2 the
    groups {0, 5} and {-1, 1} do, and in their union three of four values are within 1
    of 0.  So a violation by one group of all records does not prove that it is
    infeasible.  A proof is: if more than n / m records are in one range and all near
    each other, some group has more than its share of these records.
    """

    model: ClassVar[str] = "proximity"

    m: int
    relative: bool = False

    @property
    def name(self) -> str:
        """Name of the requirement: m, and the distance that counts as near."""
        way = " relative" if self.relative else ""
        return f"({float(self.epsilon):g}{way}, m)-anonymity m"

    @property
    def required(self) -> float:
        """The required m."""
        return float(self.m)

    @cached_property
    def near(self) -> Near:
        """Of each distinct number, the first and the last one near it."""
        return self.numbers.near(self.epsilon, relative=self.relative)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the size of each group over the most records near one value."""
        return np.asarray(np.diff(starts) / self.most_near(records, starts))

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether more than 1/m of a group's records are near one of its values."""
        return np.asarray(self.most_near(records, starts) * self.m > np.diff(starts))

    def describe_kept(self, value: float) -> str:
        """Return the m that these groups satisfy."""
        return f"m of at most {int(value)}"

    def explain_infeasible(self, k: int) -> InfeasibleInputError | None:
        """Return the proof that no groups satisfy it, or None."""
        close = count_crowded(self.numbers, self.near)
        if close * self.m <= self.n:
            return None
        max_groups = self.n // close
        none = "" if max_groups > 1 else ", that is none"
        return InfeasibleInputError(
            f"{self.name} >= {self.m} cannot be kept of {self.attribute!r}: {close} of "
            f"{self.n} records lie so near each other that a group has at most one in "
            f"{self.m} of them.",
            fix=f"promise m of at most {max_groups}{none}, a smaller epsilon, or drop "
            "the attribute, as identifier.",
        )


def epsilon_m(
    groups: Any, confidential: Any, epsilon: float, *, relative: bool = False
) -> float:
    """Return the largest m for which the groups are (epsilon, m)-anonymous.

    In each group and for each value x there, at most 1/m of the records are within
    epsilon of x.  Range 1 (all of a group are near one value) to the size of the
    smallest group; more protects better.  A required m holds if this is m or more.

    Parameters
    ----------
    groups
        Labels (n,), or the quasi-identifiers of a released table; see `distinct_l`.
    confidential
        Numbers (n,), or several attributes: a table, or an array (n, d).  Each is
        measured separately, and the worst counts.
    epsilon
        Largest difference of near values, 0 or more.  It counts as the decimal that it
        is written as, and so do the values.
    relative
        Whether epsilon is a share of |x|.

    Raises
    ------
    TableError, JobError
        As `distinct_l`; values are not finite numbers; epsilon is not a number of 0 or
        more; relative is not a truth value.

    Source: Li, Tao and Xiao, Preservation of proximity privacy in publishing numerical
    sensitive data, SIGMOD 2008.

    Examples
    --------
    >>> epsilon_m([0, 0, 0, 1, 1], [10, 20, 21, 30, 50], 5)
    1.5
    """
    if not isinstance(relative, bool | np.bool_):
        raise JobError(
            f"relative is {describe_argument(relative)}.",
            fix="pass True where epsilon is a share of the value, else False.",
        )
    labels = read_labels(groups)
    reach = read_epsilon(epsilon)
    requirements = [
        Proximity(name, numbers, reach, 1, relative)
        for name, numbers in read_exact_numbers(confidential, len(labels))
    ]
    return min(requirement.check(labels).found for requirement in requirements)


class ProximitySettings(Section):
    """The table of (epsilon, m)-anonymity.

    Attributes
    ----------
    epsilon
        Largest difference of near values of an attribute; or one for each attribute, by
        its name.
    m
        At most 1/m of the records of a group are near one of its values.
    relative
        Whether epsilon is a share of the value.
    """

    epsilon: Epsilon
    m: Annotated[StrictInt, BeforeValidator(to_int)] = Field(
        ge=2, description="ask for a whole number of at least 2: m = 1 asks nothing."
    )
    relative: StrictBool = False


class Settings(Section):
    """The key of (epsilon, m)-anonymity: `aggopt.privacy.epsilon_m`."""

    proximity: ProximitySettings | None = Field(
        default=None, description="write a table: proximity = { epsilon = 5, m = 2 }."
    )


def _build_requirement(attribute: Attribute, settings: Settings) -> Requirement:
    """Return the requirement on an attribute for the settings of `[privacy]`."""
    if settings.proximity is None:
        raise ValueError("No proximity is required.")
    proximity = settings.proximity
    epsilon = select_epsilon(proximity.epsilon, attribute.name, "proximity")
    return Proximity(
        attribute.name, attribute.numbers(), epsilon, proximity.m, proximity.relative
    )


METHOD = PrivacyModel(
    name="proximity",
    when="no confidential number is told nearly: few of a group lie near each other",
    rank=40,
    settings=Settings,
    attributes=lambda settings: list_epsilon_attributes(settings.proximity.epsilon),
    requirement=_build_requirement,
    template="""\
# proximity = { epsilon = 5, m = 2 }  # of numbers: at most 1/m of a group lies within
#                          epsilon of a value; relative = true: epsilon times the value
""",
)
