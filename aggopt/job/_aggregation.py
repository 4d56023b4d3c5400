"""The section that says how groups become published values: one of an aggregation."""

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from pydantic import SerializeAsAny

from aggopt.aggregate._registry import AGGREGATORS, Aggregating
from aggopt.core.plugins.section import UserMethodSection
from aggopt.core.registry import Registry
from aggopt.core.section import union_of_sections


class OwnAggregating(UserMethodSection, Aggregating):
    """An aggregation of the user's; the keys beside are its settings."""

    methods: ClassVar[Registry[Any]] = AGGREGATORS


if TYPE_CHECKING:
    Aggregation: TypeAlias = Aggregating
else:
    Aggregation = SerializeAsAny[
        union_of_sections(m.settings for m in AGGREGATORS.values())
    ]
