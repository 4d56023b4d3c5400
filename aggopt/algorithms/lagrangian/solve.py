"""Global optimisation of separable programs by Lagrangian duality and branching.

The Lagrangian of a separable program decomposes by group.  So its dual is a concave
function of two multipliers, whatever the number of groups.  Each value of the dual is a
lower bound.  With two coupling rows the duality gap does not grow with the number of
groups (Shapley and Folkman); branching closes it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.algorithms.lagrangian.program import (
    Box,
    Separable,
    compute_implied_box,
    is_in_every_group,
)
from aggopt.core.deadline import compile_time
from aggopt.core.validation import Floats, is_number
from aggopt.errors import JobError
from aggopt.models import satisfaction
from aggopt.models.shared.shift_data import Wishes
from aggopt.solvers.certificate import Answer, Status
from aggopt.solvers.solver import Solver
from aggopt.solvers.termination import read_iterations

if TYPE_CHECKING:
    from aggopt.algorithms.lagrangian.branch_and_bound import BranchAndBound

GROUP_NODES = 1_000_000  # default of `nodes`: this over the number of groups, within
MOST_NODES = 5000  # a minute's work
LEAST_NODES = 20  # enough to branch at all


@dataclass(frozen=True, eq=False)
class LagrangianSolution:
    """The incumbent, with its proven bound.

    Attributes
    ----------
    status
        OPTIMAL if the gap is closed, LIMIT if not; INFEASIBLE if that is proven, FAILED
        if no point was found.
    centroids : (m,)
        None without a point.
    objective, bound
        inf without a point; the bound is a lower bound of all.
    nodes, evaluations
        Nodes processed, and evaluations of the dual function.
    seconds
        Wall time.
    multipliers : (3,)
        y of the first bound; None if no bound was needed.
    """

    status: Status
    centroids: Floats | None
    objective: float
    bound: float
    nodes: int
    evaluations: int
    seconds: float
    multipliers: Floats | None


def solve_separable(
    program: Separable,
    *,
    gap_tol: float = 1e-6,
    time_limit: float | None = None,
    nodes: int | None = None,
    start: Floats | None = None,
) -> LagrangianSolution:
    """Return the optimum of a separable program, with a rigorous lower bound.

    Parameters
    ----------
    program
        Program to minimise.
    gap_tol
        Stop when (objective - bound) / max(1, |objective|) is no more than this.
    time_limit
        Seconds; none by default.  The first bound and point are found regardless.
    nodes
        Node limit; if omitted it falls with the number of groups.
    start : (m,)
        Initial centroids, made feasible first; the centres if omitted.
    """
    from aggopt.algorithms.lagrangian.branch_and_bound import BoxNode, BranchAndBound
    from aggopt.algorithms.lagrangian.restore import scale_to_rows

    began = compile_time.now()
    m = len(program.sizes)
    box = compute_implied_box(program)
    search = BranchAndBound(program, gap_tol, compute_upper_bound(program, box))
    search.offer(scale_to_rows(program, program.centres if start is None else start))
    if is_in_every_group(program, box):
        deadline = math.inf if time_limit is None else began + time_limit
        node_limit = (
            min(MOST_NODES, max(LEAST_NODES, GROUP_NODES // m))
            if nodes is None
            else nodes
        )
        T = 0.01 * float(np.median(program.terms)) + 1e-9
        search.run(BoxNode(program, box, np.zeros(3), T), deadline, node_limit)
    return collect_solution(search, began)


def collect_solution(search: "BranchAndBound", began: float) -> LagrangianSolution:
    """Return the solution of a branch and bound that started at time `began`."""
    seconds = compile_time.now() - began
    lower = search.lower
    nodes = search.nodes
    evaluations = search.evaluations
    if search.t is None:
        status = Status.FAILED if search.heap or search.gave_up else Status.INFEASIBLE
        return LagrangianSolution(
            status, None, math.inf, lower, nodes, evaluations, seconds, search.root
        )
    met = search.best - lower <= search.gap_tol * max(1.0, abs(search.best))
    stopped = Status.LIMIT if search.heap else Status.UNPROVEN
    status = Status.OPTIMAL if met else stopped
    centroids = search.program.centres + search.t
    return LagrangianSolution(
        status,
        centroids,
        search.best,
        lower,
        nodes,
        evaluations,
        seconds,
        search.root,
    )


def compute_upper_bound(program: Separable, box: Box) -> float:
    """Return a cost that no point exceeds: a higher bound proves infeasibility."""
    far = np.maximum(np.abs(box.low), np.abs(box.high))
    group = np.repeat(np.arange(len(far)), np.diff(program.first))
    powers = far[group, None] ** np.arange(5)
    highest = np.zeros(len(far))
    np.maximum.at(highest, group, np.sum(np.abs(program.quartic) * powers, axis=1))
    return 2 * float(highest.sum()) + 1


def run(
    data: Wishes, solver: Solver, native: Mapping[str, Any], start: Floats
) -> Answer:
    """Return the answer of the solver "lagrangian", from centroids `start`.

    Raises
    ------
    JobError
        An unknown option, or a value out of range.
    """
    for name, value in native.items():
        _require_option(solver, name, value)
    solution = solve_separable(build_separable_program(data), start=start, **native)
    bound = max(solution.bound, _compute_floor(data))
    y = solution.multipliers
    return Answer(
        solution.centroids,
        solution.status,
        bound,
        solver.name,
        solution.seconds,
        iterations=read_iterations(solution.evaluations),
        multipliers=None if y is None else {"mean": -y[0], "variance": -y[1]},
    )


def _require_option(solver: Solver, name: str, value: object) -> None:
    """Raise a JobError unless an option of the solver is known and valid."""
    if name == "nodes":
        is_integer = isinstance(value, Integral) and not isinstance(value, bool)
        fit = is_integer and int(value) >= 1  # type: ignore[call-overload]
    elif name in ("gap_tol", "time_limit"):
        fit = is_number(value) and 0 < float(value) < math.inf  # type: ignore[arg-type]
    else:
        fit = False
    if not fit:
        raise JobError(
            f"{solver.name} refused one of its options: {name} = {value!r}.",
            fix="it takes gap_tol and time_limit, numbers above 0, and nodes, a whole "
            "number above 0.",
        )


def _compute_floor(data: Wishes) -> float:
    """Return a trivial lower bound on the objective: 0, or all wishes satisfied."""
    if isinstance(data, satisfaction.Data):
        return -float(data.importance.sum())
    return 0.0
