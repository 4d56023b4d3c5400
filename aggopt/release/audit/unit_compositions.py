"""Audit of units whose records an attacker knows to belong together."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import AnyInt
from aggopt.core.validation import Labels
from aggopt.release.audit.counts import Count


def describe_linked_units(published: Labels, units: Labels, k: int) -> list[str]:
    """Return a note on units that are rare by the combinations of all their records.

    No release reveals which records belong to one unit.  `published` is the combination
    of each record, (n,), and `units` its unit.
    """
    linked = count_linked_units((), published, units, k)
    if not linked.rare:
        return []
    return [
        "Units are not published. If somebody knew which records belong to one unit, "
        f"the combinations of its records would make {linked.unique} of "
        f"{plural(linked.total, 'unit')} unique, and put {linked.rare} into groups "
        f"smaller than {k}. If a published column tells how large a unit is, make it a "
        "stratum."
    ]


def count_linked_units(
    attributes: Sequence[str], published: Labels, units: AnyInt, k: int
) -> Count:
    """Return how many units share the combinations of all their records.

    The combinations of a unit are counted with multiplicity.  `published` (n,) is the
    combination of `attributes` of each record, and `units` (n,) its unit.
    """
    linked = Count.of(attributes, _find_compositions(published, units), k)
    return replace(linked, what="unit")


def _find_compositions(published: Labels, units: AnyInt) -> Labels:
    """Return the composition of each unit, (units,), 0..m-1."""
    order = np.lexsort((published, units))
    ends = np.flatnonzero(np.diff(units[order])) + 1
    compositions = [
        tuple(combinations.tolist())
        for combinations in np.split(published[order], ends)
    ]
    place = {
        composition: j for j, composition in enumerate(dict.fromkeys(compositions))
    }
    return np.array([place[composition] for composition in compositions])
