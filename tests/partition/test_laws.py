"""Every partitioner obeys the same laws, on ordinary records and at the edges.

A new partitioner joins by itself, and with other settings by a line in PARTITIONERS;
one that searches, and goes another way where a rounding or the order of records
differs, by a line in SEARCHES.
"""

from functools import partial

import numpy as np
import pytest
from partition import laws

from aggopt.partition import (
    blocked,
    cbfs,
    local_search,
    mdav,
    mhm,
    optimal,
    projection,
    vmdav,
)
from aggopt.partition._registry import PARTITIONERS as METHODS
from aggopt.partition._registry import Takes, block_methods


def nearly_optimal(X, k, scale="z"):
    """Return groups that are optimal, or whose gap is no more than 90 %: soon."""
    return optimal(X, k, gap_tol=0.9, scale=scale).labels


ORDERS = "mdav", "cbfs", "md", "npn", "tsp"
AXES = "pca", "zsum", "robust_pca"
PARTITIONERS = [
    pytest.param(mdav, id="mdav"),
    pytest.param(partial(mdav, ending="nearest"), id="mdav-nearest"),
    pytest.param(cbfs, id="cbfs"),
    pytest.param(vmdav, id="vmdav"),
    pytest.param(partial(vmdav, gamma=1.1, centroid="remaining"), id="vmdav-grown"),
    *(pytest.param(partial(mhm, order=o), id=f"mhm-{o}") for o in ORDERS),
    *(pytest.param(partial(projection, axis=a), id=f"projection-{a}") for a in AXES),
]
UNSCALED = [
    pytest.param(partial(mdav, scale="none"), id="mdav-unscaled"),
    pytest.param(partial(mdav, ending="nearest", scale="none"), id="mdav-n-unscaled"),
    pytest.param(partial(cbfs, scale="none"), id="cbfs-unscaled"),
    pytest.param(partial(vmdav, scale="none"), id="vmdav-unscaled"),
    *(
        pytest.param(partial(mhm, order=o, scale="none"), id=f"mhm-{o}-unscaled")
        for o in ORDERS
    ),
    *(
        pytest.param(
            partial(projection, axis=a, scale="none"), id=f"projection-{a}-unscaled"
        )
        for a in AXES
    ),
]
SEARCHES = [
    pytest.param(partial(local_search, effort="fast"), id="local_search"),
    pytest.param(partial(blocked, block_size=128, effort="fast"), id="blocked"),
    pytest.param(nearly_optimal, id="optimal"),
]
SEARCHES_UNSCALED = [
    pytest.param(
        partial(local_search, initial="cbfs", effort="fast", scale="none"),
        id="local_search-cbfs-unscaled",
    ),
    pytest.param(
        partial(blocked, inner="vmdav", block_size=128, effort="fast", scale="none"),
        id="blocked-vmdav-unscaled",
    ),
]
NAMED = {str(param.id).partition("-")[0] for param in PARTITIONERS + SEARCHES}
OTHERS = [  # those that have no line of their own, as they are
    pytest.param(method.function, id=name)
    for name, method in METHODS.items()
    if name not in NAMED and method.in_blocks and method.takes is Takes.SEVERAL
]
PARTITIONERS += OTHERS
EVERYTHING = PARTITIONERS + UNSCALED + SEARCHES + SEARCHES_UNSCALED

K = 4
RNG = np.random.default_rng(20)
NORMAL = RNG.normal(size=(61, 3))
SIGNS = RNG.choice([-1.0, 1.0], size=(61, 3))

EDGES = {
    "n is k": NORMAL[:K],
    "n is 2k - 1": NORMAL[: 2 * K - 1],
    "n is 2k": NORMAL[: 2 * K],
    "n is 3k - 1": NORMAL[: 3 * K - 1],
    "n is 3k": NORMAL[: 3 * K],
    "n is 4k - 1": NORMAL[: 4 * K - 1],
    "one attribute": NORMAL[:, :1],
    "constant attribute": np.insert(NORMAL, 1, 7.0, axis=1),
    "identical records": np.full((61, 3), 0.1),
    "duplicates by the hundred": RNG.permutation(np.repeat(NORMAL[:5], 100, axis=0)),
    "grid full of ties": RNG.integers(0, 2, size=(200, 3)),
    "offset far above spread": 1e9 + SIGNS,
    "tiny": NORMAL * 1e-12,
    "huge": NORMAL * 1e12,
    "tiny beside huge": NORMAL * [1e-12, 1.0, 1e12],
    "near the largest float": SIGNS * 1e300,
    "at the smallest float": np.where(SIGNS > 0, 5e-324, 0.0),
    "one far outlier": np.vstack([NORMAL, [1e15, 0.0, 0.0]]),
    "more than a block": RNG.normal(size=(1100, 2)),
    "more attributes than records": RNG.normal(size=(9, 40)),
}


@pytest.mark.parametrize("law", laws.ON_ANY_RECORDS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("f", EVERYTHING)
def test_at_the_edges(f, edge, law) -> None:
    law(f, EDGES[edge], K)


@pytest.mark.parametrize("law", laws.ON_ANY_RECORDS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("k", [1, 2, 7, 30, 31, 60, 61])
@pytest.mark.parametrize("f", EVERYTHING)
def test_for_any_k(f, k, law) -> None:
    law(f, NORMAL, k)


@pytest.mark.parametrize("law", laws.WITHOUT_NEAR_TIES, ids=lambda law: law.__name__)
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("f", PARTITIONERS + UNSCALED)
def test_without_near_ties(f, k, law) -> None:
    law(f, NORMAL, k)


@pytest.mark.parametrize("law", laws.OF_A_SEARCH, ids=lambda law: law.__name__)
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("f", SEARCHES + SEARCHES_UNSCALED)
def test_of_a_search(f, k, law) -> None:
    law(f, NORMAL, k)


@pytest.mark.parametrize(
    "law", laws.IF_A_SEARCH_STANDARDISES, ids=lambda law: law.__name__
)
@pytest.mark.parametrize("edge", ["one attribute", "duplicates by the hundred"])
@pytest.mark.parametrize("f", SEARCHES)
def test_if_a_search_standardises(f, edge, law) -> None:
    law(f, EDGES[edge], K)
    law(f, NORMAL, K)


@pytest.mark.parametrize("law", laws.IF_IT_STANDARDISES, ids=lambda law: law.__name__)
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("f", PARTITIONERS)
def test_if_it_standardises(f, k, law) -> None:
    law(f, NORMAL, k)


def test_every_method_of_a_job_is_held_to_the_laws() -> None:
    held = {str(param.id).partition("-")[0] for param in EVERYTHING}
    several = {m for m in block_methods() if METHODS[m].takes is Takes.SEVERAL}
    assert held == several
