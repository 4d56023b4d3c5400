"""The section that says how groups become published values: one of an aggregation."""

from typing import TYPE_CHECKING, TypeAlias

from pydantic import SerializeAsAny

from aggopt.aggregate._registry import AGGREGATORS, Aggregating
from aggopt.core.section import one_of

if TYPE_CHECKING:
    Aggregation: TypeAlias = Aggregating
else:
    Aggregation = SerializeAsAny[one_of(m.settings for m in AGGREGATORS.values())]
