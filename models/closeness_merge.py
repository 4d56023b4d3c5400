r"""Merge groups into t-close unions, at the least loss.

Groups that are not t-close are united with others until each union is.  Among proposed
unions, the program chooses unions that hold every group once and lose least.

Data
    x           (n, d)  records, standardised: mean 0, variance 1, no unit
    labels      (n,)    group g of each record, 0..m-1
    ordered             bins of the confidential attribute
    t, k                largest EMD and least size that a union may have
    column, group (p,)  union column_i holds group group_i: the proposals q, by q
    shares              "whole": unions are chosen or not; "any": in part, too
    a_gq                1 where union q holds group g, derived from column and group
    c_q         (q,)    sum of squares of union q about its mean, derived
    EMD_q, n_q  (q,)    of union q, exact, derived
Variables
    y_q         (q,)    share of union q that is chosen
Minimise
    sum_q c_q y_q
Subject to
    cover:  sum_q a_gq y_q = 1            for each group g
    sign:   y_q >= 0
    close:  y_q = 0                       where EMD_q > t or n_q < k
    whole:  y_q is 0 or 1                 unless shares = "any"

Class: MILP; LP with shares = "any", whose duals price unions not yet proposed.

Source: set partitioning by column generation, after Aloise, Hansen and Rocha, 2012;
EMD by Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, IEEE TKDE 2015.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.types import I64, Floats, Labels
from aggopt.core.validation import check_group_size, check_groups, check_matrix
from aggopt.errors import JobError, UnknownNameError
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled, off_whole
from aggopt.privacy.distance import compute_starts
from aggopt.privacy.ordered_attribute import Ordered

LANGUAGES = ("cvxpy", "pyomo")
SHARES = ("whole", "any")


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring."""

    x: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    ordered: Ordered = field(repr=False)
    t: float
    k: int
    column: Labels = field(repr=False)
    group: Labels = field(repr=False)
    shares: str = "whole"

    def __post_init__(self) -> None:
        n = len(check_matrix(self.x, name="x"))
        check_groups(self.labels, n)
        check_group_size(self.k, n)
        self.ordered.limits(self.t)
        if self.shares not in SHARES:
            raise UnknownNameError("kind of shares", str(self.shares), SHARES)
        _require_proposals(self.column, self.group, int(self.labels.max()) + 1)

    @cached_property
    def sizes(self) -> Labels:
        """Number of records in each group (m,)."""
        return np.bincount(self.labels)

    @cached_property
    def first(self) -> Labels:
        """Start of each union in the arrays `column` and `group` (q,)."""
        return np.flatnonzero(np.diff(self.column, prepend=-1))

    @cached_property
    def union_sizes(self) -> Labels:
        """Number of records in each union of groups (q,)."""
        return np.add.reduceat(self.sizes[self.group], self.first)

    @cached_property
    def costs(self) -> Floats:
        """Sum of squares of each union about its centroid (q,)."""
        means = compute_plain_group_means(self.x, self.labels)
        off = self.x - means[self.labels]
        within = np.bincount(self.labels, (off**2).sum(axis=1))
        weights = self.sizes[self.group]
        total = within[self.group]
        for mean in means.T:
            at = mean[self.group]
            centre = np.bincount(self.column, weights * at) / self.union_sizes
            total += weights * (at - centre[self.column]) ** 2
        return np.bincount(self.column, total).astype(float)

    @cached_property
    def numerators(self) -> I64:
        """EMD of each union as an exact integer: times n n_q (m - 1) (q,)."""
        records = np.argsort(self.labels, kind="stable")
        starts = np.cumsum(self.sizes) - self.sizes
        edges = np.append(self.first, len(self.group))
        step = 1 + 4_000_000 // int(self.union_sizes.max())
        numerators = np.empty(len(self.first), np.int64)
        for q in range(0, len(numerators), step):
            part = slice(edges[q], edges[min(q + step, len(numerators))])
            lengths = self.sizes[self.group[part]]
            ends = np.cumsum(lengths)
            shift = np.repeat(starts[self.group[part]] - ends + lengths, lengths)
            places = self.ordered.place[records[shift + np.arange(ends[-1])]]
            union = np.repeat(self.column[part], lengths)
            places = places[np.lexsort((places, union))]
            sizes = self.union_sizes[q : q + step]
            numerators[q : q + step] = self.ordered.runs(places, compute_starts(sizes))
        return numerators

    @cached_property
    def barred(self) -> Labels:
        """Numbers of the unions that are not t-close or have fewer than k records."""
        far = self.numerators > self.ordered.limits(self.t)[self.union_sizes]
        return np.flatnonzero(far | (self.union_sizes < self.k))


def _require_proposals(column: Labels, group: Labels, m: int) -> None:
    """Raise a JobError unless the proposed unions are in order and cover all groups."""
    steps = np.diff(column, prepend=-1)
    in_order = bool((steps >= 0).all() and (steps <= 1).all() and steps[0] == 1)
    if column.shape != group.shape or not in_order:
        raise JobError(
            "The proposed unions are not numbered 0, 1, ... in this order.",
            fix="sort column and group by column, and leave no number out.",
        )
    pairs = np.sort(column * m + group)
    times = np.bincount(group, minlength=m)
    if len(times) > m or times.min() == 0 or (pairs[1:] == pairs[:-1]).any():
        raise JobError(
            "Some group is in no proposed union, or twice in one.",
            fix="propose unions that hold every group, each of them once.",
        )


