"""The sections that say how groups become published values."""

from typing import Any, Literal

from pydantic import Field, StrictBool, StrictInt

from aggopt.core.section import MethodSection, Solved
from aggopt.job._wish import Wish


class Mean(MethodSection):
    """Settings of `aggopt.aggregate.mean`."""

    method: Literal["mean"] = "mean"
    renormalise: StrictBool = False


class Median(MethodSection):
    """Settings of `aggopt.aggregate.median`."""

    method: Literal["median"]


class Shifting(Solved):
    """What the aggregations that shift centroids have in common.

    `margin` is the width of the secret margins beyond each distance, in standard
    deviations; 0 for none.  When left out: half the largest distance asked in the
    group, 0.1 at least, and, where a wish can be exact, five steps of the attribute
    (of a count 1), though for these no more than 1.
    """

    delta: Wish = 0.1
    importance: Wish = 0.001
    margin: float | None = Field(default=None, ge=0, allow_inf_nan=False, strict=True)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of its function, which takes distances with their margins."""
        return {name: v for name, v in super().settings.items() if name != "margin"}


class Squared(Shifting):
    """Those that weigh squares against each other, and that local solvers take."""

    alpha: float = Field(default=0.5, ge=0, le=1, strict=True)
    start: Literal["means", "renormalised", "dual"] | None = None
    starts: StrictInt = Field(default=0, ge=0)
    seed: StrictInt | None = Field(default=None, ge=0)


class P3m(Squared):
    """Settings of `aggopt.aggregate.p3m`."""

    method: Literal["p3m"]


class P3mOnesided(Squared):
    """Settings of `aggopt.aggregate.p3m_onesided`."""

    method: Literal["p3m_onesided"]


class Satisfaction(Shifting):
    """Settings of `aggopt.aggregate.satisfaction`."""

    method: Literal["satisfaction"]
    importance: Wish = 1.0
    price: float = Field(default=1.0, gt=0, allow_inf_nan=False, strict=True)
