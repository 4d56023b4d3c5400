"""Bounds of published values, in the units of the attributes."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import agree, plural
from aggopt.core.standardise import Scale
from aggopt.core.types import I64, Floats
from aggopt.errors import JobError, TableError
from aggopt.models.shared.value_bounds import NEAR, is_bounded, move_to_bounds

End = npt.ArrayLike | None
SHAPES = "pass a number, or one for each attribute: -inf or inf for no bound."


class Bounds(NamedTuple):
    """The least and the largest value that may be published of each attribute, (d,)."""

    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, lower: End, upper: End, X: Floats) -> Self:
        """Return validated bounds of published values for the attributes of X (n, d).

        Raises
        ------
        JobError
            Another shape or type, an entry that is not a number, or lower is not below
            upper.
        TableError
            Originals are beyond them: means of groups would be, too.
        """
        d = X.shape[1]
        bounds = cls(
            _read_ends(lower, -np.inf, "lower", d),
            _read_ends(upper, np.inf, "upper", d),
        )
        crossed = np.flatnonzero(~(bounds.lower < bounds.upper)).tolist()
        if crossed:
            raise JobError(
                f"lower is not below upper in column(s) {crossed}.",
                fix="pass lower < upper, or leave one of them out.",
            )
        beyond = ((bounds.lower > X) | (bounds.upper < X)).sum(axis=0)
        counts = [f"column {j}: {c}" for j, c in enumerate(beyond.tolist()) if c]
        if counts:
            total = int(beyond.sum())
            raise TableError(
                f"{plural(total, 'original')} {agree(total, 'lies', 'lie')} beyond "
                f"lower or upper ({', '.join(counts)}).",
                fix="correct those values, or pass wider bounds.",
            )
        return bounds

    @property
    def are_set(self) -> bool:
        """Whether any attribute has a finite bound."""
        return is_bounded(*self)

    def standardised(self, scale: Scale) -> "Bounds":
        """Return the bounds as z-scores; a constant attribute has none."""
        lower, upper = (scale.standardise(end) for end in self)
        return Bounds(
            np.where(scale.constant, -np.inf, lower),
            np.where(scale.constant, np.inf, upper),
        )

    def of_columns(self, columns: Sequence[int] | I64) -> "Bounds":
        """Return the bounds of the attributes with these column numbers."""
        return Bounds(self.lower[columns], self.upper[columns])

    def undone(self, Z: Floats, scale: Scale) -> Floats:
        """Return standardised centroids (m, d) in original units, within the bounds."""
        centroids = scale.undo(Z)
        return move_to_bounds(centroids, *self, near=NEAR * scale.spread)


def _read_ends(values: End, none: float, name: str, d: int) -> Floats:
    """Return one bound for each of d attributes as floats; `none` if not given."""
    if values is None:
        return np.full(d, none)
    try:
        ends = np.asarray(values)
    except (TypeError, ValueError):
        ends = np.empty(0, dtype=object)
    if ends.dtype.kind not in "iuf" or ends.shape not in ((), (d,)):
        raise JobError(
            f"{name} has shape {ends.shape} and type {ends.dtype}.", fix=SHAPES
        )
    if np.isnan(ends).any():
        raise JobError(f"{name} has entries that are missing.", fix=SHAPES)
    return np.broadcast_to(ends.astype(np.float64), (d,)).copy()
