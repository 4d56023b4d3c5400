r"""Choose groups of k to 2k - 1 records that hold every record once, at least loss.

No partition into groups of k or more is better than the best of these: a group of 2k or
more can be split, and then loses less.  Far too many groups exist to list them all.  So
some are proposed, and groups that pay are added: column generation.

Data
    x            (n, d)  records, standardised: mean 0, variance 1, no unit
    k                    least size of a group
    w            (n,)    sampling weights of the records; 1 if none are given
    column, record (p,)  group column_i holds record record_i: the proposals q, by q
    cut, inside    (c,)  cut cut_i counts record inside_i: the sets T_l, by l; or none
    shares               "whole": groups are chosen or not; "any": in part, too
    a_iq                 1 where group q holds record i, derived from column and record
    c_q          (q,)    sum of squares of group q about its mean, derived:
                         sum_{i < j in q} w_i w_j |x_i - x_j|^2 / sum_{i in q} w_i
    n_q          (q,)    records of group q, derived
    h_lq                 half the records of T_l that q holds, rounded down, derived
Variables
    y_q          (q,)    share of group q that is chosen
Minimise
    sum_q c_q y_q
Subject to
    cover:   sum_q a_iq y_q = 1             for each record i
    subset:  sum_q h_lq y_q <= floor(|T_l| / 2)    for each cut l
    sign:    y_q >= 0
    size:    y_q = 0                        where n_q < k or n_q > 2k - 1
    whole:   y_q is 0 or 1                  unless shares = "any"

A subset-row cut holds for every partition: half of cover, summed over T_l and rounded
down.  Fractional choices break it where |T_l| is odd.

Class: MILP; LP with shares = "any", whose duals price groups not yet proposed.

Pricing: with the duals u_i of cover and s_l <= 0 of subset, a group S that is not
proposed pays if its reduced cost is negative,

    c(S) - sum_{i in S} u_i - sum_l s_l floor(|S & T_l| / 2).

If no group of k to 2k - 1 records has a reduced cost below -r, r >= 0, no partition
costs less than sum_i u_i + sum_l s_l floor(|T_l| / 2) - r floor(n / k).

Source: column generation for microaggregation, after Aloise, Hansen, Rocha and Santi,
Journal of Global Optimization, 2014; subset-row cuts by Jepsen, Petersen, Spoorendonk
and Pisinger, Operations Research 56(2), 2008.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.record_weights import multiply_by_weights, weight_of_each
from aggopt.core.types import Floats, Labels
from aggopt.core.validation import check_group_size, check_matrix, renumber_groups
from aggopt.errors import JobError, UnknownNameError
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled, off_whole

LANGUAGES = ("cvxpy", "pyomo")
SHARES = ("whole", "any")


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring."""

    x: Floats = field(repr=False)
    k: int
    column: Labels = field(repr=False)
    record: Labels = field(repr=False)
    cut: Labels = field(default_factory=lambda: np.empty(0, np.intp), repr=False)
    inside: Labels = field(default_factory=lambda: np.empty(0, np.intp), repr=False)
    shares: str = "whole"
    weights: Floats | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        n = len(check_matrix(self.x, name="x"))
        check_group_size(self.k, n)
        if self.shares not in SHARES:
            raise UnknownNameError("kind of shares", str(self.shares), SHARES)
        _require_sets("group", self.column, self.record, n)
        if not len(self.column) or len(np.unique(self.record)) < n:
            fix = "propose groups that hold every record, those of any partition."
            raise JobError("Some record is in no proposed group.", fix=fix)
        _require_sets("cut", self.cut, self.inside, n)
        if self.weights is not None:
            weight_of_each(self.weights, n)

    @cached_property
    def first(self) -> Labels:
        """Start of each group in the arrays `column` and `record` (q,)."""
        return np.flatnonzero(np.diff(self.column, prepend=-1))

    @cached_property
    def sizes(self) -> Labels:
        """Number of records in each group (q,)."""
        return np.bincount(self.column)

    @cached_property
    def costs(self) -> Floats:
        """Sum of squares of each group about its centroid (q,)."""
        weights = None if self.weights is None else self.weights[self.record]
        sizes = np.bincount(self.column, weights)[:, None]
        mean = (self.holds.T @ multiply_by_weights(self.x, self.weights)) / sizes
        lost = multiply_by_weights(
            (self.x[self.record] - mean[self.column]) ** 2, weights
        )
        return np.asarray(np.bincount(self.column, lost.sum(axis=1)), float)

    @cached_property
    def barred(self) -> Labels:
        """Numbers of the groups that have fewer than k records, or 2k or more."""
        return np.flatnonzero((self.sizes < self.k) | (self.sizes >= 2 * self.k))

    @cached_property
    def halves(self) -> Any:
        """Half of each cut's records in each group, rounded down, sparse (cuts, q)."""
        shape = len(self.most), len(self.x)
        inside = _build_sparse(self.cut, self.inside, shape) @ self.holds
        inside.data //= 2
        inside.eliminate_zeros()
        return inside

    @cached_property
    def most(self) -> Floats:
        """Right-hand side of each cut: half its records, rounded down (cuts,)."""
        return np.floor(np.bincount(self.cut) / 2)

    @cached_property
    def holds(self) -> Any:
        """Incidence of records in groups, a sparse matrix (n, q)."""
        return _build_sparse(self.record, self.column, (len(self.x), len(self.sizes)))


