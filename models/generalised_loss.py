r"""Publish true values at least loss: places with a least number of guests.

A release by groups publishes a box for each record: a node, an interval or a range of
each attribute, which contains the record.  Groups that publish one box can be united
for nothing.  So a release opens boxes and sends each record to an open box that
contains it, k or more to each.  Records that are equal in all attributes, and in their
weights, are copies of one combination.

Data
    box, combination (p,)  box box_i contains combination combination_i: the pairs, by b
    loss      (b,)    F_b, the loss of a record that is published as box b
    count     (c,)    W_c, number of records with combination c
    weight    (c,)    v_c, sampling weight of each of these records; 1 if none are given
    k                 least number of records of an open box
    shares            "whole": boxes are open or not; "any": in part, too
Variables
    z_cb      (p,)    number of records with combination c that are published as box b
    y_b       (b,)    whether box b is open
Minimise
    sum_cb v_c F_b z_cb
Subject to
    cover:   sum_b z_cb = W_c           for each combination c
    open:    z_cb <= W_c y_b            for each pair
    enough:  sum_c z_cb >= k y_b        for each box b
    sign:    z_cb >= 0
    share:   0 <= y_b <= 1
    whole:   y_b is 0 or 1              unless shares = "any"

Class: MILP; LP with shares = "any".  With whole y, a flow has whole z at no more loss.

Bound: let u_c be prices such that in each box b, no k records (copies counted) have a
positive sum of u_c - v_c F_b.  Then no release loses less than sum_c W_c u_c.  For in a
group with box b, the mean of u - v F over all its records is the average of the means
over its subsets of k, so it is not positive either; add over groups.  These prices are
the multipliers of cover in the LP, which is that of a partition into sets: boxes and
their k largest prices suffice for all groups.  Any prices prove something: lower the k
largest of a box that breaks its condition until it holds.  Prices only fall, so that
one pass over the boxes ends with a proof.  Boxes missing from the list do no harm if
each costs at least as much as any price: list the boxes below a loss, and keep prices
below it (`cap`).

Source: this package, for the loss of Iyengar, KDD 2002; places with least numbers of
guests by Guha, Meyerson and Munagala, and by Karger and Minkoff, FOCS 2000.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum, inf
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import AnyInt
from aggopt.core.validation import Floats, check_group_size, is_number
from aggopt.errors import JobError, TableError, require_known
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled, off_whole

LANGUAGES = ("cvxpy", "pyomo")
SHARES = ("whole", "any")
TURNS = 50  # attempts to lower the prices of one box; what they leave, all prices lose
SAFE = 1e-9  # of each price, and of 1: more than the sums of k prices round
OPEN = 0.5  # records at a box from which on it counts as open


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring.

    `cap` is a loss below which all boxes are listed that k records or more are in, but
    those within which a smaller box has the same records; inf if there is none.  The
    program knows the listed boxes alone.
    """

    box: AnyInt = field(repr=False)
    combination: AnyInt = field(repr=False)
    loss: Floats = field(repr=False)
    count: AnyInt = field(repr=False)
    k: int
    shares: str = "whole"
    weight: Floats | None = field(default=None, repr=False, kw_only=True)
    cap: float = field(default=inf, kw_only=True)

    def __post_init__(self) -> None:
        require_known("kind of shares", self.shares, SHARES)
        if self.count.ndim != 1 or self.count.dtype.kind not in "iu":
            raise JobError("count is no vector of whole numbers.", fix="count records.")
        if not len(self.count) or self.count.min() < 1:
            raise JobError(
                "Some combination has no record.", fix="leave that combination out."
            )
        check_group_size(self.k, int(self.count.sum()))
        weight_of_each(self.weight, len(self.count))
        self._require_boxes()
        if not is_number(self.cap) or not self.cap >= 0:
            raise JobError(f"cap = {self.cap}.", fix="pass a number from 0 up.")

    def _require_boxes(self) -> None:
        box, inside = self.box, self.combination
        steps = np.diff(box, prepend=-1)
        in_order = np.isin(steps, (0, 1)).all() and steps[:1].all()
        if box.shape != inside.shape or not in_order:
            raise JobError(
                "The boxes are not numbered 0, 1, ... in this order.",
                fix="sort both arrays by box, and leave no box out.",
            )
        c = len(self.count)
        pairs = np.sort(box.astype(np.int64) * c + inside)
        outside = len(box) and (inside.min() < 0 or inside.max() >= c)
        if outside or (pairs[1:] == pairs[:-1]).any():
            raise JobError(
                "Some box has a combination twice, or one that does not exist.",
                fix=f"number combinations from 0 to {c - 1}, and name each once.",
            )
        if len(np.unique(inside)) < c:
            raise JobError(
                "Some combination is in no box.",
                fix="list the box of all combinations, which is in every table.",
            )
        boxes = int(box[-1]) + 1
        if self.loss.shape != (boxes,) or not np.isfinite(self.loss).all():
            raise TableError(
                f"The losses of {boxes} boxes have shape {self.loss.shape}, or some "
                "are missing or infinite.",
                fix="pass one finite loss for each box.",
            )
        if (self.loss < 0).any():
            raise TableError(
                "The loss of some box is below 0.", fix="pass losses from 0 up."
            )

    @cached_property
    def weights(self) -> Floats:
        """v_c, (c,)."""
        return weight_of_each(self.weight, len(self.count))

    @cached_property
    def first(self) -> AnyInt:
        """Start of each box in `box` and `combination`, and their length, (b + 1,)."""
        starts = np.flatnonzero(np.diff(self.box, prepend=-1))
        return np.append(starts, len(self.box))

    @cached_property
    def costs(self) -> Floats:
        """v_c F_b of each pair, (p,)."""
        return np.asarray(self.loss[self.box] * self.weights[self.combination])

    def get_members(self, b: int) -> AnyInt:
        """Return the combinations of a box."""
        return self.combination[self.first[b] : self.first[b + 1]]


