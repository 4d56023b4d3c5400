"""MHM: an ordering of the records, split optimally into groups."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.deadline import Deadline, Progress, throttle
from aggopt.core.validation import Floats, Labels, check_group_size, is_whole
from aggopt.errors import JobError, require_known
from aggopt.partition._mhm import orderings as orders
from aggopt.partition.path_split.split import find_best_split
from aggopt.partition.registry import Partitioner
from aggopt.partition.shared.evidence import certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import scale_records, scale_to_unit
from aggopt.partition.shared.settings import Grouping

STARTS = 8  # orderings that are tried for small tables
MANY = 5000  # records above which further orderings gain little


def mhm(
    X: npt.ArrayLike,
    k: int,
    *,
    order: str = "mdav",
    starts: int | None = None,
    scale: str = "z",
    progress: Progress | None = None,
) -> Partition:
    """Return the optimal split of a multivariate ordering (MHM).

    The records are ordered so that neighbours are similar.  Among all splits of the
    ordering into groups of k to 2k - 1 consecutive records, the result has minimum SSE.
    Distances are Euclidean.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group, 1 <= k <= n.  With n < 2k all records are one group.
    order : "mdav", "cbfs", "md", "npn" or "tsp"
        "npn", nearest point next: the next record is the nearest that has not been
        visited. "mdav", "cbfs", "md": likewise, but each group of that heuristic is
        visited as a whole.  MD is MDAV with its ending "nearest" in which r and s are
        the two records farthest apart, r the one farther out. "tsp": the ordering of
        "npn", closed to a tour and improved by 2-opt (two edges are replaced) and
        Or-opt (up to three records are moved), in which each change joins a record to
        one of its ten nearest neighbours.  The tour is split as a ring, cut at each of
        2k - 1 consecutive records, or at 63 of them.
    starts : int, optional
        Number of orderings; the one with the least SSE is chosen.  They begin at the
        record farthest from the centroid, at the record farthest from it, at the record
        farthest from these two, and so on.  None: 8 with up to 5000 records, 40 000 / n
        with more, at least 1.
    scale : "z" or "none"
        "z" measures distances on z-scores (population standard deviation), and a
        constant attribute weighs nothing.  "none" uses X unchanged: for attributes that
        you have weighted yourself.
    progress : callable, optional
        Progress callback: called with the completed share, from 0.0 to 1.0, a few dozen
        times at most.  An error that it raises stops the work, as Ctrl-C does.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 along the ordering.  Each group has k to
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
    Choice of `order`: with "mdav" and "cbfs" the SSE is at most the heuristic's, whose
    groups are one of the splits.  "tsp" mostly has less SSE than these for k of 3 or 4
    or clustered records, and far more for k of 10 and records without clusters.  "npn"
    and "md" are for comparison.

    Ties are broken by record order; see `mdav` on ties. Duplicates are consecutive with
    "npn" and "tsp": if each record occurs k times or more, SSE is 0.

    Time grows as n^2 d / k for "mdav" and "cbfs", as n^2 d for the others, and less if
    records cluster; the split adds n k d, for a ring several times that.  For n = 100
    000 normal records, d = 10 and k = 5, `mdav` takes 3.2 seconds, "mdav" 4.4, "npn"
    5.2, "tsp" 20 and "md" some 80.  Memory grows as n d: distances are not stored.

    Weaknesses: the groups are optimal for one ordering only, and most have k records,
    so that "mdav" gains a few percent at k = 3 and little at k = 10, unless the
    records cluster; confidential attributes are ignored.

    Source: Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe, Efficient
    multivariate data-oriented microaggregation, VLDB Journal 15(4), 2006.  This package
    adds two rules: a group is entered at the record nearest to the last, and several
    starts are tried.  On their data "mdav" and "npn" have less SSE than they report.
    The split: Hansen and Mukherjee, IEEE TKDE 15(4), 2003.  2-opt and Or-opt with lists
    of neighbours: Bentley, Fast algorithms for geometric traveling salesman problems,
    ORSA Journal on Computing 4(4), 1992.

    Examples
    --------
    >>> mhm([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0], [1.0]], k=3).labels
    array([1, 0, 1, 0, 1, 0, 1])
    """
    clock = Deadline(None, throttle(progress))
    require_known("order", order, orders.ORDERS)
    records, exponent = scale_to_unit(scale_records(X, scale))
    n = len(records)
    k = check_group_size(k, n)
    starts = _require_starts(starts, n)
    labels = _split_ordering(records, k, order, starts, clock.report)
    clock.report(1.0)
    spent = clock.spent
    evidence = certify_squares(
        records, labels, k, by="mhm", seconds=spent, exponent=exponent
    )
    return Partition(labels, evidence)


def _split_ordering(
    records: Floats, k: int, order: str, starts: int, report: Progress
) -> Labels:
    if len(records) < 2 * k:
        return np.zeros(len(records), np.intp)
    paths = orders.list_paths(records, k, order, starts, report)
    return find_best_split(records, paths, k, closed=order == "tsp")


def _require_starts(starts: int | None, n: int) -> int:
    """Return the number of orderings, by default from n; refuse other values."""
    if starts is None:
        return max(1, STARTS * MANY // max(n, MANY))
    if is_whole(starts) and starts >= 1:
        return int(starts)
    raise JobError(
        "starts must be a whole number of at least 1.",
        fix="pass the number of orderings to try, starts=8, or leave it out.",
    )


class Mhm(Grouping):
    """Settings of `aggopt.partition.mhm`."""

    method: Literal["mhm"]
    order: Literal["npn", "mdav", "cbfs", "md", "tsp"] = "mdav"
    starts: StrictInt | None = Field(default=None, ge=1)

    @property
    def same_orderings(self) -> bool:
        """Whether the ordering does not depend on k."""
        return self.order in orders.INDEPENDENT_OF_K


PARTITIONER = Partitioner(
    name="mhm",
    when="for comparison: an ordering of the records, split optimally",
    rank=60,
    function=mhm,
    settings=Mhm,
    initial=True,
)
