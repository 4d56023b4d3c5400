r"""A lower bound of the loss of any partition into groups of k or more records.

The loss is a sum over pairs of records in one group.  The program chooses how much each
pair is together, and asks for all that pairs of a partition satisfy and few records
show at a time.  Its least value, and the value of any multipliers, is below the loss of
every partition.

Data
    x            (n, d)  records on the scale of distances
    k                    least size of a group
    i_c, j_c     (c, 2)  pair of each cut c of common neighbours
    a_cl         (c, n)  the end of that pair, i_c or j_c, that represents record l; or
                         none: the pair itself represents l, in the set M_c
    U_u          (u, n)  sets of records, for sizes
    i_f, e_f, b_f (f,)   record, entry of it and side of each row f of a requirement
    l_fj         (f, n)  entry of each other record j in row f
    D_ij         (n, n)  squared distances |x_i - x_j|^2, derived
Variables
    w_ij         (p,)    k / s if i and j share a group of s records, 0 otherwise: i < j
    x_i          (n,)    k / s if i is in a group of s records
Minimise
    sum_{i < j} D_ij w_ij / k
Subject to
    degree:    sum_j w_ij + x_i >= k                     for each i
    cap:       w_ij <= x_i                               for each i and j
    triangle:  w_ij + w_il - w_jl <= x_i                 for each i and all j < l
    common:    sum_{l not in M_c} w_{a_cl, l} >= (k - 2 - |M_c|) w_{i_c, j_c}
    sizes:     sum_{i in U_u} x_i <= k floor(|U_u| / k) + sum_{i in U_u, j not} w_ij
    promise:   sum_j l_fj w_{i_f, j} + e_f x_{i_f} >= b_f
    share:     0 <= w_ij <= 1
    least:     k / (2k - 1) <= x_i <= 1; with promises k / n <= x_i <= 1

Class: LP.

Every partition into groups of k to 2k - 1 satisfies all of it, and no partition into
groups of k or more loses less than the best of these, as larger groups can be split.
Let S be the group of i, s its size.  degree: (s - 1) k/s + k/s = k.  cap, triangle: if
j and l are in S, both sides are k/s; if one is, k/s <= k/s; if none is, -w_jl <= 0.
common: if j_c is in S, too, at least s - 2 - |M_c| >= k - 2 - |M_c| of its other
members are not in M_c, and each adds k/s on the left; otherwise the right side is 0.
sizes: a group within U adds s k/s = k on the left, and U has room for floor(|U| / k);
one with p members in U and s - p >= 1 others adds p k/s on the left, and at least as
much, p (s - p) k/s, on the right.  promise: rows of a requirement on groups, such as
t-closeness, hold for the groups that satisfy it, which may not be splittable; see
docs/mathematics/pair_bound.md.

Multipliers y, p, v, u, z >= 0 of the first five families leave each variable a reduced
cost, r_ij = D_ij / k - y_i - y_j + ... and rho_i = -y_i - ..., and prove

    k sum y - k sum_u floor(|U_u| / k) z_u + sum_i min(rho_i, k/(2k-1) rho_i)
        + sum_{i < j} min(0, r_ij).

With y_i = d_i / 2k, d_i the squared distance of the (k-1)-th nearest, and no other,
this is the neighbour bound of `aggopt.partition.loss_bound` or more.

Source: this package.  Pairs and triangles are those of clique partitioning, Groetschel
and Wakabayashi, Mathematical Programming 47, 1990.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels, check_group_size, check_matrix
from aggopt.errors import JobError, UnknownNameError
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled

LANGUAGES = ("cvxpy", "pyomo")
FAMILIES = ("degree", "cap", "triangle", "common", "sizes", "promise")
FIRST, SECOND, ITSELF = 0, 1, -1  # which pair represents a record in a cut
EPS = 16 * float(np.finfo(float).eps)  # more than the rounding of a few operations


class Family(NamedTuple):
    """One family of inequalities, pairs @ w + own @ x >= sides; both are sparse."""

    pairs: Any
    own: Any
    sides: Floats


class Promises(NamedTuple):
    """Rows of a requirement: record (f,), entry (f,), side (f,), and levels (f, n)."""

    record: Labels
    entry: Floats
    side: Floats
    levels: Floats


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring.

    Attributes
    ----------
    cut : (c, 2)
        i_c and j_c; all pairs when omitted.
    ends : (c, n)
        FIRST where i_c represents record l, SECOND where j_c does, ITSELF in M_c.  The
        entries of i_c and j_c are not read.  When omitted, the end that is farther from
        l represents it.
    inside : (u, n)
        Whether each record is in U_u; no set when omitted.
    promises
        Rows that groups satisfy in addition; none when omitted.
    """

    x: Floats = field(repr=False)
    k: int
    cut: Labels | None = field(default=None, repr=False)
    ends: Labels | None = field(default=None, repr=False)
    inside: Bool | None = field(default=None, repr=False)
    promises: Promises | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        n = len(check_matrix(self.x, name="x"))
        check_group_size(self.k, n)
        if (self.cut is None) != (self.ends is None):
            raise JobError(
                "cut and ends are given one without the other.",
                fix="pass both, or leave both out.",
            )
        if self.cut is not None and self.ends is not None:
            _require_cuts(self.cut, self.ends, n)
        if self.inside is not None and self.inside.shape[1:] != (n,):
            raise JobError(
                f"inside has the shape {self.inside.shape}.",
                fix=f"pass a row of {n} entries for each set.",
            )
        if self.promises is not None:
            _require_promises(self.promises, n)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.x)

    @property
    def lowest(self) -> float:
        """Least value of an x_i: a larger group than 2k - 1 records can be split."""
        largest = 2 * self.k - 1 if self.promises is None else self.n
        return self.k / largest

    @cached_property
    def pairs(self) -> tuple[Labels, Labels]:
        """Records i < j of each pair, (p,) each."""
        return np.triu_indices(self.n, 1)

    @cached_property
    def number(self) -> Labels:
        """Number of the pair of two records, (n, n); 0 on the diagonal."""
        number = np.zeros((self.n, self.n), np.intp)
        number[self.pairs] = np.arange(len(self.pairs[0]))
        return number + number.T

    @cached_property
    def costs(self) -> Floats:
        """D_ij / k of each pair, (p,)."""
        i, j = self.pairs
        return np.asarray(((self.x[i] - self.x[j]) ** 2).sum(axis=1) / self.k)

    @cached_property
    def cuts(self) -> tuple[Labels, Labels]:
        """The pair (c, 2) of each cut, and who represents each record (c, n)."""
        if self.cut is not None and self.ends is not None:
            return self.cut, self.ends
        i, j = self.pairs
        apart = ((self.x[:, None] - self.x) ** 2).sum(axis=2)
        return np.stack([i, j], axis=1), np.where(apart[i] >= apart[j], FIRST, SECOND)

    @cached_property
    def families(self) -> dict[str, Family]:
        """The inequalities by family, in the order of FAMILIES."""
        return {
            "degree": _make_degrees(self),
            "cap": _make_caps(self),
            "triangle": _make_triangles(self),
            "common": _make_common(self),
            "sizes": _make_sizes(self),
            "promise": _make_promises(self),
        }


