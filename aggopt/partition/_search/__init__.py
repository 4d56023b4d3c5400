"""Local search over partitions: what is changed, how, and when it ends."""

from aggopt.partition._search.collection import Collection as Collection
from aggopt.partition._search.near import neighbours as neighbours
from aggopt.partition._search.search import annealed as annealed
from aggopt.partition._search.search import searched as searched
from aggopt.partition._search.state import Close as Close
