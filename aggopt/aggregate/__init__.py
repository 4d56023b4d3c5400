"""From a partition to the values that are published."""

from aggopt.aggregate._aggregation import Aggregation as Aggregation
from aggopt.aggregate._margin import with_margins as with_margins
from aggopt.aggregate._mean import mean as mean
from aggopt.aggregate._median import median as median
from aggopt.aggregate._p3m import p3m as p3m
from aggopt.aggregate._p3m import p3m_onesided as p3m_onesided
from aggopt.aggregate._p3m import satisfaction as satisfaction
