"""What is compiled, or loaded, before anyone's time is taken."""

from functools import cache
from importlib import import_module

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.partition._mdav import mdav
from aggopt.partition._neighbours.neighbours import compile_forest, neighbours
from aggopt.partition._optimal.columns import groups_of, sorted_groups
from aggopt.partition._optimal.exhaustive import best_of_all
from aggopt.partition._optimal.initial_columns import Searches
from aggopt.partition._optimal.pricing import Duals, Pricer, PricingEffort
from aggopt.partition._optimal.subset_row_cuts import broken


@cache
def compile_all() -> None:
    """Call every kernel once: no one's time is to pay for compilation, or imports."""
    import_module("aggopt.partition._optimal.schedule")
    import_module("highspy")
    Z, clock = np.array([[0.0], [1.0], [5.0], [6.0]]), Deadline(None)
    labels, near = mdav(Z, 2), neighbours(Z, 3)
    for n in (5, 7):  # whose last steps differ
        mdav(np.arange(float(n))[:, None], 2)
    for d in (1, 2):  # through a tree, whose records lie otherwise if they have 1 entry
        mdav(np.repeat(np.arange(5000.0)[:, None], d, axis=1), 2)
    compile_forest()
    best_of_all(Z, 2)
    searches = Searches(Z, 2, near, 0)
    searches.improved(labels, 1, clock)
    searches.met.add(labels)
    pricer = Pricer(Z, 2, near)
    pricer.climbed(Duals(np.ones(4)), groups_of(labels, 2))
    pricer.paying(Duals(np.ones(4), [(0, 1, 2)], -np.ones(1)), PricingEffort(), clock)
    pairs = sorted_groups(np.array([[0, 1, -1], [0, 2, -1], [1, 2, -1]], np.int32))
    broken(pairs, np.full(3, 0.5), np.ones(4, bool), set(), 1)
