"""Bounds hold on encodings unchanged: against every partition of small mixed tables.

The least loss is counted from distances of pairs of values, not from coordinates.
"""

from functools import partial
from typing import Any

import numpy as np
import pytest
from encoding.mixed import TYPES, all_distances, table
from partition.exact import partitions

import aggopt
from aggopt.partition import blocked, local_search, loss_bound, optimal
from aggopt.partition.registry import (
    PARTITIONERS,
    AttributeUse,
    Objective,
    list_block_methods,
)
from aggopt.solvers import Status

N = 8
TIGHT = 1e-9  # share of a loss that sums of floats in another order may differ by
KS = 2, 3, 5  # of 8 records: many partitions, few, and one
EVERY = {k: list(partitions(list(range(N)), k)) for k in KS}
SEEDS = range(4)
METHODS = {
    name: PARTITIONERS[name].function
    for name in list_block_methods()
    if PARTITIONERS[name].takes is AttributeUse.SEVERAL
    and PARTITIONERS[name].objective is Objective.SQUARES
}
METHODS |= {
    "local_search in a hurry": partial(local_search, effort="fast"),
    "blocked in blocks": partial(blocked, block_size=10, effort="fast"),
    "optimal to half": partial(optimal, gap_tol=0.5),
}


def mixed(seed: int, weights: str) -> tuple[aggopt.encoding.Encoded, np.ndarray]:
    """Return what is encoded, and squared distances (n, n) counted value by value.

    Every second table has copies: three records come twice.
    """
    frame = table(N, seed)
    if seed % 2:
        frame.iloc[-3:] = frame.iloc[:3].to_numpy()
    encoded = aggopt.encode(frame, TYPES, weights=weights)
    apart = np.zeros((N, N))
    for each in encoded.attributes:
        if weights == "range" and each.name == "age":
            ages = frame["age"].to_numpy(float)
            apart += abs(ages[:, None] - ages) / np.ptp(ages)
        elif each.weight:
            apart += each.weight * all_distances(frame, each.name)
    return encoded, apart


def lost(apart: np.ndarray, groups: Any) -> float:
    """Return the sum of squares: distances of pairs over sizes (Huygens)."""
    return float(sum(apart[np.ix_(g, g)].sum() / (2 * len(g)) for g in groups))


def least(apart: np.ndarray, k: int) -> float:
    """Return the least loss of all partitions into groups of k or more."""
    return min(lost(apart, groups) for groups in EVERY[k])


CASES = [(seed, weights) for seed in SEEDS for weights in ("variance", "range")]
TABLES = {case: mixed(*case) for case in CASES}
LEAST = {(case, k): least(TABLES[case][1], k) for case in CASES for k in KS}


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("case", CASES)
def test_no_partition_of_a_mixed_table_loses_less_than_the_bound(
    case: tuple[int, str], k: int
) -> None:
    bound = loss_bound(TABLES[case][0], k)
    assert 0 < bound <= LEAST[case, k] * (1 + TIGHT)
    if 2 * k > N:  # one group
        assert bound == pytest.approx(LEAST[case, k], rel=TIGHT)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", METHODS)
def test_every_certificate_of_a_mixed_table_is_true(name: str, k: int) -> None:
    for case in CASES:
        encoded, apart = TABLES[case]
        found = METHODS[name](encoded, k)
        proof = found.certificate
        groups = [np.flatnonzero(found == g) for g in range(found.max() + 1)]
        assert min(map(len, groups)) >= k
        assert proof.objective == pytest.approx(lost(apart, groups), rel=TIGHT)
        assert proof.bound <= LEAST[case, k] * (1 + TIGHT)
        assert proof.objective >= LEAST[case, k] * (1 - TIGHT)
        if proof.status is Status.OPTIMAL:
            assert proof.objective == pytest.approx(LEAST[case, k], rel=1e-6)


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("case", CASES)
def test_the_least_loss_of_a_mixed_table_is_found_and_proven(
    case: tuple[int, str], k: int
) -> None:
    proof = optimal(TABLES[case][0], k).certificate
    assert proof.status is Status.OPTIMAL
    assert proof.objective == pytest.approx(LEAST[case, k], rel=TIGHT)
