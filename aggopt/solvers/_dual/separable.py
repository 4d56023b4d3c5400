"""Solve separable programs to proven global optimality: `dual`.

The Lagrangian of a separable program falls apart into its groups, so that its dual is a
concave function of two multipliers, whatever the number of groups, and every value of
it is a bound.  Having two rows, the program leaves a gap that does not grow with the
number of groups (Shapley and Folkman); branching closes what there is.
"""

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aggopt.core.validation import Floats
from aggopt.solvers._certificate import Status
from aggopt.solvers._dual.program import Box, Program, holds, reach

if TYPE_CHECKING:
    from aggopt.solvers._dual.branch import Search

WORK = 1_000_000  # groups times nodes, at most, and so many nodes:
MOST, LEAST = 5000, 20


@dataclass(frozen=True, eq=False)
class Solution:
    """The best point that was found, and what is proven about it.

    Attributes
    ----------
    status
        OPTIMAL where the gap is closed, LIMIT where not; INFEASIBLE where it is proven
        that there is no point, FAILED where none was found.
    centroids : (m,)
        None without a point.
    objective, bound
        inf without a point; no point is better than the bound.
    nodes, looks
        Parts of the program, and values of the dual, that were looked at.
    seconds
        Wall time.
    """

    status: Status
    centroids: Floats | None
    objective: float
    bound: float
    nodes: int
    looks: int
    seconds: float


def dual(
    program: Program,
    *,
    gap_tol: float = 1e-6,
    time_limit: float | None = None,
    nodes: int | None = None,
    start: Floats | None = None,
) -> Solution:
    """Return the optimum of a separable program, with a bound that holds.

    Parameters
    ----------
    program
        What to minimise.
    gap_tol
        Stop when (objective - bound) / max(1, |objective|) is no more than this.
    time_limit
        Seconds; none by default.  The first bound and point are found regardless.
    nodes
        Most parts of the program to look at; fewer the more groups when omitted.
    start : (m,)
        Centroids to begin from, made feasible first; the centres when omitted.
    """
    from aggopt.solvers._dual.branch import Node, Search
    from aggopt.solvers._dual.restore import stretched

    began = time.perf_counter()
    m, box = len(program.sizes), reach(program)
    search = Search(program, gap_tol, ceiling(program, box))
    search.offer(stretched(program, program.centres if start is None else start))
    if holds(program, box):
        deadline = math.inf if time_limit is None else began + time_limit
        most = min(MOST, max(LEAST, WORK // m)) if nodes is None else nodes
        T = 0.01 * float(np.median(program.terms)) + 1e-9
        search.run(Node(program, box, np.zeros(3), T), deadline, most)
    return solution(search, began)


def solution(search: "Search", began: float) -> Solution:
    """Return what a search has found since `began`."""
    seconds, lower = time.perf_counter() - began, search.lower
    if search.t is None:
        status = Status.FAILED if search.heap or search.gave_up else Status.INFEASIBLE
        return Solution(
            status, None, math.inf, lower, search.nodes, search.looks, seconds
        )
    met = search.best - lower <= search.gap_tol * max(1.0, abs(search.best))
    status = Status.OPTIMAL if met else Status.LIMIT
    centroids = search.program.centres + search.t
    return Solution(
        status, centroids, search.best, lower, search.nodes, search.looks, seconds
    )


def ceiling(program: Program, box: Box) -> float:
    """Return more than any point costs: a bound above it proves there is no point."""
    far = np.maximum(np.abs(box.low), np.abs(box.high))
    group = np.repeat(np.arange(len(far)), np.diff(program.first))
    powers = far[group, None] ** np.arange(5)
    most = np.zeros(len(far))
    np.maximum.at(most, group, np.sum(np.abs(program.quartic) * powers, axis=1))
    return 2 * float(most.sum()) + 1
