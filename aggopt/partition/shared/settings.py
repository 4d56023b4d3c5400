"""Settings of a job that all partition methods have in common."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from aggopt.core.section import MethodSection, Section
from aggopt.errors import JobError

TOGETHER: Final = "together"
ONE_BY_ONE: Final = "one by one"
WAYS = (TOGETHER, ONE_BY_ONE)
SEARCH_EXEMPTIONS = dict.fromkeys(  # laws of `aggopt.checks` that searches break
    (
        "order_of_records_does_not_matter",
        "order_of_attributes_does_not_matter",
        "units_do_not_matter",
        "constant_attribute_does_not_matter",
    ),
    "a search takes another path if a rounding, or the order of records, differs",
)
# settings of the job, not of the method
TABLE_SETTINGS = ("attributes", "weights", "bound")


class Correlation(Section):
    """Blocks whose attributes all have pairwise |r| of at least `correlation`."""

    correlation: float = Field(ge=0, le=1, strict=True)


Attributes = (
    Literal["together", "one by one"] | Correlation | tuple[tuple[str, ...], ...]
)
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
Effort = Literal["fast", "default", "best"]


class Grouping(MethodSection):
    """Settings of all partition methods.

    Attributes
    ----------
    attributes
        Quasi-identifiers that are microaggregated together: all "together", each
        independently ("one by one"), blocks of names, or correlated ones.
    weights
        Weight of each attribute, see `aggopt.encode`.
    bound
        Budget of the bound in the certificate, see `aggopt.partition.loss_bound`:
        "quick", "none" or seconds.
    """

    attributes: Attributes = TOGETHER
    weights: Literal["variance", "range"] = "variance"
    bound: Literal["quick", "none"] | Seconds = "quick"

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the method's function, by name."""
        return {k: v for k, v in super().settings.items() if k not in TABLE_SETTINGS}

    @property
    def same_orderings(self) -> bool:
        """Whether the method orders records in the same way for all k."""
        return False

    def require(self, k: int) -> None:
        """Raise if settings are incompatible with groups of k; here none is."""


class Timed(Grouping):
    """Settings of a search that ends after its time limit, or else after its effort."""

    time_limit: Seconds | None = None
    effort: Effort = "default"

    def require(self, k: int) -> None:
        """Raise a JobError if an effort and a time limit are both set."""
        if self.time_limit is not None and self.effort != "default":
            raise JobError(
                f"[partition] effort = {self.effort!r} and time_limit are both "
                "set, but only one of them ends the search.",
                fix="leave one of the two out.",
            )


def require_choice(name: str, choices: Iterable[str]) -> str:
    """Return `name` if it is one of `choices`; else raise pydantic's error."""
    names = list(map(repr, choices))
    if repr(name) in names:
        return name
    expected = f"{', '.join(names[:-1])} or {names[-1]}"
    raise PydanticCustomError(
        "literal_error", "Input should be {expected}", {"expected": expected}
    )
