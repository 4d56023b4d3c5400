r"""Univariate microaggregation: sorted values, split at least cost.

An optimal partition of sorted values consists of runs of k to 2k - 1 of them, because a
longer run costs no less than its two parts.  So it is a shortest path through the
positions 0, 1, ..., n between the values.

Data
    x          (n,)  values, sorted
    k                smallest group size; with n < 2k all values are one group
    cost             cost of a group: "sse", sum of squares about its mean; "sae", sum
                     of distances from its median; "maxdist", its largest value less
                     its smallest
    centroids        "any", or "integer": whole numbers only, for "sse"
    unit u           a power of two near the width of a small group, derived from x
    c_ij             cost of the group x[i:j], in u^2 (sse) or u, derived from x
Variables
    y_ij             share of the path that takes the arc from i to j; 1 when x[i:j] is
                     a group; k <= j - i < 2k
Minimise
    sum_ij c_ij y_ij
Subject to
    leave:  sum_j y_0j = 1
    flow:   sum_i y_ij = sum_l y_jl               for 0 < j < n
    sign:   y_ij >= 0
    size:   y_ij = 0                              where x[i:j] is no group, implied

Class: LP.  Its matrix is that of a network, so every vertex is a path and no variable
need be integer.  By duality any potentials u of the nodes prove a bound, so that no
solver need be trusted.  A path costs u_n - u_0 and the reduced costs c_ij - u_j + u_i
of its arcs, at most one from each node and floor(n / k) in total.

Source: Hansen and Mukherjee, IEEE Transactions on Knowledge and Data Engineering 15(4),
2003.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.memory import require_memory
from aggopt.core.types import Floats, Labels
from aggopt.core.validation import check_group_size
from aggopt.errors import TableError, require_known
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled
from aggopt.models.shared.runs import (
    RunCost,
    bound_paths,
    choose_cost_unit,
    compute_run_costs,
    find_cheapest_path,
)
from aggopt.models.shared.runs import require_cost as require_cost

LANGUAGES = ("cvxpy", "pyomo")
WIDEST = 1e12  # largest cost that a linear program may hold, in squares of the unit
BYTES = {"graph": 110, "cvxpy": 2000, "pyomo": 4500}  # for each arc, at the peak


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring."""

    x: Floats = field(repr=False)
    k: int
    cost: str = "sse"
    centroids: str = "any"

    def __post_init__(self) -> None:
        require_cost(self.cost, self.centroids)
        if self.x.ndim != 1 or not (self.x[1:] >= self.x[:-1]).all():
            raise TableError("x is not sorted.", fix="pass np.sort(x), finite values.")
        check_group_size(self.k, len(self.x))
        if self.x[-1] / 2 - self.x[0] / 2 > np.finfo(float).max / 2:
            raise TableError(
                "The values span more than a float can hold.",
                fix="divide them by a constant first.",
            )
        if self.centroids == "integer" and np.abs(self.x[[0, -1]]).max() >= 2**53:
            raise TableError(
                "Some values are too large to tell whole numbers apart.",
                fix='leave centroids = "integer" out, or divide the values first.',
            )

    @cached_property
    def unit(self) -> float:
        """A power of two near the width of a typical group; 1 if all are equal."""
        return choose_cost_unit(self.x, self.k)


class Point(NamedTuple):
    """Arcs from `tail` to `head` and their shares y, (a,) each; no others are taken."""

    tail: Labels
    head: Labels
    y: Floats


def build(data: Data, language: str) -> Any:
    """Return the linear program in cvxpy or in Pyomo; nothing is solved here.

    Raises
    ------
    InfeasibleInputError
        The program would not fit into memory.
    TableError
        Costs span more orders of magnitude than the tolerances of solvers allow.
    """
    require_known("modelling language", language, LANGUAGES)
    tail, head = list_arcs(data, language)
    c = compute_costs(data, tail, head)
    if not c.max() <= WIDEST:
        raise TableError(
            "The scales of the values are too far apart for linear programming: some "
            f"groups cost more than {WIDEST:.0e} times what is usual.",
            fix='solve it by "dynamic" or "shortest_path", which tell them apart.',
        )
    declare = _in_cvxpy if language == "cvxpy" else _in_pyomo
    return declare(len(data.x), tail, head, c)


def _in_cvxpy(n: int, tail: Labels, head: Labels, c: Floats) -> Any:
    """Return the linear program in cvxpy, on arcs from tail to head with costs c."""
    import cvxpy as cp
    from scipy.sparse import csr_array

    arc = np.arange(len(tail))
    ones = np.ones(len(tail))
    y = cp.Variable(len(tail), name="y")

    outflow = csr_array((ones, (tail, arc)), (n + 1, len(tail)))
    inflow = csr_array((ones, (head, arc)), (n + 1, len(tail)))
    leave = outflow[[0]] @ y == 1
    flow = [inflow[1:n] @ y == outflow[1:n] @ y] if n > 1 else []

    rows = labelled(leave=leave, flow=flow, sign=y >= 0)
    return cp.Problem(cp.Minimize(c @ y), rows)


