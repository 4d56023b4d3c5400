"""The aggregations of categories by name, each declared in a file of this folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

from aggopt.aggregate.categories._published import PublishedCategories
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
        """The arguments of the method's functions."""
        return {k: v for k, v in super().settings.items() if k not in self.of_job}

    def together(self, blocks: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return which categories are chosen together, of those in each block.

        Each by itself, unless a method says otherwise.
        """
        return [(name,) for block in blocks for name in block]


@dataclass(frozen=True, kw_only=True)
class CategoryAggregator(Method):
    """From a partition to one category for each group.

    Attributes
    ----------
    function
        Takes one attribute, the groups and the settings.
    settings
        The section of a job that names it.
    certificate
        What objective and bound of its certificates are.
    together
        As `function`, of several attributes that are chosen together; None without.
    model
        The optimisation model that it solves; None where a formula is optimal.
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
        """Whether its function publishes nodes of a tree, if it is told to."""
        return "publish" in signature(self.function).parameters


CATEGORY_AGGREGATORS = Registry(
    "aggopt.aggregate.categories", CategoryAggregator, "aggregation of categories"
)
