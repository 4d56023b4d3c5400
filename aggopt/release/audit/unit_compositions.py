"""What is known of units whose records somebody knows to belong together."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import AnyInt
from aggopt.core.validation import Labels
from aggopt.release.audit.counts import Count


def together_known(published: Labels, units: Labels, k: int) -> list[str]:
    """Say how many units are rare by how many records have which combination.

    No release says which records are of one unit.  `published` says which combination
    each record has, (n,), and `units` which unit it is of.
    """
    found = count_linked_units((), published, units, k)
    if not found.rare:
        return []
    return [
        "Units are not published. If somebody knew which records belong to one unit, "
        f"the combinations of its records would make {found.unique} of "
        f"{plural(found.total, 'unit')} unique, and put {found.rare} into groups "
        f"smaller than {k}. If a published column tells how large a unit is, make it a "
        "stratum."
    ]


def count_linked_units(
    attributes: Sequence[str], published: Labels, units: AnyInt, k: int
) -> Count:
    """Return how many units share what their records have together.

    That is how many records they have of which combination of `attributes`:
    `published` (n,) says which each record has, and `units` (n,) which unit it is of.
    """
    found = Count.of(attributes, _composition(published, units), k)
    return replace(found, what="unit")


def _composition(published: Labels, units: AnyInt) -> Labels:
    """Return which composition each unit has, (units,), 0..m-1."""
    order = np.lexsort((published, units))
    ends = np.flatnonzero(np.diff(units[order])) + 1
    known = [tuple(own.tolist()) for own in np.split(published[order], ends)]
    place = {each: j for j, each in enumerate(dict.fromkeys(known))}
    return np.array([place[each] for each in known])
