"""(epsilon, delta)^k-dissimilarity: each value of a group is far from many others."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from aggopt.core.columns import read_labels
from aggopt.core.section import Section
from aggopt.core.types import F64, I64, Bool
from aggopt.errors import InfeasibleInputError
from aggopt.privacy.distance import read_exact_number
from aggopt.privacy.exact_order import (
    Epsilon,
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
class Dissimilarity(NearNumbers):
    """Each value of a group G is farther than epsilon from delta (|G| - 1) others.

    A union of two groups that satisfy this need not: with epsilon = 1 and delta = 1
    the groups {0, 5} and {-1, 1} do, and in their union 0 is far from one of three
    others only.  So a violation by one group of all records does not prove that it is
    infeasible.  A proof is: of c records that are all near each other, a group G has at
    most delta + (1 - delta) |G|.  At most n / k groups exist, so that
    c <= delta min(c, n / k) + (1 - delta) n.
    """

    model: ClassVar[str] = "dissimilarity"

    delta: Fraction

    @property
    def name(self) -> str:
        """Name of the requirement: delta, and the distance that counts as near."""
        return f"({float(self.epsilon):g}, delta)-dissimilarity delta"

    @property
    def required(self) -> float:
        """The required delta."""
        return float(self.delta)

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the least share of a group's others that are far from a record.

        By group, (groups,).
        """
        others = np.diff(starts) - 1
        share = self._count_others(records, starts) / np.maximum(others, 1)
        return np.where(others == 0, 1.0, share)

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether a value is far from fewer than delta (|G| - 1) others, exactly."""
        far = (
            self._count_others(records, starts).astype(object) * self.delta.denominator
        )
        required = (np.diff(starts) - 1).astype(object) * self.delta.numerator
        return np.asarray(far < required)

    def describe_kept(self, value: float) -> str:
        """Return the delta that these groups satisfy."""
        return f"delta of at most {value:.6g}, rounded down"

    def explain_infeasible(self, k: int) -> InfeasibleInputError | None:
        """Return the proof that no groups satisfy it, or None."""
        close = count_crowded(self.numbers, self.near)
        groups = min(close, self.n // k)
        if close <= self.delta * groups + (1 - self.delta) * self.n:
            return None
        return InfeasibleInputError(
            f"{self.name} >= {self.required:g} cannot be kept of {self.attribute!r}: "
            f"{close} of {self.n} records lie within epsilon of each other, too many "
            f"for groups of k = {k}.",
            fix="promise a smaller delta or epsilon, or drop the attribute, as "
            "identifier.",
        )

    def _count_others(self, records: I64, starts: I64) -> I64:
        """Return the least number of records in each group far from one of them."""
        return np.diff(starts) - self.most_near(records, starts)


def dissimilarity(groups: Any, confidential: Any, epsilon: float) -> float:
    """Return the largest delta for which the groups are (epsilon, delta)-dissimilar.

    Each value of a group is farther than epsilon from at least delta of the others
    there.  Range 0 to 1; more protects better.  A group of one record has no others,
    and delta 1: k, the third letter of the model, is a separate requirement.

    Arguments and errors as `epsilon_m`, with an epsilon in the units of the values.

    Source: Wang, Meng, Bamba, Liu and Pu, A general proximity privacy principle, ICDE
    2009.

    Examples
    --------
    >>> dissimilarity([0, 0, 0, 1, 1], [10, 20, 21, 30, 50], 5)
    0.5
    """
    labels = read_labels(groups)
    reach = read_epsilon(epsilon)
    requirements = [
        Dissimilarity(name, numbers, reach, Fraction(1))
        for name, numbers in read_exact_numbers(confidential, len(labels))
    ]
    return min(requirement.check(labels).found for requirement in requirements)


class DissimilaritySettings(Section):
    """The table of dissimilarity.

    Attributes
    ----------
    epsilon
        Largest difference of near values of an attribute; or one for each
        attribute, by its name.
    delta
        The share of the others in its group that each value is farther from, at least.
    """

    epsilon: Epsilon
    delta: float = Field(
        gt=0,
        le=1,
        strict=True,
        description="write a share above 0, at most 1: delta = 0.5.",
    )


class Settings(Section):
    """The key of dissimilarity: `aggopt.privacy.dissimilarity`."""

    dissimilarity: DissimilaritySettings | None = Field(
        default=None,
        description="write a table: dissimilarity = { epsilon = 5, delta = 0.5 }.",
    )


def _build_requirement(attribute: Attribute, settings: Settings) -> Requirement:
    """Return the requirement on an attribute for the settings of `[privacy]`."""
    if settings.dissimilarity is None:
        raise ValueError("No dissimilarity is required.")
    required = settings.dissimilarity
    epsilon = select_epsilon(required.epsilon, attribute.name, "dissimilarity")
    return Dissimilarity(
        attribute.name, attribute.numbers(), epsilon, read_exact_number(required.delta)
    )


METHOD = PrivacyModel(
    name="dissimilarity",
    when="each confidential number of a group is far from many others there",
    rank=50,
    settings=Settings,
    attributes=lambda settings: list_epsilon_attributes(settings.dissimilarity.epsilon),
    requirement=_build_requirement,
    template="""\
# dissimilarity = { epsilon = 5, delta = 0.5 }  # each value of a group is farther than
#                          epsilon from a share delta of the others
""",
)
