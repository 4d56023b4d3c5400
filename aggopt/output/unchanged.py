"""What is published unchanged, because the originals of a group are identical."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from aggopt.arrays import Floats, Labels

Grouped = tuple[Sequence[int], Labels]  # attributes and the groups (n,) they share


@dataclass(frozen=True)
class Unchanged:
    """Cells and records that are published as they were: their group is identical.

    Attributes
    ----------
    records
        How many have all their quasi-identifiers unchanged.
    cells
        How many values of each quasi-identifier are unchanged.
    """

    records: int
    cells: dict[str, int] = field(hash=False)

    def said(self, records: int) -> str | None:
        """Say how many records are unchanged, if any is."""
        if not self.records:
            return None
        are, whose = ("is", "its") if self.records == 1 else ("are", "their")
        return (
            f"{self.records} of {records} records {are} published unchanged: {whose} "
            "group is identical in every quasi-identifier."
        )

    def note(self, records: int) -> str | None:
        """Say how many values of each attribute are unchanged, if any is."""
        counts = [f"{name!r} {count}" for name, count in self.cells.items() if count]
        if not counts:
            return None
        return (
            f"Published unchanged, of {records} values each, because their group is "
            f"identical there: {', '.join(counts)}."
        )


def unchanged(
    names: Sequence[str],
    X: Floats,
    Y: Floats,
    step: Floats,
    groups: Sequence[Grouped],
) -> Unchanged:
    """Return what of X (n, d) is published unchanged in Y (n, d).

    A value is when its group has one original there, and that is published, up to
    what rounding may do: `step` (d,).  `groups` are those of each block of columns.
    """
    same = np.abs(Y - X) <= step
    for columns, labels in groups:
        for j in columns:
            same[:, j] &= _identical(X[:, j], labels)
    cells = {name: int(same[:, j].sum()) for j, name in enumerate(names)}
    return Unchanged(int(same.all(axis=1).sum()), cells)


def _identical(x: Floats, labels: Labels) -> npt.NDArray[np.bool_]:
    """Whether the group of each record has one value only."""
    some = np.empty_like(x)  # there are no more groups than records
    some[labels] = x  # one member's
    differing = np.bincount(labels, x != some[labels])
    return np.asarray(differing[labels] == 0)
