"""Limit on the share of one record in the weight of its group and weighted mean."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import F64, I64, Bool, Floats
from aggopt.errors import InfeasibleInputError
from aggopt.privacy.requirement import Requirement

ROUNDING = 1e-9  # relative change of a sum of weights in another order


@dataclass(frozen=True, eq=False)
class Dominance(Requirement):
    """No record has more than a share of the weight of its group.

    The n of the (n, k) dominance rule of magnitude tables is one.  A union of groups
    that satisfy it satisfies it.

    Attributes
    ----------
    weights : (n,)
        Above 0, of any scale; 0 for a record without part in the published values.
    share
        Allowed share of the weight of a group, in (0, 1].
    attribute
        The column of the weights.
    """

    weights: Floats = field(repr=False)
    share: float
    attribute: str = ""

    model: ClassVar[str] = "dominance"
    sign: ClassVar[str] = "<="

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.weights)

    @property
    def name(self) -> str:
        """Name of the measured quantity in the audit."""
        return "dominance"

    @property
    def required(self) -> float:
        """The share that no record exceeds."""
        return self.share

    def measure_groups(self, records: I64, starts: I64) -> F64:
        """Return the largest share of a record in each group's weight, (groups,)."""
        weights = self.weights[records]
        largest = np.maximum.reduceat(weights, starts[:-1])
        total = np.add.reduceat(weights, starts[:-1])
        return np.asarray(largest / np.where(total > 0, total, np.inf))

    def find_broken(self, records: I64, starts: I64) -> Bool:
        """Whether a record exceeds the allowed share of its group, (groups,)."""
        return self.measure_groups(records, starts) > self.share * (1 + ROUNDING)

    def describe_kept(self, value: float) -> str:
        """Return the requirement that groups satisfy if the worst has `value`."""
        return f"dominance = {np.ceil(value * 100) / 100:g} under [weights]"

    def explain_infeasible(self, k: int) -> InfeasibleInputError | None:
        """Return why no groups of k records or more keep it; None if some may."""
        if self.is_satisfied(np.zeros(self.n, np.intp)):
            return None
        return make_dominance_error(self.n, self.share, self.attribute)


def make_dominance_error(n: int, share: float, attribute: str) -> InfeasibleInputError:
    """Return the error that one of n records exceeds the share of all weight."""
    return InfeasibleInputError(
        f"One of {plural(n, 'record')} has more than {share:g} of the "
        f"weight of all by {attribute!r}: no group keeps that dominance.",
        fix="correct that weight, leave the record out, or allow a larger "
        "dominance under [weights].",
    )