def _in_pyomo(n: int, tail: Labels, head: Labels, c: Floats) -> Any:
    """Return the linear program in Pyomo, on arcs from tail to head with costs c."""
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    y = problem.y = pyo.Var(range(len(tail)))
    into: list[list[int]] = [[] for _ in range(n + 1)]
    out: list[list[int]] = [[] for _ in range(n + 1)]
    for a, (i, j) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        out[i].append(a)
        into[j].append(a)

    def flow(_: Any, j: int) -> Any:
        if not into[j] and not out[j]:
            return pyo.Constraint.Skip
        return pyo.quicksum(y[a] for a in into[j]) == pyo.quicksum(y[a] for a in out[j])

    problem.leave = pyo.Constraint(expr=pyo.quicksum(y[a] for a in out[0]) == 1)
    problem.flow = pyo.Constraint(range(1, n), rule=flow)
    problem.sign = pyo.Constraint(range(len(tail)), rule=lambda _, a: y[a] >= 0)
    problem.cost = pyo.Objective(
        expr=pyo.quicksum(cost * y[a] for a, cost in enumerate(c.tolist()))
    )
    return problem


def list_arcs(data: Data, use: str = "graph") -> tuple[Labels, Labels]:
    """Return the tail and the head (a,) of each arc: a group of values x[tail:head]."""
    n = len(data.x)
    k = data.k
    if n < 2 * k:
        return np.array([0]), np.array([n])
    require_memory(BYTES[use] * n * k, f"the graph of {n} values with k = {k}")
    tail = np.repeat(np.arange(n), k)
    head = tail + np.tile(np.arange(k, 2 * k), n)
    return tail[head <= n], head[head <= n]


def compute_costs(data: Data, tail: Labels, head: Labels) -> Floats:
    """Return the cost of each group x[i:j], i in tail (a,) and j in head (a,)."""
    return compute_run_costs(
        data.x, tail, head, RunCost(data.cost, data.centroids, data.unit)
    )


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return fsum(compute_costs(data, at.tail, at.head) * at.y)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name.

    An arc of a size that no group may have is missed by its share.
    """
    n = len(data.x)
    k = data.k
    flow = np.bincount(at.tail, at.y, n + 1) - np.bincount(at.head, at.y, n + 1)
    flow[0] -= 1
    sizes = at.head - at.tail
    longest = n if n < 2 * k else 2 * k - 1
    unlike = (sizes < k) | (sizes > longest)
    away = np.abs(flow)
    size = np.abs(at.y[unlike])
    return amounts(leave=away[0], flow=away[1:n], sign=-at.y, size=size)


def point(data: Data, labels: Labels) -> Point:
    """Return the variables' values: the path through the groups of labels (n,)."""
    edges = np.flatnonzero(np.diff(labels, prepend=-1, append=labels[-1] + 1))
    return Point(edges[:-1], edges[1:], np.ones(len(edges) - 1))


def labels(problem: Any, data: Data) -> Labels | None:
    """Return the group of each sorted value (n,), read off a solved problem.

    If several paths are optimal, a solver may take shares of each; the cheapest path
    that it took is then read.  None if it took none because it stopped too early.

    >>> data = Data(np.array([0.0, 1.0, 9.0, 10.0, 11.0]), k=2)
    >>> problem = build(data, "cvxpy")
    >>> round(float(problem.solve(solver="HIGHS")) * data.unit**2, 6)
    2.5
    >>> labels(problem, data)
    array([0, 0, 1, 1, 1])
    """
    tail, head = list_arcs(data)
    if hasattr(problem, "var_dict"):
        y = problem.var_dict["y"].value
    else:
        y = np.array([problem.y[a].value for a in range(len(tail))], dtype=float)
    if y is None:
        return None
    taken = y > 0.5 / len(y)  # smaller shares cannot make a cut
    return find_groups_along(data, tail[taken], head[taken])


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the potential of each node 0..n from a solved problem, or None.

    Up to their sign, which is another in each language.
    """
    u = np.zeros(len(data.x) + 1)
    if hasattr(problem, "var_dict"):
        leave, *others = (c.dual_value for c in problem.constraints)
        if leave is None:
            return None
        u[0] = np.sum(leave)
        if len(others) > 1:
            u[1:-1] = -np.asarray(others[0])
        return u
    dual = getattr(problem, "dual", None)
    if dual is None or problem.leave not in dual:
        return None
    u[0] = dual[problem.leave]
    for j, node in problem.flow.items():
        u[j] = -dual.get(node, 0.0)
    return u


def proven(data: Data, multipliers: Floats) -> float:
    """Return the lower bound on the cost that potentials (n + 1,) prove.

    >>> data = Data(np.array([0.0, 1.0, 9.0, 10.0, 11.0]), k=2)
    >>> proven(data, np.zeros(6))
    0.0
    """
    tail, head = list_arcs(data)
    c = compute_costs(data, tail, head)
    u = np.where(np.isfinite(multipliers), multipliers, 0.0)
    group_limit = len(data.x) // data.k
    return max(
        0.0, *(bound_paths(tail, head, c, sign * u, group_limit) for sign in (1, -1))
    )


def find_groups_along(data: Data, tail: Labels, head: Labels) -> Labels | None:
    """Return labels (n,) of the groups on the cheapest path of arcs, or None."""
    return find_cheapest_path(len(data.x), tail, head, compute_costs(data, tail, head))


def example() -> Data:
    """Return small data of this model."""
    return Data(np.array([0.0, 1.0, 9.0, 10.0, 11.0]), k=2)


MODEL = Model(
    name="univariate",
    when="the groups of one attribute that lose least",
    rank=40,
    kind="LP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=labels,
    example=example,
    point=point,
    multipliers=multipliers,
    proven=proven,
)
