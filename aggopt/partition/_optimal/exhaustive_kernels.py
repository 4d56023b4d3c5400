"""Compiled choice of groups among all sets of a few records.  Imports numba."""

from aggopt.core.compiled import compiled
from aggopt.core.types import I64
from aggopt.core.validation import Floats


@compiled
def choose_groups(costs: Floats, k: int, lowest_loss: Floats, first: I64) -> None:
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
                lowest_loss[record_set], first[record_set] = loss, others | first_record
            if others == 0:
                break
            others = (others - 1) & rest
