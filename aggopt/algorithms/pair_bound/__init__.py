"""The pair program: a bound on the loss of every partition, from pairs of records."""

from aggopt.algorithms.pair_bound.program import PairPrices
from aggopt.algorithms.pair_bound.solve import PairBound, bound_partitions, run

__all__ = ["PairBound", "PairPrices", "bound_partitions", "run"]
