"""What an aggregation of numbers is asked to keep, and which of them keep what."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from aggopt.aggregate._registry import Aggregating
from aggopt.errors import JobError, require_known

Statistic = Literal["nothing", "mean", "variance", "covariance"]
STATISTICS = ("nothing", "mean", "variance", "covariance")  # each with those before it


def require_kept(method: str, able: Sequence[str], keep: object) -> None:
    """Refuse what a method cannot keep, or cannot but keep: what it is not `able` to.

    Raises
    ------
    UnknownNameError
        `keep` is no statistic.
    JobError
        The method has no program for it; the message says why, and what has one.
    """
    require_known(f"statistic that {method} keeps", keep, STATISTICS)
    if keep in able:
        return
    listed = " or ".join(f'"{statistic}"' for statistic in able)
    why, instead = _reason(method, str(keep))
    raise JobError(
        f'{method} with keep = "{keep}": {why}.', fix=f"set keep = {listed}{instead}."
    )


def _reason(method: str, keep: str) -> tuple[str, str]:
    if method == "mean":
        return "the means of groups keep the mean, asked or not", ""
    if keep == "covariance":
        return (
            "the program of all attributes at once has the wishes of p3m alone",
            '; or method = "p3m" with keep = "covariance"',
        )
    return (
        "its program keeps mean and variance, and what is proven of it needs both",
        '; or method = "mean", which can keep less',
    )


class Keeping(Aggregating):
    """Settings of an aggregation that says what it keeps of numbers.

    Attributes
    ----------
    able
        What it can be asked to keep.
    """

    able: ClassVar[tuple[str, ...]] = ("variance",)
    keep: Statistic = "variance"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        require_kept(self.method, self.able, self.keep)
        return self

    @property
    def keeps(self) -> frozenset[str]:
        """What `keep` names, and all that is less."""
        return frozenset(STATISTICS[1 : STATISTICS.index(self.keep) + 1])