class Point(NamedTuple):
    """A value of every variable: z (p,) and y (b,)."""

    z: Floats
    y: Floats


def build(data: Data, language: str) -> Any:
    """Return the program in cvxpy or in Pyomo; nothing is solved here."""
    require_known("modelling language", language, LANGUAGES)
    return _in_cvxpy(data) if language == "cvxpy" else _in_pyomo(data)


def _in_cvxpy(data: Data) -> Any:
    import cvxpy as cp

    p, c, b = len(data.box), len(data.count), len(data.loss)
    z = cp.Variable(p, name="z")
    y = cp.Variable(b, name="y", boolean=data.shares == "whole")
    cover = _build_sparse(data.combination, c) @ z == data.count
    open_ = z <= cp.multiply(data.count[data.combination], y[data.box])
    enough = _build_sparse(data.box, b) @ z >= data.k * y
    share = [y >= 0, y <= 1]
    rows = labelled(cover=cover, open=open_, enough=enough, sign=z >= 0, share=share)
    return cp.Problem(cp.Minimize(data.costs @ z), rows)


def _build_sparse(row: AnyInt, rows: int) -> Any:
    """Return the sparse matrix (rows, p) that sums pairs by row."""
    from scipy.sparse import csr_array

    p = len(row)
    return csr_array((np.ones(p), (row, np.arange(p))), (rows, p))


def _in_pyomo(data: Data) -> Any:
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    pairs = range(len(data.box))
    boxes = range(len(data.loss))
    z = problem.z = pyo.Var(pairs)
    y = problem.y = pyo.Var(
        boxes, domain=pyo.Binary if data.shares == "whole" else pyo.Reals
    )
    box, combination = data.box.tolist(), data.combination.tolist()
    count = data.count.tolist()
    of_combination: list[list[int]] = [[] for _ in count]
    of_box: list[list[int]] = [[] for _ in boxes]
    for i in pairs:
        of_combination[combination[i]].append(i)
        of_box[box[i]].append(i)
    problem.cover = pyo.Constraint(
        range(len(count)),
        rule=lambda _, c: pyo.quicksum(z[i] for i in of_combination[c]) == count[c],
    )
    problem.open = pyo.Constraint(
        pairs, rule=lambda _, i: z[i] <= count[combination[i]] * y[box[i]]
    )
    problem.enough = pyo.Constraint(
        boxes,
        rule=lambda _, b: pyo.quicksum(z[i] for i in of_box[b]) >= data.k * y[b],
    )
    problem.sign = pyo.Constraint(pairs, rule=lambda _, i: z[i] >= 0)
    problem.share = pyo.Constraint(boxes, rule=lambda _, b: (0, y[b], 1))
    cost = pyo.quicksum(v * z[i] for i, v in enumerate(data.costs.tolist()))
    problem.cost = pyo.Objective(expr=cost)
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the minimised objective at a point."""
    return fsum(data.costs * at.z)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return by how much each constraint is missed, by its name in the head."""
    count = data.count[data.combination]
    covered = np.bincount(data.combination, at.z, minlength=len(data.count))
    guests = np.bincount(data.box, at.z, minlength=len(data.loss))
    return amounts(
        cover=np.abs(covered - data.count),
        open=at.z - count * at.y[data.box],
        enough=data.k * at.y - guests,
        sign=-at.z,
        share=np.maximum(-at.y, at.y - 1),
        whole=off_whole(at.y, upper=1) if data.shares == "whole" else 0.0,
    )


