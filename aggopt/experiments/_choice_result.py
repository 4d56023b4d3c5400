"""Points that were tried: their Pareto front, and a recommendation in words."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggopt.core.plural import plural
from aggopt.core.validation import is_number
from aggopt.errors import JobError, require_known
from aggopt.experiments._choice_point import ChoicePoint
from aggopt.experiments._front import front

LOSSES = {"pil": "PIL", "il": "IL"}


@dataclass(frozen=True, eq=False, repr=False)
class Tried:
    """Points of a choice, and the recommended one.

    Attributes
    ----------
    points
        The finished points, in the order of the settings varied.
    asked
        Number of requested points, done or not: an interrupt leaves some out.
    table
        Its path; None for a table in memory.
    at_most
        Maximum share of linked records, which the recommendation respects.
    loss
        "pil" or "il": the loss to minimise.
    """

    points: tuple[ChoicePoint, ...] = field(repr=False)
    asked: int
    table: Path | None
    at_most: float
    loss: str

    @property
    def called(self) -> str:
        """What sentences call the table."""
        return "the table" if self.table is None else self.table.name

    @property
    def placed(self) -> tuple[ChoicePoint, ...]:
        """The points that have a place on the map: linkage and loss."""
        return tuple(
            point
            for point in self.points
            if point.linkage is not None and self.loss_of(point) is not None
        )

    @property
    def front(self) -> tuple[ChoicePoint, ...]:
        """The points that no other beats in linkage and loss, by linkage."""
        placed = self.placed
        return tuple(placed[j] for j in front([self._at(p) for p in placed]))

    def loss_of(self, point: ChoicePoint) -> Any:
        """Return the loss of a point, as `loss` names it."""
        return getattr(point, self.loss)

    def recommended(self, at_most: float | None = None) -> ChoicePoint | None:
        """Return the point with the least loss among points within the maximum linkage.

        None if all link more.  `at_most` is the choice's own when omitted.

        Raises
        ------
        JobError
            `at_most` is not a share.
        """
        most = self.at_most if at_most is None else require_share(at_most)
        within = [point for point in self.front if self._at(point)[0] <= most]
        return within[-1] if within else None

    def recommendation(self, at_most: float | None = None) -> str:
        """Describe the recommended point, or the closest one if none qualifies."""
        most = self.at_most if at_most is None else require_share(at_most)
        found, asked = self.recommended(most), f"At most {percent(most)} linked"
        if found is not None:
            return (
                f"{asked}, least {LOSSES[self.loss]}: {found.called}. "
                f"{self._figures(found)}"
            )
        if not self.front:
            return f"{asked}: nothing can be recommended, as no point has figures."
        least = self.front[0]
        return (
            f"{asked}: no point is within. The least is {least.called}. "
            f"{self._figures(least)} Allow more, or go through larger k."
        )

    @property
    def verdict(self) -> str:
        """How many points are done, and how many failed."""
        done, failed = len(self.points), sum(p.error is not None for p in self.points)
        some = f"{done} of " if done < self.asked else ""
        return f"Choice: {some}{plural(self.asked, 'point')}, {failed} failed."

    def _at(self, point: ChoicePoint) -> tuple[float, float]:
        linkage: Any = point.linkage
        return linkage, self.loss_of(point)

    def _figures(self, point: ChoicePoint) -> str:
        linkage, lost = self._at(point)
        limit: Any = point.linkage_limit
        return (
            f"It links {percent(linkage)} of the records (no linkage exceeds "
            f"{percent(limit)}), with {LOSSES[self.loss]} {percent(lost)}."
        )


def percent(share: float) -> str:
    """Return a share in percent, with a decimal.

    Examples
    --------
    >>> percent(0.1), percent(0.0832)
    ('10 %', '8.3 %')
    """
    return f"{round(100 * share, 1):g} %"


def require_share(share: object) -> float:
    """Return a share of records, 0 to 1.

    Raises
    ------
    JobError
        It is none.
    """
    if not is_number(share) or not 0 <= share <= 1:  # type: ignore[operator]
        raise JobError(
            f"at_most = {share}.",
            fix="name a share of the records, 0 to 1: 0.1 is 10 %.",
        )
    return float(share)  # type: ignore[arg-type]


def require_loss(loss: object) -> None:
    """Refuse an unknown loss for a choice; raises `UnknownNameError`."""
    require_known("loss", loss, LOSSES)