def _require_sets(noun: str, number: Labels, record: Labels, n: int) -> None:
    """Raise a JobError unless sets are in order and hold valid records, each once."""
    steps = np.diff(number, prepend=-1)
    in_order = np.isin(steps, (0, 1)).all() and steps[:1].all()
    if number.shape != record.shape or not in_order:
        problem = f"The {noun}s are not numbered 0, 1, ... in this order."
        raise JobError(problem, fix="sort both arrays by number, and leave none out.")
    pairs = np.sort(number * n + record)
    outside = len(record) and (record.min() < 0 or record.max() >= n)
    if outside or (pairs[1:] == pairs[:-1]).any():
        problem = f"Some {noun} holds a record twice, or one that there is not."
        fix = f"number records from 0 to {n - 1}, and name each once in a {noun}."
        raise JobError(problem, fix=fix)


def _build_sparse(row: Labels, column: Labels, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix with ones at these rows and columns."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(row)), (row, column)), shape)


class Point(NamedTuple):
    """Share of every group, (q,)."""

    y: Floats


def build(data: Data, language: str) -> Any:
    """Return the program in cvxpy or in Pyomo; nothing is solved here."""
    if language not in LANGUAGES:
        raise UnknownNameError("modelling language", language, LANGUAGES)
    return _in_cvxpy(data) if language == "cvxpy" else _in_pyomo(data)


def _in_cvxpy(data: Data) -> Any:
    """Return the program in cvxpy, unsolved."""
    import cvxpy as cp

    y = cp.Variable(len(data.sizes), name="y", integer=data.shares == "whole")
    cover = data.holds @ y == 1
    subset = [data.halves @ y <= data.most] if data.most.size else []
    sign = y >= 0
    size = [y[data.barred] == 0] if data.barred.size else []
    rows = labelled(cover=cover, subset=subset, sign=sign, size=size)
    return cp.Problem(cp.Minimize(data.costs @ y), rows)


def _in_pyomo(data: Data) -> Any:
    """Return the program in Pyomo, unsolved."""
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    proposed = range(len(data.sizes))
    domain = pyo.Integers if data.shares == "whole" else pyo.Reals
    y = problem.y = pyo.Var(proposed, domain=domain)
    holding = data.holds
    halved = data.halves
    limits = data.most

    def total(matrix: Any, i: int) -> Any:
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        terms = zip(matrix.indices[part], matrix.data[part], strict=True)
        return pyo.quicksum(float(weight) * y[int(q)] for q, weight in terms)

    every = range(len(data.x))
    problem.cover = pyo.Constraint(every, rule=lambda _, i: total(holding, i) == 1)
    active = np.flatnonzero(np.diff(halved.indptr)).tolist()  # the others hold anyway
    problem.subset = pyo.Constraint(
        active, rule=lambda _, i: total(halved, i) <= limits[i]
    )
    problem.sign = pyo.Constraint(proposed, rule=lambda _, q: y[q] >= 0)
    problem.size = pyo.Constraint(data.barred.tolist(), rule=lambda _, q: y[q] == 0)
    cost = pyo.quicksum(c * y[q] for q, c in enumerate(data.costs.tolist()))
    problem.cost = pyo.Objective(expr=cost)
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return fsum(data.costs * at.y)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name."""
    return amounts(
        cover=np.abs(data.holds @ at.y - 1),
        subset=data.halves @ at.y - data.most,
        sign=-at.y,
        size=np.abs(at.y[data.barred]),
        whole=off_whole(at.y, upper=1) if data.shares == "whole" else 0.0,
    )


def point(data: Data, labels: Labels) -> Point:
    """Return the variables' values if the groups of labels (n,) are chosen.

    Raises
    ------
    JobError
        One of the groups was not proposed.
    """
    parts = np.split(data.record, data.first[1:])
    proposed = {frozenset(part.tolist()): q for q, part in enumerate(parts)}
    groups = (np.flatnonzero(labels == g).tolist() for g in np.unique(labels))
    chosen = [proposed.get(frozenset(group), -1) for group in groups]
    if min(chosen) < 0:
        fix = "add it to column and record."
        raise JobError("A group of these labels was not proposed.", fix=fix)
    y = np.zeros(len(parts))
    y[chosen] = 1.0
    return Point(y)


def labels(problem: Any, data: Data) -> Labels | None:
    """Return the group of each record (n,) of a solved problem, or None.

    Groups are numbered in the order of their first records.  None if the solver found
    no choice that holds every record once.
    """
    if hasattr(problem, "var_dict"):
        y = problem.var_dict["y"].value
    else:
        y = np.array([problem.y[q].value for q in problem.y], dtype=float)
    if y is None or not (np.abs(y - np.rint(y)) < 1e-3).all():
        return None
    taken = np.rint(y)[data.column] == 1
    if not np.array_equal(np.sort(data.record[taken]), np.arange(len(data.x))):
        return None
    group = np.empty(len(data.x), np.intp)
    group[data.record[taken]] = data.column[taken]
    return renumber_groups(group)


def example() -> Data:
    """Return small data of four records, and every pair of them."""
    record = np.array([0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3])
    x = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0], [6.0, 1.0]])
    return Data(x, 2, np.repeat(np.arange(6), 2), record)


MODEL = Model(
    name="set_partition",
    when="the best of proposed groups that hold each record once",
    rank=50,
    kind="MILP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=labels,
    example=example,
    point=point,
)
