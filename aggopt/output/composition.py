"""What is known of units whose records somebody knows to belong together."""

from collections import Counter

import numpy as np

from aggopt.core.plural import many
from aggopt.core.validation import Labels


def together_known(published: Labels, units: Labels, k: int) -> list[str]:
    """Say how many units are rare by how many records have which combination.

    No release says which records are of one unit.  `published` says which combination
    each record has, (n,), and `units` which unit it is of.
    """
    order = np.lexsort((published, units))
    ends = np.flatnonzero(np.diff(units[order])) + 1
    known = [tuple(own.tolist()) for own in np.split(published[order], ends)]
    counts = Counter(known)
    rare = sum(counts[each] < k for each in known)
    alone = sum(counts[each] == 1 for each in known)
    if not rare:
        return []
    return [
        f"Units are not published. Were it known which records are of one, {alone} of "
        f"{many(len(known), 'unit')} would be alone with how many records they have of "
        f"which combinations, and {rare} would share that with fewer than {k - 1} "
        "others. If a published column tells how large a unit is, make it a stratum."
    ]
