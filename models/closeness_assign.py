r"""Records to t-close groups directly, at the least loss: for a dozen records.

The pairs that share a group, with its size, determine a partition.  The loss of a group
of s records is the sum of the squared distances of its pairs, over s.  Its EMD, times
its size, is a sum of absolute values that are linear in the pairs.

Data
    x        (n, d)  records, standardised: mean 0, variance 1, no unit
    ordered          bins b = 0..B-1 of the confidential attribute
    t, k             largest EMD and least size that a group may have
    S                sizes that a group may have: k to n - k, and n
    d_ij     (n, n)  squared distance of records i and j, derived
    e_jb     (n, B)  1 where record j is in bins 0..b, derived
    T_s              largest numerator n s (B - 1) EMD of a group of s, derived, exact
Variables
    v_is     (n, S)     1 when record i is in a group of size s
    w_ps     (n(n-1)/2, S)  1 when the pair p = (i, j), i < j, is in one, of size s
    a_ib     (n, B)     at least |n cnt(b) - s below_b| of the group of record i
Minimise
    sum_ps d_p w_ps / s
Subject to
    one:      sum_s v_is = 1
    mates:    sum_j w_ijs = (s - 1) v_is
    first:    w_ijs <= v_is
    second:   w_ijs <= v_js
    transit:  w_ij + w_jl - w_il <= 1             of any three, w_ij = sum_s w_ijs
    above:    a_ib >=   n (e_ib + sum_j e_jb w_ij) - sum_s s below_b v_is
    under:    a_ib >= -(n (e_ib + sum_j e_jb w_ij) - sum_s s below_b v_is)
    close:    sum_b a_ib <= sum_s (T_s + 1/2) v_is          (numerators are whole)
    whole:    v_is and w_ps are 0 or 1

Class: MILP.

Source: this package, after the clique partitioning of Groetschel and Wakabayashi, 1989.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import I64, Bool, Floats, Labels
from aggopt.core.validation import check_group_size, check_groups, check_matrix
from aggopt.errors import InfeasibleInputError, require_known
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled, off_whole
from aggopt.privacy.ordered_attribute import Ordered


@dataclass(frozen=True)
class Pairs:
    """The pairs p = (i, j), i < j, of n records, in the order of i and then of j."""

    n: int

    @cached_property
    def ends(self) -> tuple[Labels, Labels]:
        """The records i < j of each pair, two arrays (p,)."""
        i, j = np.triu_indices(self.n, 1)
        return i, j

    @cached_property
    def touching(self) -> Floats:
        """Incidence matrix (n, p): 1 if record i is in pair p, else 0."""
        i, j = self.ends
        incidence = np.zeros((self.n, len(i)))
        incidence[i, np.arange(len(i))] = incidence[j, np.arange(len(i))] = 1.0
        return incidence

    @cached_property
    def of(self) -> list[list[int]]:
        """Numbers of the pairs that contain each record, ascending."""
        return [np.flatnonzero(row).tolist() for row in self.touching]

    @cached_property
    def triangles(self) -> tuple[Labels, Labels, Labels]:
        """Numbers of the pairs ij, jl and il of any three records."""
        number = np.zeros((self.n, self.n), int)
        number[self.ends] = np.arange(len(self.ends[0]))
        number += number.T
        threes = [t for t in permutations(range(self.n), 3) if t[0] < t[2]]
        i, j, k = np.array(threes, int).reshape(-1, 3).T
        return number[i, j], number[j, k], number[i, k]

    def mates(self, amounts: Floats) -> Floats:
        """Return the amounts (n, B) of each record's mate in each pair (n, B, p)."""
        i, j = self.ends
        p = np.arange(len(i))
        of_mates = np.zeros((*amounts.shape, len(i)))
        of_mates[i, :, p] = amounts[j]
        of_mates[j, :, p] = amounts[i]
        return of_mates

    def groups(self, joined: Bool) -> Labels:
        """Return the group of each record (n,), if the pairs `joined` (p,) are.

        >>> Pairs(3).groups(np.array([False, True, False]))
        array([0, 1, 0])
        """
        i, j = self.ends
        first = np.arange(self.n)
        for p in np.flatnonzero(joined):  # by i: its first mate is known
            first[j[p]] = min(first[j[p]], first[i[p]])
        return np.unique(first, return_inverse=True)[1].astype(np.intp)


