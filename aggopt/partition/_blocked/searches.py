"""Searches of one region, which run in parallel threads."""

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Labels
from aggopt.partition._blocked.regions import Region, Search
from aggopt.partition._local_search.cooling import Cooling
from aggopt.partition._local_search.setup import create_weights

SPARE = 0.25  # records beyond k, on average, in the initial groups of annealing


def descend_region(
    k: int, clock: Deadline, perturbations: int, region: Region
) -> Labels:
    """Return the labels of one region after a descent and perturbations."""
    from aggopt.partition._local_search import search

    rows, labels, near, turn, seed, weights = region
    return search.improve_labels(
        rows,
        labels,
        k,
        near,
        perturbations=perturbations,
        seed=seed,
        clock=clock,
        order=turn,
        weights=create_weights(weights, len(rows), k),
    )


def anneal_region(
    k: int,
    clock: Deadline,
    proposals: float,
    cooling: Cooling,
    pause: float | None,
    region: Region,
) -> Labels:
    """Return the labels of one region after annealing, which may lose more.

    It takes `pause` seconds per record at most, unless that is None.

    It takes `pause` seconds per record at most, if that is given.
    """
    from aggopt.partition._local_search import search

    rows, labels, near, _, seed, weights = region
    region_clock = (
        clock if pause is None else Deadline(min(pause * len(rows), clock.left))
    )
    return search.anneal_labels(
        rows,
        labels,
        k,
        near,
        proposals=proposals,
        seed=seed,
        clock=region_clock,
        cooling=cooling,
        spare=SPARE,
        weights=create_weights(weights, len(rows), k),
    )


def anneal_and_descend_region(
    anneal: Search, k: int, clock: Deadline, region: Region
) -> Labels:
    """Return the labels of one region after annealing and a descent of all records."""
    everyone = np.arange(len(region.rows))
    return descend_region(
        k, clock, 0, region._replace(labels=anneal(region), turn=everyone)
    )
