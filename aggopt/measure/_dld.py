"""How many records are linked to their own released record."""

import numpy as np
import numpy.typing as npt

from aggopt.measure._pair import Pair
from aggopt.measure._registry import Heading, Measure

_ROUNDING = 1e-13  # of the lengths that enter a distance


def dld(original: npt.ArrayLike, released: npt.ArrayLike) -> float:
    """Return the distance linkage disclosure, a fraction in [0, 1].

    An intruder who knows the original records links each of them to the nearest
    released record, in Euclidean distance over values standardised by the original.
    DLD is the expected share of records that are linked to their own: where a record's
    own released record is among the nearest, 1 / (number of released records at that
    distance), otherwise 0; the mean over all records.  Lower is better.

    With the original itself and distinct records it is 1; groups of k give at most
    1/k.  Distances that differ by less than rounding can make up count as equal.
    Attributes constant in the original are left out.  Memory grows with n d.

    The literature links to one record and says nothing of ties; its programs take the
    first, so that of released records that are equal only one can be linked.  Both
    agree on groups of k whose members are all nearest to their own group, and where
    nothing is tied; the expected share does not depend on the order of the records.

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
    from scipy.spatial import cKDTree

    found = np.unique(pair.released, axis=0, return_inverse=True, return_counts=True)
    rows, group, sizes = found[0], found[1].ravel(), found[2]
    tree, z = cKDTree(rows), pair.original
    nearest, second = tree.query(z, k=2)[0].T  # infinite where there is no second
    reach = nearest + _ROUNDING * (np.linalg.norm(z, axis=1) + nearest)
    own = np.linalg.norm(z - rows[group], axis=1) <= reach
    there = sizes[group]
    for i in np.flatnonzero(own & (second <= reach)):
        there[i] = sizes[tree.query_ball_point(z[i], reach[i])].sum()
    return float((own / there).sum() / pair.n)


DLD = Measure(
    name="dld",
    when="whom an intruder finds who links each original to the nearest",
    rank=60,
    function=dld,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2001)",
    of=lambda tables: dld_of(tables.pair),
    heading=Heading.RISK,
    label="DLD",
    says=lambda found: "records linked to the nearest",
)
