"""Statistics that an aggregation of numbers keeps, and methods that support them."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from aggopt.aggregate.registry import Aggregating
from aggopt.core.section import Section
from aggopt.errors import JobError, require_known

Statistic = Literal["nothing", "mean", "variance", "covariance"]
STATISTICS = ("nothing", "mean", "variance", "covariance")  # cumulative
ABLE = ("variance", "covariance", "regression")  # what programs of wishes can keep
TABLE = '{ covariance = ["NAME", ...], variance = ["NAME", ...] }'
FORMULA = '{ regression = "y ~ a + b" }'


def require_kept(method: str, able: Sequence[str], keep: object) -> None:
    """Refuse a statistic that is not among the `able` ones of a method.

    Raises
    ------
    UnknownNameError
        `keep` is not a statistic.
    JobError
        The method has no program for it; the message has the reason and an alternative.
    """
    require_known(f"statistic that {method} keeps", keep, STATISTICS)
    require_able(method, able, str(keep))


def require_able(method: str, able: Sequence[str], statistic: str) -> None:
    """Refuse a statistic that is not among the `able` ones of a method."""
    if statistic in able:
        return
    listed = " or ".join(f'"{each}"' for each in able if each in STATISTICS)
    why, instead = _reason(method, statistic)
    raise JobError(
        f'{method} with keep = "{statistic}": {why}.',
        fix=f"set keep = {listed}{instead}.",
    )


def _reason(method: str, keep: str) -> tuple[str, str]:
    if method == "mean":
        return "the means of groups keep the mean, asked or not", ""
    return (
        "its program keeps mean and variance, and what is proven of it needs both",
        '; or method = "mean", which can keep less',
    )


class KeptApart(Section):
    """Statistics to keep, by attribute; every number is named once.

    Attributes
    ----------
    covariance
        Names of attributes that keep their covariance; or several lists of names, each
        with a separate covariance.
    variance, mean
        Names of attributes that keep this statistic.
    regression
        "y ~ a + b": a and b keep their covariance, and their covariances with y.
    """

    covariance: tuple[str, ...] | tuple[tuple[str, ...], ...] = ()
    variance: tuple[str, ...] = ()
    mean: tuple[str, ...] = ()
    regression: str | None = None

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        counts = Counter(name for _, names in self.parts for name in names)
        if not counts or any(not names for _, names in self.parts):
            raise JobError("keep is a table that names nothing.", fix=f"write {TABLE}.")
        twice = [repr(name) for name, count in counts.items() if count > 1]
        if twice:
            raise JobError(
                f"keep names {', '.join(twice)} more than once.",
                fix="name each quasi-identifier under one statistic.",
            )
        return self

    @property
    def formula(self) -> tuple[str, tuple[str, ...]] | None:
        """The response and the attributes of the regression; None without one."""
        if self.regression is None:
            return None
        response, *right = (side.strip() for side in self.regression.split("~"))
        names = tuple(name.strip() for side in right for name in side.split("+"))
        if len(right) != 1 or not response or not all(names) or response in names:
            raise JobError(
                "keep.regression is no formula.", fix=f"write keep = {FORMULA}."
            )
        return response, names

    @property
    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each statistic with the names that keep it together, or each for itself."""
        nested = any(isinstance(own, tuple) for own in self.covariance)
        blocks = self.covariance if nested else filter(None, [self.covariance])
        found = [("covariance", own) for own in blocks]
        if self.formula:
            found.append(("regression", self.formula[1]))
        apart = ("variance", self.variance), ("mean", self.mean)
        return (*found, *(part for part in apart if part[1]))  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Return the kept statistics, in one line."""
        return "; ".join(f"{what} of {', '.join(names)}" for what, names in self.parts)


class Keeping(Aggregating):
    """Settings of an aggregation with a choice of kept statistics.

    Attributes
    ----------
    able
        The statistics that it can keep.
    """

    able: ClassVar[tuple[str, ...]] = ABLE
    keep: Statistic | KeptApart = "variance"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for statistic in self.kinds:
            require_able(self.method, self.able, statistic)
        return self

    @property
    def kinds(self) -> tuple[str, ...]:
        """The statistics that `keep` names."""
        if isinstance(self.keep, KeptApart):
            return tuple(dict.fromkeys(what for what, _ in self.keep.parts))
        return (self.keep,)

    @property
    def programs(self) -> "tuple[Aggregating, ...]":
        """The settings of each program that is solved: one for each statistic."""
        return tuple(self.model_copy(update={"keep": kind}) for kind in self.kinds)

    @property
    def keeps(self) -> frozenset[str]:
        """The statistics in `keep` and all weaker ones, of at least some attributes."""
        named = {"covariance" if kind == "regression" else kind for kind in self.kinds}
        most = max(map(STATISTICS.index, named))
        return frozenset(STATISTICS[1 : most + 1])
