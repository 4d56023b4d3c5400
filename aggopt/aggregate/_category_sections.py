"""The section that says how the categories of groups are chosen."""

from typing import Literal

from aggopt.core.section import MethodSection


class CategoryAggregation(MethodSection):
    """How categorical quasi-identifiers are published, each by itself.

    Attributes
    ----------
    method
        "plurality": `aggopt.aggregate.plurality`.
    """

    method: Literal["plurality"] = "plurality"
