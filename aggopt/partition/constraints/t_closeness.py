"""t-closeness constraints of partitioners, checked exactly."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import iter_columns
from aggopt.core.stacklevel import find_caller_stacklevel
from aggopt.core.types import I64
from aggopt.core.validation import Labels
from aggopt.errors import JobError, TableError, naming
from aggopt.privacy.closeness import warn_of_constant
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.ordered_attribute import Ordered, threshold


@dataclass(frozen=True)
class CloseToTable:
    """t-closeness of one confidential attribute or more: a requirement on each.

    Attributes
    ----------
    requirements
        Requirement of each attribute, by the ordered distance.
    t
        The largest EMD allowed, exactly.
    """

    requirements: tuple[Closeness, ...] = field(repr=False)
    t: Fraction

    @classmethod
    def of(
        cls, confidential: npt.ArrayLike, n: int, t: float | Fraction, bins: str
    ) -> "CloseToTable":
        """Return the requirement on confidential numbers (n,) or (n, c).

        Raises
        ------
        TableError
            The attributes do not have one number per record.
        JobError
            t is not a number strictly between 0 and 1; unknown bins.

        Warns of attributes with one value only.
        """
        exact = threshold(t)
        attributes = _require_columns(confidential, n)
        read = [(name, _read(name, column, bins)) for name, column in attributes]
        warn_of_constant(read, stacklevel=find_caller_stacklevel() + 1)
        return cls.to([ordered for _, ordered in read], exact)

    @classmethod
    def to(cls, attributes: Sequence[Ordered], t: Fraction) -> "CloseToTable":
        """Return the constraint on attributes in their bins."""
        return cls(tuple(Closeness("", ordered, t) for ordered in attributes), t)

    @cached_property
    def attributes(self) -> tuple[Ordered, ...]:
        """The confidential attributes in their bins."""
        distances = (requirement.distance for requirement in self.requirements)
        return tuple(
            requirement for requirement in distances if isinstance(requirement, Ordered)
        )

    @cached_property
    def limits(self) -> I64:
        """Largest numerator allowed, by attribute and group size, (c, n + 1)."""
        return np.stack([each.limits for each in self.requirements])

    def only(self, method: str) -> Ordered:
        """Return the single attribute.

        Raises
        ------
        JobError
            The constraint is on several attributes.
        """
        if len(self.attributes) > 1:
            raise JobError(
                f"{method} takes one confidential attribute, not "
                f"{len(self.attributes)}.",
                fix="pass one, or use merge_until_close, which keeps t for several.",
            )
        return self.attributes[0]

    def satisfied(self, labels: Labels) -> bool:
        """Whether every group of labels (n,) is t-close, decided exactly."""
        return all(each.satisfied(labels) for each in self.requirements)


def _require_columns(confidential: Any, n: int) -> list[tuple[str, Any]]:
    """Return the entries of each attribute, one per record."""
    try:
        shape = np.shape(confidential)
    except ValueError:  # rows of unequal length
        shape = ()
    if len(shape) not in (1, 2) or shape[0] != n or 0 in shape:
        raise TableError(
            f"The confidential attribute has shape {shape}, but there are {n} records.",
            fix=f"pass one number per record, shape ({n},), or ({n}, c) of c "
            "attributes.",
        )
    return list(iter_columns(confidential, "The confidential attribute"))


def _read(name: str, column: Any, bins: str) -> Ordered:
    with naming(name) if name else nullcontext():
        return Ordered.read(column, bins)
