"""The two tables of every measure, checked and put on one scale."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.standardise import Scale
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, check_matrix
from aggopt.errors import TableError
from aggopt.measure._attacker import Attacker

TOLERANCE = 1e-9
"""Numbers closer than this share of what they are held against count as equal."""

FARTHEST = 1e100  # standard deviations; squares of it still fit into a float


@dataclass(frozen=True, eq=False)
class Pair:
    """Original and released records on the original's scale, varying attributes only.

    Attributes
    ----------
    original, released : (n, v)
        In population standard deviations of the original, about its mean.
    difference : (n, v)
        Released minus original, same unit, taken before any rounding by the mean.
    varying : (d,)
        Whether each attribute takes more than one value in the original.
    published : (n, d)
        Released records in the original's units, all attributes.
    total
        Sum of squares of the original about its mean.
    weights : (n,)
        Sampling weights, of mean 1, for means, deviations and sums of squares; None
        if records have no weights, or equal ones.
    attacker
        Knowledge of an attacker about each record besides its attributes.
    """

    original: Floats = field(repr=False)
    released: Floats = field(repr=False)
    difference: Floats = field(repr=False)
    varying: Bool
    published: Floats = field(repr=False)
    total: float
    weights: Floats | None = field(default=None, repr=False)
    attacker: Attacker = field(default_factory=Attacker, repr=False)

    @classmethod
    def of(
        cls,
        original: npt.ArrayLike,
        released: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> "Pair":
        """Return the pair of two tables (n, d) in the original units.

        Raises
        ------
        TableError
            Not matrices of finite numbers, unequal shapes, no attribute that varies,
            or released values too far away for their squares to be computed; weights
            that are not one number above 0 for each record.
        """
        X = check_matrix(original, name="original")
        Y = check_matrix(released, name="released")
        if X.shape != Y.shape:
            raise TableError(
                f"original has shape {X.shape}, released has shape {Y.shape}.",
                fix="pass the same records and the same attributes in the same order.",
            )
        mean_weights = scale_to_mean_one(check_weights(weights, len(X)))
        scale, varying = find_varying_scale(X, mean_weights)
        with np.errstate(over="ignore"):
            difference = (Y - X)[:, varying] / scale.spread[varying]
            z, w = (scale.standardise(table)[:, varying] for table in (X, Y))
        _check_reach(difference, varying)
        return cls(z, w, difference, varying, Y, float(z.size), mean_weights)

    def add_attacker(self, attacker: Attacker) -> "Pair":
        """Return the pair with an attacker's knowledge of each record."""
        return replace(self, attacker=attacker)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.original)

    @property
    def sample_deviation(self) -> float:
        """Standard deviation with divisor n - 1, in the unit of that with divisor n."""
        return float(np.sqrt(self.n / (self.n - 1)))  # n > 1, for something varies


def find_varying_scale(X: Floats, weights: Floats | None = None) -> tuple[Scale, Bool]:
    """Return the scale of records X (n, d), and which attributes vary, (d,).

    By `weights` (n,), if records have some.

    Raises
    ------
    TableError
        None does.
    """
    scale = Scale.of(X, weights)
    if scale.constant.all():
        n, d = X.shape
        raise TableError(
            f"No attribute of the original varies ({n} record(s), {d} attribute(s)), "
            "so there is no standard deviation to measure anything in.",
            fix="pass at least two records that differ.",
        )
    return scale, ~scale.constant


def _check_reach(difference: Floats, varying: Bool) -> None:
    near = np.abs(difference) <= FARTHEST
    if not near.all():
        columns = np.flatnonzero(varying)[~near.all(axis=0)].tolist()
        raise TableError(
            f"Column(s) {columns} of released lie more than {FARTHEST:g} standard "
            "deviations, or more than a float can hold, away from the original.",
            fix="release them in the units of the original.",
        )
