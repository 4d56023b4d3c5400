"""The section that says how groups become published values: one of an aggregation."""

from typing import TYPE_CHECKING, TypeAlias

from aggopt.aggregate._registry import AGGREGATORS, Aggregating
from aggopt.core.section import one_of

if TYPE_CHECKING:
    Aggregation: TypeAlias = Aggregating
else:
    Aggregation = one_of(method.settings for method in AGGREGATORS.values())