def compute_deviations(ordered: Ordered, labels: Labels) -> I64:
    """Return each group's deviation from the table in each bin, times n (m, bins).

    Those of a union are the sums of its groups', and its numerator the sum of their
    absolute values.
    """
    m = int(labels.max()) + 1
    count = np.bincount(labels * ordered.m + ordered.place, minlength=m * ordered.m)
    cumulated = count.reshape(m, ordered.m).cumsum(axis=1)
    return ordered.n * cumulated - cumulated[:, -1:] * ordered.below


class Point(NamedTuple):
    """Share of every union, (q,)."""

    y: Floats


def build(data: Data, language: str) -> Any:
    """Return the program in cvxpy or in Pyomo; nothing is solved here."""
    if language == "cvxpy":
        return _in_cvxpy(data)
    if language == "pyomo":
        return _in_pyomo(data)
    raise UnknownNameError("modelling language", language, LANGUAGES)


def _in_cvxpy(data: Data) -> Any:
    """Return the program in cvxpy, unsolved."""
    import cvxpy as cp
    from scipy.sparse import csr_array

    m = len(data.sizes)
    unions = len(data.first)
    y = cp.Variable(unions, name="y", integer=data.shares == "whole")
    a = csr_array((np.ones(len(data.group)), (data.group, data.column)), (m, unions))

    cover = a @ y == 1
    sign = y >= 0
    close = [y[data.barred] == 0] if data.barred.size else []

    rows = labelled(cover=cover, sign=sign, close=close)
    return cp.Problem(cp.Minimize(data.costs @ y), rows)


def _in_pyomo(data: Data) -> Any:
    """Return the program in Pyomo, unsolved."""
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    is_whole = data.shares == "whole"
    unions = range(len(data.first))
    y = problem.y = pyo.Var(unions, domain=pyo.Integers if is_whole else pyo.Reals)
    holding: list[list[int]] = [[] for _ in data.sizes]
    for q, g in zip(data.column.tolist(), data.group.tolist(), strict=True):
        holding[g].append(q)

    def cover(_: Any, g: int) -> Any:
        return pyo.quicksum(y[q] for q in holding[g]) == 1

    problem.cover = pyo.Constraint(range(len(holding)), rule=cover)
    problem.sign = pyo.Constraint(unions, rule=lambda _, q: y[q] >= 0)
    problem.close = pyo.Constraint(data.barred.tolist(), rule=lambda _, q: y[q] == 0)
    problem.cost = pyo.Objective(
        expr=pyo.quicksum(c * y[q] for q, c in enumerate(data.costs.tolist()))
    )
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return fsum(data.costs * at.y)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name."""
    covered = np.bincount(data.group, at.y[data.column])
    return amounts(
        cover=np.abs(covered - 1),
        sign=-at.y,
        close=np.abs(at.y[data.barred]),
        whole=off_whole(at.y, upper=1) if data.shares == "whole" else 0.0,
    )


def point(data: Data, labels: Labels) -> Point:
    """Return the variables' values if the unions of labels (n,) are chosen.

    Raises
    ------
    JobError
        One of them was not proposed.
    """
    chosen = np.zeros(len(data.first))
    proposed = {tuple(sorted(u)): q for q, u in enumerate(_build_members(data))}
    for u in np.unique(labels):
        key = tuple(np.unique(data.labels[labels == u]).tolist())
        if key not in proposed:
            raise JobError(
                "A union of these labels was not proposed.",
                fix="add it to column and group.",
            )
        chosen[proposed[key]] = 1.0
    return Point(chosen)


def _build_members(data: Data) -> list[list[int]]:
    """Return the numbers of the groups in each union."""
    return [part.tolist() for part in np.split(data.group, data.first[1:])]


def labels(problem: Any, data: Data) -> Labels | None:
    """Return the union of each record (n,), read off a solved problem.

    None if the solver found no choice that holds every group once.
    """
    if hasattr(problem, "var_dict"):
        y = problem.var_dict["y"].value
    else:
        y = np.array([problem.y[q].value for q in problem.y], dtype=float)
    if y is None or not (np.abs(y - np.rint(y)) < 1e-3).all():
        return None
    taken = np.rint(y)[data.column] == 1
    if not np.array_equal(np.sort(data.group[taken]), np.arange(len(data.sizes))):
        return None
    union = np.empty(len(data.sizes), np.intp)
    union[data.group[taken]] = data.column[taken]
    return np.unique(union[data.labels], return_inverse=True)[1].astype(np.intp)


def example() -> Data:
    """Return small data: three groups, each alone and all unions of two."""
    x = np.array([[-1.5], [-1.0], [-0.5], [0.5], [1.0], [1.5]])
    ordered = Ordered.of(np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0]))
    column = np.array([0, 1, 2, 3, 3, 4, 4, 5, 5])
    group = [0, 1, 2, 0, 1, 0, 2, 1, 2]
    labels = np.array([0, 0, 1, 1, 2, 2])
    return Data(x, labels, ordered, 0.4, 2, column, np.array(group))


MODEL = Model(
    name="closeness_merge",
    when="the best unions of groups that are t-close",
    rank=60,
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
