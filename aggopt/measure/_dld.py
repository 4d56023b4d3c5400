"""How many records are linked to their own released record."""

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from aggopt.arrays import Floats, Labels
from aggopt.measure._pair import Pair

_ROUNDING = 1e-13  # of the lengths that enter a distance


def dld(original: npt.ArrayLike, released: npt.ArrayLike) -> float:
    """Return the distance linkage disclosure, a fraction in [0, 1].

    An intruder who knows the original records links each of them to the nearest
    released record, in Euclidean distance over values standardised by the original;
    of several at that distance, to the one with the smallest index.  DLD is the share
    of records that are linked to their own.  Lower is better.

    With the original itself and distinct records it is 1.  Of released records that
    are equal only the first can be linked, so that groups of k give at most 1/k.
    Distances that differ by less than rounding can make up count as equal.
    Attributes constant in the original are left out.  Memory grows with n d.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> dld([[0.0], [2.0], [4.0], [6.0]], [[1.0], [1.0], [5.0], [5.0]])
    0.5
    """
    return dld_of(Pair.of(original, released))


def dld_of(pair: Pair) -> float:
    """Return `dld` of tables already paired."""
    rows, first = np.unique(pair.released, axis=0, return_index=True)
    tree = cKDTree(rows)
    z = pair.original[first]  # no other record can be linked to its own
    nearest = tree.query(z)[0]
    reach = nearest + _ROUNDING * (np.linalg.norm(z, axis=1) + nearest)
    own = np.linalg.norm(z - rows, axis=1) <= reach
    linked = _first_in_reach(tree, z[own], reach[own], first) == first[own]
    return float(linked.sum() / pair.n)


def _first_in_reach(tree: cKDTree, z: Floats, reach: Floats, first: Labels) -> Labels:
    """Return the smallest index of a record within reach of each z (p, v)."""
    found = tree.query(z)[1]
    index: Labels = first[found]
    tied = tree.query_ball_point(z, reach, return_length=True) > 1
    for i in np.flatnonzero(tied):
        index[i] = first[tree.query_ball_point(z[i], reach[i])].min()
    return index
