"""The aggregations of categories by name, each declared in a file of this folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

from aggopt.aggregate.categories.published import PublishedCategories
from aggopt.core.registry import Method, Registry, require_arguments
from aggopt.core.section import MethodSection
from aggopt.models import Model


class CategorySection(MethodSection):
    """Settings of an aggregation of categories.

    Attributes
    ----------
    of_job
        Keys that the job itself reads, and no function takes.
    """

    of_job: ClassVar[frozenset[str]] = frozenset()

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments for the method's aggregation functions."""
        return {k: v for k, v in super().settings.items() if k not in self.of_job}

    def together(self, blocks: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the sets of attributes in each block that are chosen together.

        Each is chosen separately, unless a method overrides this.
        """
        return [(name,) for block in blocks for name in block]


@dataclass(frozen=True, kw_only=True)
class CategoryAggregator(Method):
    """A method that turns a partition into one category for each group.

    Attributes
    ----------
    function
        Takes one attribute, the groups and the settings.
    settings
        The section of a job for this method.
    certificate
        Description of objective and bound of its certificates.
    together
        As `function`, for several attributes that are chosen together, or None.
    model
        The optimisation model that it solves; None if a formula is optimal.
    template
        Lines on its settings in a new job, each a comment.
    """

    function: Callable[..., PublishedCategories]
    settings: type[CategorySection]
    certificate: str
    together: Callable[..., Any] | None = None
    model: Model | None = None
    template: str = ""

    def __post_init__(self) -> None:
        beside = {"method", *self.settings.of_job}
        require_arguments(
            self.name, set(self.settings.model_fields) - beside, self.function
        )

    @property
    def nodes(self) -> bool:
        """Whether its function has an option to publish nodes of a tree."""
        return "publish" in signature(self.function).parameters


CATEGORY_AGGREGATORS = Registry(
    "aggopt.aggregate.categories", CategoryAggregator, "aggregation of categories"
)
