"""What the sections of a job that name a partition method have in common."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from aggopt.core.section import MethodSection, Section
from aggopt.errors import JobError

TOGETHER: Final = "together"
ONE_BY_ONE: Final = "one by one"
WAYS = (TOGETHER, ONE_BY_ONE)
OF_A_SEARCH = dict.fromkeys(  # laws of `aggopt.checks` that searches do not keep
    (
        "order_of_records_does_not_matter",
        "order_of_attributes_does_not_matter",
        "units_do_not_matter",
        "constant_attribute_does_not_matter",
    ),
    "a search goes another way where a rounding, or the order of records, differs",
)
OF_TABLE = ("attributes", "weights")  # what a job needs to know, and no method


class Correlation(Section):
    """Attributes together whose every pair has |r| of at least `correlation`."""

    correlation: float = Field(ge=0, le=1, strict=True)


Attributes = (
    Literal["together", "one by one"] | Correlation | tuple[tuple[str, ...], ...]
)
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
Effort = Literal["fast", "default", "best"]


class Grouping(MethodSection):
    """What all partition methods have in common.

    Attributes
    ----------
    attributes
        Which quasi-identifiers are microaggregated together: all "together", each by
        itself ("one by one"), blocks of names, or those that are correlated.
    weights
        How much each attribute weighs, see `aggopt.encode`.
    """

    attributes: Attributes = TOGETHER
    weights: Literal["variance", "range"] = "variance"

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the method's function."""
        return {k: v for k, v in super().settings.items() if k not in OF_TABLE}

    @property
    def same_orderings(self) -> bool:
        """Whether it orders the records alike for every k: several k may share that."""
        return False

    def require(self, k: int) -> None:
        """Refuse settings that do not go with groups of k records."""


class Timed(Grouping):
    """Those of a search that ends with its time, or else with its effort."""

    time_limit: Seconds | None = None
    effort: Effort = "default"

    def require(self, k: int) -> None:
        """Refuse an effort beside a time limit."""
        if self.time_limit is not None and self.effort != "default":
            raise JobError(
                f"[partition] effort = {self.effort!r} beside time_limit, which says "
                "when the search ends.",
                fix="leave one of the two out.",
            )


def one_of_these(name: str, known: Iterable[str]) -> str:
    """Return a name that is known, or refuse it as a literal of pydantic's would be."""
    names = list(map(repr, known))
    if repr(name) in names:
        return name
    expected = f"{', '.join(names[:-1])} or {names[-1]}"
    raise PydanticCustomError(
        "literal_error", "Input should be {expected}", {"expected": expected}
    )
