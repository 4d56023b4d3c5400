"""The sections that say how records become groups, and which attributes together."""

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, StrictInt

from aggopt.core.section import MethodSection, Section, Solved

TOGETHER: Final = "together"
ONE_BY_ONE: Final = "one by one"
WAYS = (TOGETHER, ONE_BY_ONE)


class Correlation(Section):
    """Attributes together whose every pair has |r| of at least `correlation`."""

    correlation: float = Field(ge=0, le=1, strict=True)


Attributes = (
    Literal["together", "one by one"] | Correlation | tuple[tuple[str, ...], ...]
)


class Grouping(MethodSection):
    """What all partition methods have in common.

    Attributes
    ----------
    attributes
        Which quasi-identifiers are microaggregated together: all "together", each by
        itself ("one by one"), blocks of names, or those that are correlated.
    guarantees
        Which of k, l and t the groups keep, whatever the table.
    searches
        Whether, where a job names no repair, its groups are searched further by the
        repair "search", which keeps whatever is promised.
    """

    searches: ClassVar[bool] = False

    guarantees: ClassVar[frozenset[str]] = frozenset("k")
    attributes: Attributes = TOGETHER

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the method's function."""
        return {k: v for k, v in super().settings.items() if k != "attributes"}


Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
Effort = Literal["fast", "default", "best"]


class Recommended(Grouping):
    """What `aggopt.partition.recommend` says suits the table and the time."""

    method: Literal["recommended"] = "recommended"
    seconds: Seconds | None = None


class LocalSearch(Grouping):
    """Settings of `aggopt.partition.local_search`."""

    searches: ClassVar[bool] = True

    method: Literal["local_search"]
    start: Literal["mdav", "cbfs", "mhm", "projection", "vmdav"] = "mdav"
    seconds: Seconds | None = None
    effort: Effort = "default"
    seed: StrictInt = Field(default=0, ge=0)


class Blocked(Grouping):
    """Settings of `aggopt.partition.blocked`."""

    searches: ClassVar[bool] = True

    method: Literal["blocked"]
    inner: Literal["mdav", "cbfs", "projection", "vmdav"] = "mdav"
    block_size: StrictInt | None = Field(default=None, ge=1)
    seconds: Seconds | None = None
    effort: Effort = "default"
    seed: StrictInt = Field(default=0, ge=0)


class Optimal(Grouping):
    """Settings of `aggopt.partition.optimal`."""

    method: Literal["optimal"]
    solver: str | None = None
    seconds: Seconds | None = None
    seed: StrictInt = Field(default=0, ge=0)


class Mdav(Grouping):
    """Settings of `aggopt.partition.mdav`."""

    method: Literal["mdav"]
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


class Vmdav(Grouping):
    """Settings of `aggopt.partition.vmdav`."""

    method: Literal["vmdav"]
    gamma: float = Field(default=0.2, ge=0, allow_inf_nan=False, strict=True)
    centroid: Literal["fixed", "remaining"] = "fixed"


class Guarding(Grouping):
    """Those that look at the confidential attributes too.

    Attributes
    ----------
    several
        Whether they take more than one confidential attribute.
    """

    several: ClassVar[bool] = False


class DiverseVmdav(Guarding):
    """Settings of `aggopt.partition.diverse_vmdav`."""

    guarantees: ClassVar[frozenset[str]] = frozenset("kl")
    method: Literal["diverse_vmdav"]
    gamma: float = Field(default=0.2, ge=0, allow_inf_nan=False, strict=True)


class Close(Guarding):
    """Those that keep t, of the ordered distance."""

    guarantees: ClassVar[frozenset[str]] = frozenset("kt")


class MergeUntilClose(Close):
    """Settings of `aggopt.partition.merge_until_close`."""

    several: ClassVar[bool] = True
    method: Literal["merge_until_close"]
    start: Literal["mdav", "cbfs", "mhm", "projection", "vmdav"] = "mdav"


class AnonymityFirst(Close):
    """Settings of `aggopt.partition.anonymity_first`."""

    method: Literal["anonymity_first"]


class ClosenessFirst(Close):
    """Settings of `aggopt.partition.closeness_first`."""

    method: Literal["closeness_first"]


class _Optimal(Solved):
    """The optimal partition of one attribute."""

    cost: Literal["sse", "sae", "maxdist"] = "sse"
    centroids: Literal["any", "integer"] = "any"


class Univariate(Grouping, _Optimal):
    """Settings of `aggopt.partition.univariate`, which takes one attribute."""

    method: Literal["univariate"]


class IndividualRanking(_Optimal):
    """Settings of `aggopt.partition.individual_ranking`: one attribute at a time."""

    guarantees: ClassVar[frozenset[str]] = frozenset("k")
    method: Literal["individual_ranking"]

    @property
    def function(self) -> str:
        """It is `univariate`, attribute by attribute."""
        return "univariate"

    @property
    def attributes(self) -> Attributes:
        """Each attribute is a block, whatever the job."""
        return ONE_BY_ONE
