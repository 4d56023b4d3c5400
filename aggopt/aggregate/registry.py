"""The aggregations by name: each is declared in its own file of this folder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import field_validator

from aggopt.aggregate._own import OwnAggregator
from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.categories.registry import CATEGORY_AGGREGATORS, CategorySection
from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Method, Registry, require_arguments
from aggopt.core.section import MethodSection, union_of_sections
from aggopt.models import Model

# a margin is added to distances; categories have functions of their own
BESIDE = frozenset({"method", "margin", "categories"})

if TYPE_CHECKING:
    Categories: TypeAlias = CategorySection
else:
    Categories = union_of_sections(
        method.settings for method in CATEGORY_AGGREGATORS.values()
    )


class Aggregating(MethodSection):
    """Settings of an aggregation, and the statistics that it keeps.

    Attributes
    ----------
    categories
        Settings of categorical quasi-identifiers; None if the job has none, or uses the
        default.
    """

    categories: Categories | None = None

    @field_validator("categories", mode="before")
    @classmethod
    def _nearest(cls, section: Any) -> Any:
        """Read an empty section as the default method."""
        return (
            {"method": next(iter(CATEGORY_AGGREGATORS))} if section == {} else section
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the method's function."""
        return {k: v for k, v in super().settings.items() if k != "categories"}

    @property
    def programs(self) -> "tuple[Aggregating, ...]":
        """The settings of each program that is solved."""
        return (self,)

    @property
    def keeps(self) -> frozenset[str]:
        """The statistics among mean, variance and covariance that it keeps."""
        return frozenset()


@dataclass(frozen=True, kw_only=True)
class Aggregator(Method):
    """A method that turns a partition into published values.

    Attributes
    ----------
    function
        Takes records X (n, d), labels and the settings; returns an `Aggregation`.
    settings
        The section of a job for this method.
    certificate
        Description of objective and bound of its certificates, in standardised units.
    model
        The optimisation model that it solves; None if a formula is optimal.
    template
        Lines on its settings in a new job, each a comment, unless others' name them.
    """

    function: Callable[..., Aggregation]
    settings: type[Aggregating]
    certificate: str
    model: Model | None = None
    template: str = ""

    def __post_init__(self) -> None:
        settings = set(self.settings.model_fields) - BESIDE
        require_arguments(self.name, settings, self.function)


def _adopted(thing: object, origin: Origin) -> Aggregator:
    """Return the aggregation that a function of the user's is."""
    return Aggregator(
        name=origin.name,
        when="an aggregation of your own",
        origin=origin,
        function=OwnAggregator.of(thing, origin, BESIDE),
        settings=Aggregating,
        certificate="sum of squared errors, and the least, that of the means",
    )


AGGREGATORS = Registry(
    "aggopt.aggregate",
    Aggregator,
    "aggregation",
    ["by_model"],  # of a model of the user's, which `model` names
    own="aggregators",
    adopt=_adopted,
)
