"""The promise of t-closeness, checked exactly."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Labels
from aggopt.errors import JobError, TableError
from aggopt.partition._pool import Integers
from aggopt.privacy._ordered import Ordered, threshold


@dataclass(frozen=True)
class Closeness:
    """The promise that no group's EMD exceeds t, of one confidential attribute or more.

    Attributes
    ----------
    attributes
        The confidential attributes in their bins.
    t
        The largest EMD allowed, exactly.
    """

    attributes: tuple[Ordered, ...] = field(repr=False)
    t: Fraction

    @classmethod
    def of(
        cls, confidential: npt.ArrayLike, n: int, t: float | Fraction, bins: str
    ) -> "Closeness":
        """Return the promise for confidential numbers (n,) or (n, c).

        Raises
        ------
        TableError
            Not one number per record and attribute.
        JobError
            t is no number strictly between 0 and 1; no such bins.
        """
        exact = threshold(t)
        columns = _columns(confidential, n)
        return cls(tuple(Ordered.of(column, bins) for column in columns), exact)

    @cached_property
    def limits(self) -> Integers:
        """Largest numerator allowed, by attribute and size of the group, (c, n + 1)."""
        return np.stack([a.limits(self.t) for a in self.attributes])

    def only(self, method: str) -> Ordered:
        """Return the one attribute that there is.

        Raises
        ------
        JobError
            There are several.
        """
        if len(self.attributes) > 1:
            raise JobError(
                f"{method} takes one confidential attribute, not "
                f"{len(self.attributes)}.",
                fix="pass one, or take merge_until_close, which keeps t for several.",
            )
        return self.attributes[0]

    def holds(self, labels: Labels) -> bool:
        """Whether every group of labels (n,) keeps the promise."""
        sizes = np.bincount(labels)
        return all(
            (attribute.numerators(labels) <= limits[sizes]).all()
            for attribute, limits in zip(self.attributes, self.limits, strict=True)
        )


def _columns(confidential: npt.ArrayLike, n: int) -> list[npt.NDArray[np.generic]]:
    array = np.asarray(confidential)
    if array.ndim not in (1, 2) or len(array) != n or not array.size:
        raise TableError(
            f"The confidential attribute has shape {array.shape}, but there are {n} "
            "records.",
            fix=f"pass one number per record, shape ({n},), or ({n}, c) of c "
            "attributes.",
        )
    return [array] if array.ndim == 1 else list(array.T)
