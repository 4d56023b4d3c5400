"""Local search over partitions: what is changed, how, and when it ends."""

from aggopt.partition._search.collection import Collection as Collection
from aggopt.partition._search.near import neighbours as neighbours
from aggopt.partition._search.promise import Promise as Promise
from aggopt.partition._search.promise import close_to as close_to
from aggopt.partition._search.promise import diverse_in as diverse_in
from aggopt.partition._search.promise import promise_of as promise_of
from aggopt.partition._search.search import annealed as annealed
from aggopt.partition._search.search import searched as searched
