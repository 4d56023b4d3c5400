"""What every aggregation returns, and the sums over groups they share."""

from dataclasses import dataclass, field

import numpy as np

from aggopt.arrays import Floats, Labels
from aggopt.solvers import Certificate


@dataclass(frozen=True)
class Aggregation:
    """Published values and what is proven of them.

    Attributes
    ----------
    centroids : (m, d)
        One value per group and attribute, in the original units.
    labels : (n,)
        Group of each record.
    certificates
        One per attribute, in order.
    """

    centroids: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    certificates: tuple[Certificate, ...]

    @property
    def values(self) -> Floats:
        """Published value of each record and attribute (n, d), original units."""
        return self.centroids[self.labels]

    @property
    def gap(self) -> float | None:
        """Largest gap of an attribute; None unless every one has a bound."""
        gaps = [c.gap for c in self.certificates]
        proven = [gap for gap in gaps if gap is not None]
        return max(proven) if len(proven) == len(gaps) else None

    @property
    def status(self) -> str:
        """How the attributes ended, each way named once."""
        return ", ".join(sorted({c.status.value for c in self.certificates}))


def group_means(X: Floats, labels: Labels) -> Floats:
    """Return the mean of each group (m, d).

    Summed about the group's first record: values far from zero lose no digits, and
    a group of equal values keeps that value to the last bit.
    """
    some = np.empty(labels.max() + 1, dtype=np.intp)
    some[labels[::-1]] = np.arange(len(labels))[::-1]  # the first is written last
    base = X[some]
    away = X - base[labels]
    sizes = np.bincount(labels)
    sums = np.stack([np.bincount(labels, column) for column in away.T], axis=1)
    return np.asarray(base + sums / sizes[:, None])
