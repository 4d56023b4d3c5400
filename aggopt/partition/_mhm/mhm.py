"""MHM: a path through all records, split optimally into groups."""

import numpy as np
import numpy.typing as npt

from aggopt.core.progress import Progress, rarely
from aggopt.core.validation import Labels, group_size, is_whole
from aggopt.errors import JobError, require_known
from aggopt.partition._mhm import orderings as orders
from aggopt.partition._path_split.split import best_split
from aggopt.partition._shared.power_of_two import within_one
from aggopt.partition._shared.scaling import scaled

STARTS = 8
MANY = 5000  # records, from which on choosing among paths gains little


def mhm(
    X: npt.ArrayLike,
    k: int,
    *,
    order: str = "mdav",
    starts: int | None = None,
    scale: str = "z",
    progress: Progress | None = None,
) -> Labels:
    """Return labels (n,): the groups into which a path through the records splits best.

    The records are put in an order in which neighbours are alike.  Among all ways to
    split it into groups of k to 2k - 1 consecutive records, the one with the least
    sum of squares within groups is taken.  Distances are Euclidean.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    order : "mdav", "cbfs", "md", "npn" or "tsp"
        "npn", nearest point next: the path goes on to the nearest record that it has
        not visited.
        "mdav", "cbfs", "md": it does so too, but once in a group of that heuristic it
        visits all of it first.  MD is MDAV with its ending "nearest" where r and s
        are the two records farthest apart, r the one farther out.
        "tsp": the path of "npn" is closed to a tour; while it becomes shorter, two of
        its edges are replaced (2-opt) or up to three records moved elsewhere
        (Or-opt).  Each change joins a record to one of its ten nearest.  The tour is
        split as a ring, cut open at each of 2k - 1 records that follow each other,
        or at 63 of them.
    starts : int, optional
        How many paths are tried; the one that splits best is taken.  They begin at
        the record farthest from the centroid, at the record farthest from that, at
        the record farthest from those two, and so on.  None: 8 with up to 5000
        records, 40 000 / n with more, at least 1.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), where a
        constant attribute weighs nothing.  "none" takes X as it is: for attributes
        that you have weighted yourself.
    progress : callable, optional
        Told the share of the work that is done, from 0.0 to 1.0, a few dozen times
        at most.  What it raises stops the work, as Ctrl-C does.

    Returns
    -------
    (n,) ints
        Group of each record, numbered 0..m-1 along the path.  Each group has k to
        2k - 1 records.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        k or starts is below 1 or not a whole number; an unknown order or scale
        (UnknownNameError).
    TableError
        X is not a matrix of finite numbers.

    Notes
    -----
    Which order?  With "mdav" and "cbfs" nothing can be lost: the groups of the
    heuristic are one of the ways to split the path.  "tsp" mostly loses less than they
    do where k is 3 or 4 or the records come in clusters, and far more where k is 10
    and they do not.  "npn" and "md" are there for comparison.

    Of records equally far the one that comes first in X is taken; see `mdav` on ties.
    Records that are the same follow each other with "npn" and "tsp": where each comes
    k times or more, nothing is lost.

    Time grows as n^2 d / k for "mdav" and "cbfs", as n^2 d for the others, less where
    records cluster; the split adds n k d, of a ring several times that.  For
    n = 100 000 normal records, d = 10 and k = 5, `mdav` takes 3.2 seconds, "mdav" 4.4,
    "npn" 5.2, "tsp" 20 and "md" some 80.  Memory grows as n d: distances are never
    kept.

    Weaknesses: the groups are the best of one path only, and most have k records as
    before, so that "mdav" gains a few percent at k = 3 and little at k = 10, unless
    the records cluster; and no confidential attribute is looked at.

    Source: Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe, Efficient
    multivariate data-oriented microaggregation, VLDB Journal 15(4), 2006.  That a
    group is entered at the record nearest to the last, and that several starts are
    tried, is ours; on their data "mdav" and "npn" lose less than they report.  The
    split: Hansen and Mukherjee, IEEE TKDE 15(4), 2003.  2-opt and Or-opt with lists
    of neighbours: Bentley, Fast algorithms for geometric traveling salesman problems,
    ORSA Journal on Computing 4(4), 1992.

    Examples
    --------
    >>> mhm([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0], [1.0]], k=3)
    array([1, 0, 1, 0, 1, 0, 1])
    """
    require_known("order", order, orders.ORDERS)
    records = scaled(X, scale)
    n = len(records)
    k, starts = group_size(k, n), _checked(starts, n)
    report = rarely(progress)
    if n < 2 * k:
        report(1.0)
        return np.zeros(n, np.intp)
    records, _ = within_one(records)
    paths = orders.paths(records, k, order, starts, report)
    labels = best_split(records, paths, k, closed=order == "tsp")
    report(1.0)
    return labels


def _checked(starts: int | None, n: int) -> int:
    if starts is None:
        return max(1, STARTS * MANY // max(n, MANY))
    if is_whole(starts) and starts >= 1:
        return int(starts)
    raise JobError(
        "starts must be a whole number of at least 1.",
        fix="pass how many paths are tried, starts=8, or leave it out.",
    )