LANGUAGES = ("cvxpy", "pyomo")
LARGEST = 30  # records; solvers take minutes from half as many


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring."""

    x: Floats = field(repr=False)
    ordered: Ordered = field(repr=False)
    t: float
    k: int

    def __post_init__(self) -> None:
        n = len(check_matrix(self.x, name="x"))
        check_group_size(self.k, n)
        self.ordered.limits(self.t)
        if n > LARGEST:
            raise InfeasibleInputError(
                f"{n} records are too many to assign one by one.",
                fix=f"pass at most {LARGEST}, or take aggopt.repair.closeness.",
            )

    @cached_property
    def sizes(self) -> Labels:
        """Possible group sizes S, ascending."""
        n = len(self.x)
        return np.array([*range(self.k, n - self.k + 1), n])

    @cached_property
    def pairs(self) -> Pairs:
        """All pairs of records."""
        return Pairs(len(self.x))

    @cached_property
    def distances(self) -> Floats:
        """Squared distance d_p of each pair of records (p,)."""
        i, j = self.pairs.ends
        return np.asarray(((self.x[i] - self.x[j]) ** 2).sum(axis=1))

    @cached_property
    def limits(self) -> I64:
        """Limit T_s on the EMD's numerator for each group size in S."""
        return self.ordered.limits(self.t)[self.sizes]

    @cached_property
    def held(self) -> Floats:
        """Indicator e_jb: 1 if the bin of record j is b or lower (n, B)."""
        bins = np.arange(self.ordered.m)
        return (self.ordered.place[:, None] <= bins).astype(float)

    @cached_property
    def mates_held(self) -> Floats:
        """The `held` row of record i's mate in pair p (n, B, p); 0 without i."""
        return self.pairs.mates(self.held)


class Point(NamedTuple):
    """A value of every variable: v (n, S), w (p, S), a (n, B)."""

    v: Floats
    w: Floats
    a: Floats


def build(data: Data, language: str) -> Any:
    """Return the mixed-integer program in cvxpy or in Pyomo; nothing is solved here."""
    require_known("modelling language", language, LANGUAGES)
    return _in_cvxpy(data) if language == "cvxpy" else _in_pyomo(data)


def _in_cvxpy(data: Data) -> Any:
    """Return the program in cvxpy, unsolved."""
    import cvxpy as cp

    n = len(data.x)
    bins = data.ordered.m
    s = data.sizes
    i, j = data.pairs.ends
    v = cp.Variable((n, len(s)), name="v", boolean=True)
    w = cp.Variable((len(i), len(s)), name="w", boolean=True)
    a = cp.Variable((n, bins), name="a")

    together = cp.sum(w, axis=1)
    flat = data.mates_held.reshape(n * bins, -1) @ together
    count = data.held + cp.reshape(flat, (n, bins), order="C")
    below = (v @ s)[:, None] @ data.ordered.below[None, :]
    ij, jl, il = data.pairs.triangles
    three = [together[ij] + together[jl] - together[il] <= 1] if ij.size else []
    constraints = labelled(
        one=cp.sum(v, axis=1) == 1,
        mates=data.pairs.touching @ w == cp.multiply(v, (s - 1)[None, :]),
        first=w <= v[i],
        second=w <= v[j],
        transit=three,
        above=a >= n * count - below,
        under=a >= below - n * count,
        close=cp.sum(a, axis=1) <= v @ (data.limits + 0.5),
    )
    cost = cp.sum(data.distances @ cp.multiply(w, 1 / s[None, :]))
    return cp.Problem(cp.Minimize(cost), constraints)


def _in_pyomo(data: Data) -> Any:
    """Return the program in Pyomo, unsolved."""
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    d = data.distances.tolist()
    s = data.sizes.tolist()
    n = range(len(data.x))
    kinds = range(len(s))
    pairs = range(len(d))
    problem.v = pyo.Var(n, kinds, domain=pyo.Binary)
    problem.a = pyo.Var(n, range(data.ordered.m))
    w = problem.w = pyo.Var(pairs, kinds, domain=pyo.Binary)

    together = [pyo.quicksum(w[p, q] for q in kinds) for p in pairs]
    _group_in_pyomo(problem, data, together)
    _close_in_pyomo(problem, data, together)
    problem.cost = pyo.Objective(
        expr=pyo.quicksum(d[p] / s[q] * w[p, q] for p, q in w.index_set())
    )
    return problem


