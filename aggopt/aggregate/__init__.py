"""From a partition to the values that are published."""

from typing import Any

from aggopt.aggregate._mean import Mean as Mean
from aggopt.aggregate._mean import mean as mean
from aggopt.aggregate._median import Median as Median
from aggopt.aggregate._median import median as median
from aggopt.aggregate._p3m import P3m as P3m
from aggopt.aggregate._p3m import p3m as p3m
from aggopt.aggregate._p3m_onesided import P3mOnesided as P3mOnesided
from aggopt.aggregate._p3m_onesided import p3m_onesided as p3m_onesided
from aggopt.aggregate._satisfaction import Satisfaction as Satisfaction
from aggopt.aggregate._satisfaction import satisfaction as satisfaction
from aggopt.aggregate.aggregation import Aggregation as Aggregation
from aggopt.aggregate.categories.frequencies import (
    crossed_frequencies as crossed_frequencies,
)
from aggopt.aggregate.categories.frequencies import frequencies as frequencies
from aggopt.aggregate.categories.plurality import medoids as medoids
from aggopt.aggregate.categories.plurality import plurality as plurality
from aggopt.aggregate.categories.published import (
    PublishedCategories as PublishedCategories,
)
from aggopt.aggregate.categories.published import PublishedTogether as PublishedTogether
from aggopt.aggregate.categories.published import published_loss as published_loss
from aggopt.aggregate.categories.registry import (
    CATEGORY_AGGREGATORS as CATEGORY_AGGREGATORS,
)
from aggopt.aggregate.categories.registry import (
    CategoryAggregator as CategoryAggregator,
)
from aggopt.aggregate.categories.wish import wish as wish
from aggopt.aggregate.registry import AGGREGATORS as AGGREGATORS
from aggopt.aggregate.registry import Aggregator as Aggregator
from aggopt.aggregate.secret_margins import with_margins as with_margins
from aggopt.aggregate.user_model import by_model as by_model


def __getattr__(name: str) -> Any:
    """Return the function of an aggregation that only its own file names."""
    for methods in (AGGREGATORS, CATEGORY_AGGREGATORS):
        if not name.startswith("_") and name in methods:
            return methods[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