def numbers(problem: Any, data: Data) -> Floats | None:
    """Return z (p,), read off a solved problem; None without a solution."""
    if hasattr(problem, "var_dict"):
        z = problem.var_dict["z"].value
    else:
        z = np.array([problem.z[i].value for i in range(len(data.box))], dtype=float)
    return None if z is None or not np.isfinite(z).all() else np.asarray(z, float)


def point(data: Data, numbers: Floats) -> Point:
    """Return the point with these numbers (p,): the boxes that have records are open.

    With shares = "any", a box is open as far as its records need it.
    """
    z = np.asarray(numbers, np.float64)
    guests = np.bincount(data.box, z, minlength=len(data.loss))
    if data.shares == "whole":
        return Point(z, (guests > OPEN).astype(np.float64))
    y = np.zeros(len(data.loss))
    np.maximum.at(y, data.box, z / data.count[data.combination])
    return Point(z, y)


def multipliers(problem: Any, data: Data) -> Floats | None:
    """Return the prices u (c,), read off a solved problem, up to their sign; or None.

    Solvers of integer programs leave none.
    """
    if data.shares == "whole":
        return None
    if hasattr(problem, "var_dict"):
        duals = problem.constraints[0].dual_value
        return None if duals is None else np.asarray(duals, float)
    suffix = getattr(problem, "dual", None)
    if suffix is None or problem.cover[0] not in suffix:
        return None
    return np.array([suffix.get(problem.cover[c], 0.0) for c in problem.cover], float)


def proven(data: Data, multipliers: Floats) -> float:
    """Return the bound that prices (c,) of either sign prove, 0 or more.

    >>> u = np.array([0.0, 0.0, 4.0])
    >>> round(proven(example(), u), 6), round(proven(example(), 0.0 * u), 6)
    (4.0, 0.0)
    """
    prices = np.where(np.isfinite(multipliers), multipliers, 0.0)
    lowered = [lower_prices(data, sign * prices) for sign in (1.0, -1.0)]
    return round_bound_up(data, max(0.0, *(fsum(data.count * u) for u in lowered)))


def round_bound_up(data: Data, bound: float) -> float:
    """Return the least objective from a bound on: whole if all costs are."""
    is_whole = data.shares == "whole" and (data.costs == np.rint(data.costs)).all()
    return float(np.ceil(bound)) if is_whole else bound


def lower_prices(data: Data, prices: Floats) -> Floats:
    """Return feasible prices (c,), none above these: one pass over the boxes.

    Cheap boxes come first.  The k largest prices of a box fall by the projection that
    weighs each combination by its count.
    """
    u = np.minimum(prices, data.cap * data.weights)
    for b in np.argsort(data.loss, kind="stable").tolist():
        members = data.get_members(b)
        for _ in range(TURNS):
            taken, excess = sum_largest(data, u, b)
            if excess <= 0:
                break
            of_count = taken / data.count[members]
            u[members] -= excess / (taken @ of_count) * of_count
    worst = max((sum_largest(data, u, b)[1] for b in range(len(data.loss))), default=0)
    return np.asarray(u - max(0.0, worst) / data.k - SAFE * (1 + np.abs(u)))


def sum_largest(data: Data, prices: Floats, b: int) -> tuple[Floats, float]:
    """Return the copies of each member among the k largest u - v F, and their sum.

    A box of fewer than k records is no group's: its sum is -inf.
    """
    members = data.get_members(b)
    excess = prices[members] - data.weights[members] * data.loss[b]
    order = np.argsort(-excess, kind="stable")
    count = data.count[members]
    before = np.cumsum(count[order]) - count[order]
    taken = np.zeros(len(members))
    taken[order] = np.clip(data.k - before, 0, count[order])
    if taken.sum() < data.k:
        return taken, -inf
    return taken, float(taken @ excess)


def publish_all_alike(data: Data) -> Floats | None:
    """Return z (p,) if all records go to the cheapest box of all; None without one."""
    is_full = np.diff(data.first) == len(data.count)
    if not is_full.any():
        return None
    b = int(np.where(is_full, data.loss, inf).argmin())
    return np.where(data.box == b, data.count[data.combination], 0).astype(np.float64)


def example() -> Data:
    """Return five records: two pairs that are nearly alike, and a single one."""
    box = np.array([0, 1, 2, 2, 3, 3, 4, 4, 4])
    combination = np.array([0, 1, 0, 1, 1, 2, 0, 1, 2])
    loss = np.array([0.0, 0.0, 0.5, 2.0, 3.0])
    return Data(box, combination, loss, np.array([2, 2, 1]), 2)


MODEL = Model(
    name="generalised_loss",
    when="true values of groups, a node or a range each, at least loss",
    rank=55,
    kind="MILP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=numbers,
    example=example,
    point=point,
    multipliers=multipliers,
    proven=proven,
    fallback=publish_all_alike,
)
