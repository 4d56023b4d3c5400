"""The section of an aggregation, which turns groups into published values."""

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from pydantic import SerializeAsAny

from aggopt.aggregate.registry import AGGREGATORS, Aggregating
from aggopt.core.plugins.section import UserMethodSection
from aggopt.core.registry import Registry
from aggopt.core.section import make_section_union


class OwnAggregating(UserMethodSection, Aggregating):
    """A user's aggregation; the other keys are its settings."""

    methods: ClassVar[Registry[Any]] = AGGREGATORS


if TYPE_CHECKING:
    Aggregation: TypeAlias = Aggregating
else:
    Aggregation = SerializeAsAny[
        make_section_union(m.settings for m in AGGREGATORS.values())
    ]