def _group_in_pyomo(problem: Any, data: Data, together: list[Any]) -> None:
    """Add to `problem` the constraints that pairs `together` form groups."""
    import pyomo.environ as pyo

    n = range(len(data.x))
    kinds = range(len(data.sizes))
    s = data.sizes.tolist()
    i, j = (side.tolist() for side in data.pairs.ends)
    v = problem.v
    w = problem.w
    of = data.pairs.of
    pairs = range(len(i))
    three = [side.tolist() for side in data.pairs.triangles]

    def transit(_: Any, z: int) -> Any:
        one, other, third = (together[side[z]] for side in three)
        return one + other <= 1 + third

    problem.one = pyo.Constraint(
        n, rule=lambda _, r: pyo.quicksum(v[r, q] for q in kinds) == 1
    )
    problem.mates = pyo.Constraint(
        n,
        kinds,
        rule=lambda _, r, q: (
            pyo.quicksum(w[p, q] for p in of[r]) == (s[q] - 1) * v[r, q]
        ),
    )
    problem.first = pyo.Constraint(
        pairs, kinds, rule=lambda _, p, q: w[p, q] <= v[i[p], q]
    )
    problem.second = pyo.Constraint(
        pairs, kinds, rule=lambda _, p, q: w[p, q] <= v[j[p], q]
    )
    problem.transit = pyo.Constraint(range(len(three[0])), rule=transit)


def _close_in_pyomo(problem: Any, data: Data, together: list[Any]) -> None:
    """Add to `problem` the constraints that each group is t-close."""
    import pyomo.environ as pyo

    n = range(len(data.x))
    bins = range(data.ordered.m)
    kinds = range(len(data.sizes))
    v = problem.v
    a = problem.a
    pairs = data.pairs.of
    s = data.sizes.tolist()
    limit = [float(bound) + 0.5 for bound in data.limits]

    def off(r: int, b: int) -> Any:
        mates = (float(data.mates_held[r, b, p]) * together[p] for p in pairs[r])
        below = float(data.ordered.below[b])
        count = float(data.held[r, b]) + pyo.quicksum(mates)
        return len(n) * count - below * pyo.quicksum(s[q] * v[r, q] for q in kinds)

    problem.above = pyo.Constraint(n, bins, rule=lambda _, r, b: a[r, b] >= off(r, b))
    problem.under = pyo.Constraint(n, bins, rule=lambda _, r, b: a[r, b] >= -off(r, b))
    problem.close = pyo.Constraint(
        n,
        rule=lambda _, r: (
            pyo.quicksum(a[r, b] for b in bins)
            <= pyo.quicksum(limit[q] * v[r, q] for q in kinds)
        ),
    )


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return fsum((data.distances[:, None] / data.sizes * at.w).ravel())


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name."""
    i, j = data.pairs.ends
    s = data.sizes
    n = len(data.x)
    together = at.w.sum(axis=1)
    count = n * (data.held + data.mates_held @ together)
    off = count - (at.v @ s)[:, None] * data.ordered.below
    ij, jl, il = data.pairs.triangles
    return amounts(
        one=np.abs(at.v.sum(axis=1) - 1),
        mates=np.abs(data.pairs.touching @ at.w - at.v * (s - 1)),
        first=at.w - at.v[i],
        second=at.w - at.v[j],
        transit=together[ij] + together[jl] - together[il] - 1,
        above=off - at.a,
        under=-off - at.a,
        close=at.a.sum(axis=1) - at.v @ (data.limits + 0.5),
        whole=off_whole(at.v, at.w, upper=1),
    )


def point(data: Data, labels: Labels) -> Point:
    """Return the variables' values for the groups of labels (n,), of sizes in S."""
    label = check_groups(labels, len(data.x))
    i, j = data.pairs.ends
    of_record = np.bincount(label)[label][:, None] == data.sizes
    v = of_record.astype(float)
    w = v[i] * (label[i] == label[j])[:, None]
    count = len(label) * (data.held + data.mates_held @ w.sum(axis=1))
    off = count - (v @ data.sizes)[:, None] * data.ordered.below
    return Point(v, w, np.abs(off))


def labels(problem: Any, data: Data) -> Labels | None:
    """Return the group of each record (n,) of a solved problem, or None."""
    if hasattr(problem, "var_dict"):
        w = problem.var_dict["w"].value
    else:
        shape = len(data.distances), len(data.sizes)
        values = [problem.w[at].value for at in np.ndindex(*shape)]
        w = np.array(values, dtype=float).reshape(shape)
    if w is None or not np.isfinite(w).all():
        return None
    return data.pairs.groups(w.sum(axis=1) > 0.5)


def example() -> Data:
    """Return small data of this model."""
    x = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    return Data(x, Ordered.of(np.array([1.0, 2.0, 1.0, 2.0])), 0.3, 2)


MODEL = Model(
    name="closeness_assign",
    when="the best t-close groups of some twenty records, to compare with",
    rank=70,
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
