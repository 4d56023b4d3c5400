"""Best of all partitions of a few records, by enumeration.  Imports numba."""

import numpy as np

from aggopt.core.compiled import compiled
from aggopt.core.types import I64
from aggopt.core.validation import Floats, Labels


@compiled
def fill_lowest_losses(costs: Floats, k: int, lowest_loss: Floats, first: I64) -> None:
    """Set the least loss of each set (2^n,), and the group in it of its first record.

    The least losses are inf initially; sets without a partition keep that.
    """
    lowest_loss[0] = 0.0
    for record_set in range(1, len(costs)):
        first_record = record_set & -record_set
        rest = record_set ^ first_record
        others = rest  # of the group, without the first record
        while True:
            loss = costs[others | first_record] + lowest_loss[rest ^ others]
            if loss < lowest_loss[record_set]:
                lowest_loss[record_set] = loss
                first[record_set] = others | first_record
            if others == 0:
                break
            others = (others - 1) & rest


MOST = 17  # records: 3^17 / 2 pairs of a set and a group in it
PAIR = 2e-8  # seconds for one of them, at most


def estimate_time(n: int) -> float:
    """Return the seconds that n records take at most."""
    return PAIR * 3.0**n


def find_best_partition(Z: Floats, k: int, weights: Floats | None = None) -> Labels:
    """Return labels (n,) of the partition of Z (n, d) with the least loss.

    By dynamic programming: the least loss of a set of records is that of the group of
    its first record, plus that of the rest. Memory 33 2^n bytes.
    """
    costs = _compute_costs(Z, k, weights)
    first = np.zeros(len(costs), np.int64)
    fill_lowest_losses(costs, k, np.full(len(costs), np.inf), first)
    labels = np.zeros(len(Z), np.intp)
    left = len(costs) - 1
    group = 0
    while left:
        labels[[i for i in range(len(Z)) if first[left] >> i & 1]] = group
        left = left - int(first[left])
        group = group + 1
    return labels


def _compute_costs(Z: Floats, k: int, weights: Floats | None) -> Floats:
    """Return the loss of each set of records (2^n,), inf for sets that are not groups.

    Record i is in the sets whose number has bit i.
    """
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    record_weights = np.ones(len(Z)) if weights is None else weights
    distances *= record_weights[:, None] * record_weights
    # of the sets of the records so far
    sizes = np.zeros(1)
    set_weights = np.zeros(1)
    losses = np.zeros(1)
    for i in range(len(Z)):
        added = np.zeros(1)
        for j in range(i):
            added = np.append(added, added + distances[i, j])
        losses = np.append(losses, losses + added)
        sizes = np.append(sizes, sizes + 1)
        set_weights = np.append(set_weights, set_weights + record_weights[i])
    groups = (sizes >= k) & (sizes < 2 * k)
    return np.where(groups, losses / np.where(groups, set_weights, 1.0), np.inf)
