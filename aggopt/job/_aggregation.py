"""The section that says how groups become published values: one of an aggregation."""

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from pydantic import SerializeAsAny

from aggopt.aggregate._registry import AGGREGATORS, Aggregating
from aggopt.core.own_section import OwnSection
from aggopt.core.registry import Registry
from aggopt.core.section import one_of


class OwnAggregating(OwnSection, Aggregating):
    """An aggregation of the user's; the keys beside are its settings."""

    methods: ClassVar[Registry[Any]] = AGGREGATORS


if TYPE_CHECKING:
    Aggregation: TypeAlias = Aggregating
else:
    Aggregation = SerializeAsAny[one_of(m.settings for m in AGGREGATORS.values())]
