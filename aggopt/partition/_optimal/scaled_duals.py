"""Lagrangian bounds from scaled duals, if exact pricing takes long."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.pricing import PricingEffort

STEPS = (0.5, 0.7, 0.8, 0.85, 0.89, 0.92, 0.94, 0.96, 0.98)


def raise_bound_by_scaling(generation: ColumnGeneration, clock: Deadline) -> bool:
    """Raise the bound by duals scaled with growing factors; return whether all ended.

    If no group prices out at duals u, none does at a share of them.  The smaller the
    share, the sooner exact pricing ends.
    """
    for share in STEPS:
        if clock.over:
            return False
        duals = generation.prices.scaled(share)
        priced = generation.pricer.paying(duals, PricingEffort(), clock)
        if not priced.done:
            return False
        generation.prove(duals, priced.least)
        if len(priced.reduced):  # they price out at the full duals, too
            generation.add(priced.groups.at(np.argsort(priced.reduced)[:20_000]))
    return not clock.over