def _require_cuts(cut: Labels, ends: Labels, n: int) -> None:
    if cut.shape != (len(ends), 2) or ends.shape != (len(cut), n):
        raise JobError(
            f"cut has the shape {cut.shape}, and ends {ends.shape}.",
            fix=f"pass a pair and a row of {n} entries for each cut.",
        )
    outside = cut.size and (cut.min() < 0 or cut.max() >= n)
    if outside or (cut[:, 0] == cut[:, 1]).any():
        raise JobError(
            "Some cut has no pair of two records.",
            fix=f"number records from 0 to {n - 1}, and name two for each cut.",
        )
    if not np.isin(ends, (FIRST, SECOND, ITSELF)).all():
        raise JobError("Some entry of ends is no end.", fix="pass 0, 1 or -1.")


def _require_promises(promises: Promises, n: int) -> None:
    """Refuse rows whose arrays have wrong shapes for n records."""
    count = len(promises.record)
    shapes = [np.shape(values) for values in promises]
    if shapes != [(count,), (count,), (count,), (count, n)]:
        raise JobError(
            f"The rows of promises have the shapes {shapes}.",
            fix=f"pass a record, an entry, a side and {n} levels for each row.",
        )


def _build_sparse(row: Any, column: Any, entry: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    row, column, entry = np.broadcast_arrays(row, column, entry)
    entries = np.asarray(entry, float).ravel()
    return csr_array((entries, (row.ravel(), column.ravel())), shape)


def _make_degrees(data: Data) -> Family:
    """Return sum_j w_ij + x_i >= k."""
    i, j = data.pairs
    n = data.n
    p = np.arange(len(i))
    pairs = _build_sparse(np.stack([i, j]), p, 1.0, (n, len(p)))
    of_records = _build_sparse(np.arange(n), np.arange(n), 1.0, (n, n))
    return Family(pairs, of_records, np.full(n, float(data.k)))


def _make_caps(data: Data) -> Family:
    """Return x_i - w_ij >= 0, for both records of each pair."""
    i, j = data.pairs
    p = np.arange(len(i))
    rows = np.arange(2 * len(p))
    pairs = _build_sparse(rows, np.tile(p, 2), -1.0, (len(rows), len(p)))
    of_records = _build_sparse(rows, np.concatenate([i, j]), 1.0, (len(rows), data.n))
    return Family(pairs, of_records, np.zeros(len(rows)))


def _make_triangles(data: Data) -> Family:
    """Return x_i - w_ij - w_il + w_jl >= 0."""
    triples = np.array([*combinations(range(data.n), 3)], np.intp).reshape(-1, 3)
    corners = np.vstack([np.roll(triples, turn, axis=1) for turn in range(3)])
    i, j, l = corners.T  # noqa: E741
    t = np.arange(len(corners))
    sides = np.stack([data.number[i, j], data.number[i, l], data.number[j, l]])
    signs = np.array([[-1.0], [-1.0], [1.0]])
    pairs = _build_sparse(t, sides, signs, (len(t), len(data.costs)))
    return Family(pairs, _build_sparse(t, i, 1.0, (len(t), data.n)), np.zeros(len(t)))


def _make_common(data: Data) -> Family:
    """Return sum_{l not in M_c} w_{a_cl, l} - (k - 2 - |M_c|) w_{i_c, j_c} >= 0."""
    cut, ends = data.cuts
    every = np.arange(data.n)
    other = (every != cut[:, :1]) & (every != cut[:, 1:])
    c, l = np.nonzero(other & (ends != ITSELF))  # noqa: E741
    itself = (other & (ends == ITSELF)).sum(axis=1)
    rows = np.concatenate([c, np.arange(len(cut))])
    columns = np.concatenate(
        [data.number[cut[c, ends[c, l]], l], data.number[cut[:, 0], cut[:, 1]]]
    )
    entries = np.concatenate([np.ones(len(c)), itself - (data.k - 2.0)])
    pairs = _build_sparse(rows, columns, entries, (len(cut), len(data.costs)))
    return Family(
        pairs, _build_sparse([], [], [], (len(cut), data.n)), np.zeros(len(cut))
    )


def _make_sizes(data: Data) -> Family:
    """Return w(pairs that leave U_u) - sum_{i in U_u} x_i >= -k floor(|U_u| / k)."""
    inside = np.zeros((0, data.n), bool) if data.inside is None else data.inside
    i, j = data.pairs
    u, p = np.nonzero(inside[:, i] != inside[:, j])
    pairs = _build_sparse(u, p, 1.0, (len(inside), len(data.costs)))
    u, i = np.nonzero(inside)
    of_records = _build_sparse(u, i, -1.0, (len(inside), data.n))
    return Family(pairs, of_records, -data.k * np.floor(inside.sum(axis=1) / data.k))


def _make_promises(data: Data) -> Family:
    """Return sum_j l_fj w_{i_f, j} + e_f x_{i_f} >= b_f."""
    record, entry, side, levels = data.promises or Promises(
        np.zeros(0, np.intp), np.zeros(0), np.zeros(0), np.zeros((0, data.n))
    )
    f, j = np.nonzero(np.arange(data.n) != record[:, None])
    shape = (len(record), len(data.costs))
    pairs = _build_sparse(f, data.number[record[f], j], levels[f, j], shape)
    rows = np.arange(len(record))
    return Family(pairs, _build_sparse(rows, record, entry, (len(rows), data.n)), side)


class Point(NamedTuple):
    """A value of every variable: w (p,) and x (n,)."""

    w: Floats
    x: Floats


def build(data: Data, language: str) -> Any:
    """Return the program in cvxpy or in Pyomo; nothing is solved here."""
    if language not in LANGUAGES:
        raise UnknownNameError("modelling language", language, LANGUAGES)
    return _in_cvxpy(data) if language == "cvxpy" else _in_pyomo(data)


def _in_cvxpy(data: Data) -> Any:
    import cvxpy as cp

    w = cp.Variable(len(data.costs), name="w")
    x = cp.Variable(data.n, name="x")
    rows: dict[str, Any] = {
        name: family.pairs @ w + family.own @ x >= family.sides
        for name, family in data.families.items()
        if len(family.sides)
    }
    rows["share"] = [w >= 0, w <= 1]
    rows["least"] = [x >= data.lowest, x <= 1]
    return cp.Problem(cp.Minimize(data.costs @ w), labelled(**rows))


def _in_pyomo(data: Data) -> Any:
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    w = problem.w = pyo.Var(range(len(data.costs)))
    x = problem.x = pyo.Var(range(data.n))

    def total(matrix: Any, row: int, variable: Any) -> Any:
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        terms = zip(matrix.indices[part], matrix.data[part], strict=True)
        return pyo.quicksum(float(entry) * variable[int(at)] for at, entry in terms)

    def add(name: str, family: Family) -> None:
        def state(_: Any, row: int) -> Any:
            left = total(family.pairs, row, w) + total(family.own, row, x)
            return left >= float(family.sides[row])

        setattr(problem, name, pyo.Constraint(range(len(family.sides)), rule=state))

    for name, family in data.families.items():
        if len(family.sides):
            add(name, family)
    problem.share = pyo.Constraint(w.index_set(), rule=lambda _, p: (0, w[p], 1))
    problem.least = pyo.Constraint(
        x.index_set(), rule=lambda _, i: (data.lowest, x[i], 1)
    )
    costs = data.costs.tolist()
    cost = pyo.quicksum(c * w[p] for p, c in enumerate(costs))
    problem.cost = pyo.Objective(expr=cost)
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the minimised objective at a point."""
    return fsum(data.costs * at.w)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return by how much each constraint is missed, by its name in the head."""
    missed = {
        name: family.sides - family.pairs @ at.w - family.own @ at.x
        for name, family in data.families.items()
    }
    return amounts(
        **missed,
        share=np.concatenate([-at.w, at.w - 1]),
        least=np.concatenate([data.lowest - at.x, at.x - 1]),
    )


def shares(problem: Any, data: Data) -> Point | None:
    """Return the point of a solved problem; None without a solution."""
    if hasattr(problem, "var_dict"):
        w, x = (problem.var_dict[name].value for name in ("w", "x"))
        return None if w is None or x is None else Point(np.asarray(w), np.asarray(x))
    values = [[block[at].value for at in block] for block in (problem.w, problem.x)]
    if any(value is None for block in values for value in block):
        return None
    return Point(*(np.array(block, float) for block in values))


def point(data: Data, reading: Point) -> Point:
    """Return the point that was read off a solved problem."""
    return reading


def point_of_groups(data: Data, labels: Labels) -> Point:
    """Return the point of a partition, given by the group (n,) of each record."""
    share = data.k / np.bincount(labels)[labels]
    i, j = data.pairs
    return Point(np.where(labels[i] == labels[j], share[i], 0.0), share)


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the multipliers (m,) of all families, read off a solved problem."""
    stated = [name for name in FAMILIES if len(data.families[name].sides)]
    duals: list[Any]
    if hasattr(problem, "var_dict"):
        duals = [row.dual_value for row in problem.constraints[: len(stated)]]
        if any(dual is None for dual in duals):
            return None
    else:
        suffix = getattr(problem, "dual", None)
        if suffix is None or problem.degree[0] not in suffix:
            return None
        blocks = [getattr(problem, name) for name in stated]
        duals = [[suffix.get(row, 0.0) for row in b.values()] for b in blocks]
    values = [np.ravel(np.asarray(dual, float)) for dual in duals]
    return np.asarray(np.abs(np.concatenate(values)))


def proven(data: Data, multipliers: Floats) -> float:
    """Return the bound that multipliers (m,) of all families prove, 0 or more.

    All pairs count, and an allowance for rounding is subtracted: nothing depends on who
    found the multipliers.  Negative ones count as 0.

    >>> degrees, others = np.full(4, 0.25), np.zeros(31)
    >>> round(proven(example(), np.append(degrees, others)), 6)
    1.0
    """
    from scipy.sparse import vstack

    families = [data.families[name] for name in FAMILIES]
    lam = np.where(np.isfinite(multipliers), np.maximum(multipliers, 0.0), 0.0)
    reduced = []
    for cost, part in ((data.costs, "pairs"), (np.zeros(data.n), "own")):
        matrix = vstack([getattr(family, part) for family in families]).tocsc()
        size = cost + abs(matrix).T @ lam
        terms = np.diff(matrix.indptr) + data.x.shape[1] + 4
        reduced.append(cost - matrix.T @ lam - EPS * terms * size)
    r, rho = reduced
    sides = np.concatenate([family.sides for family in families])
    summed = [*(sides * lam), *np.minimum(r, 0.0), *np.minimum(rho, data.lowest * rho)]
    return max(0.0, fsum(summed) - EPS * fsum(map(abs, summed)))


def example() -> Data:
    """Return small data: four records in two groups, and a set of three."""
    x = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0], [6.0, 1.0]])
    return Data(x, 2, inside=np.array([[True, True, True, False]]))


MODEL = Model(
    name="pair_bound",
    when="what no partition into groups of k or more falls below",
    rank=55,
    kind="LP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=shares,
    example=example,
    point=point,
    multipliers=multipliers,
    proven=proven,
)
