"""The sections that say how records become groups, and which attributes together."""

from typing import Any, Final, Literal

from pydantic import Field, StrictInt

from aggopt.job._section import Method, Section, Solved

TOGETHER: Final = "together"
ONE_BY_ONE: Final = "one by one"
WAYS = (TOGETHER, ONE_BY_ONE)


class Correlation(Section):
    """Attributes together whose every pair has |r| of at least `correlation`."""

    correlation: float = Field(ge=0, le=1, strict=True)


Attributes = (
    Literal["together", "one by one"] | Correlation | tuple[tuple[str, ...], ...]
)


class Grouping(Method):
    """What all partition methods have in common.

    Attributes
    ----------
    attributes
        Which quasi-identifiers are microaggregated together: all "together", each by
        itself ("one by one"), blocks of names, or those that are correlated.
    """

    attributes: Attributes = TOGETHER

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the method's function."""
        return {k: v for k, v in super().settings.items() if k != "attributes"}


class Mdav(Grouping):
    """Settings of `aggopt.partition.mdav`."""

    method: Literal["mdav"] = "mdav"
    ending: Literal["3k", "nearest"] = "3k"


class Cbfs(Grouping):
    """Settings of `aggopt.partition.cbfs`."""

    method: Literal["cbfs"]


class Mhm(Grouping):
    """Settings of `aggopt.partition.mhm`."""

    method: Literal["mhm"]
    order: Literal["npn", "mdav", "cbfs", "md", "tsp"] = "mdav"
    starts: StrictInt | None = Field(default=None, ge=1)


class Projection(Grouping):
    """Settings of `aggopt.partition.projection`."""

    method: Literal["projection"]
    axis: Literal["pca", "zsum", "robust_pca"] = "pca"


class _Optimal(Solved):
    """The optimal partition of one attribute."""

    cost: Literal["sse", "sae", "maxdist"] = "sse"
    centroids: Literal["any", "integer"] = "any"


class Univariate(Grouping, _Optimal):
    """Settings of `aggopt.partition.univariate`, which takes one attribute."""

    method: Literal["univariate"]


class IndividualRanking(_Optimal):
    """Settings of `aggopt.partition.individual_ranking`: one attribute at a time."""

    method: Literal["individual_ranking"]

    @property
    def function(self) -> str:
        """It is `univariate`, attribute by attribute."""
        return "univariate"

    @property
    def attributes(self) -> Attributes:
        """Each attribute is a block, whatever the job."""
        return ONE_BY_ONE
