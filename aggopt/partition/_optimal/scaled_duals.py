"""A bound at any price: prices that are scaled down until no group pays."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.partition._optimal.column_generation import Generation
from aggopt.partition._optimal.pricing import PricingEffort

STEPS = (0.5, 0.7, 0.8, 0.85, 0.89, 0.92, 0.94, 0.96, 0.98)


def scaled_bounds(generation: Generation, clock: Deadline) -> bool:
    """Prove what a growing share of the prices proves; return whether all of it did.

    If no group pays under prices u, none does under a share of them.  The smaller the
    share, the sooner a search for groups that pay is over.
    """
    for share in STEPS:
        if clock.over:
            return False
        duals = generation.prices.scaled(share)
        found = generation.pricer.paying(duals, PricingEffort(), clock)
        if not found.done:
            return False
        generation.prove(duals, found.least)
        if len(found.reduced):  # they pay under the whole prices, too
            generation.add(found.groups.at(np.argsort(found.reduced)[:20_000]))
    return not clock.over
