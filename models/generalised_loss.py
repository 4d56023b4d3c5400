r"""Least loss if groups publish true values: boxes open for k records or more each.

A release by groups publishes a box for each record: a node, an interval or a range of
each attribute, which contains the record.  Groups that publish one box can be united
for nothing.  So a release opens boxes and sends each record to an open box that
contains it, k or more to each.  Each open box may also need records of l kinds, such as
l values of a confidential attribute, or l households.  Records that are equal in all
attributes, in their weights and in their kinds are copies of one combination.

Data
    box, combination (p,)  box box_i contains combination combination_i: the pairs, by b
    loss      (b,)    F_b, the loss of a record that is published as box b
    count     (c,)    W_c, number of records with combination c
    weight    (c,)    v_c, sampling weight of each of these records; 1 if none are given
    k                 least number of records of an open box
    kind      (c,)    s_c, the kind of these records, 0, 1, ...; all 0 if none are given
    l                 least number of kinds of the records at an open box
    shares            "whole": boxes are open or not; "any": in part, too
Variables
    z_cb      (p,)    number of records with combination c that are published as box b
    y_b       (b,)    whether box b is open
    x_bs      (q,)    whether box b counts as having kind s, for the kinds inside; no
                      such variable if l = 1
Minimise
    sum_cb v_c F_b z_cb
Subject to
    cover:   sum_b z_cb = W_c           for each combination c
    open:    z_cb <= W_c y_b            for each pair
    enough:  sum_c z_cb >= k y_b        for each box b
    present: x_bs <= sum_{c of s} z_cb  for each box b and each kind s inside
    counted: x_bs <= y_b                for the same
    kinds:   sum_s x_bs >= l y_b        for each box b
    sign:    z_cb >= 0, x_bs >= 0
    share:   0 <= y_b <= 1
    whole:   y_b and x_bs are 0 or 1    unless shares = "any"

Class: MILP; LP with shares = "any".  With whole y and x, a flow has whole z at no more
loss.

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

With l > 1, no records of a box that could be a group may have a positive sum.  The
largest sum is that of all records with u > v F; of the best record of each of the best
other kinds, up to l kinds; and of the best others, up to k records.  The sum of any
other group grows, or stays, if one of these is added or takes the place of a record.

Source: this package, for the loss of Iyengar, KDD 2002; places with least numbers of
guests by Guha, Meyerson and Munagala, and by Karger and Minkoff, FOCS 2000.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum, inf
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import AnyInt
from aggopt.core.validation import (
    Floats,
    check_group_size,
    is_number,
    is_whole_number,
)
from aggopt.errors import InfeasibleInputError, JobError, TableError, require_known
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled, off_whole

LANGUAGES = ("cvxpy", "pyomo")
SHARES = ("whole", "any")
TURNS = 50  # attempts to lower the prices of one box; what they leave, all prices lose
SAFE = 1e-9  # of each price, and of 1: more than the sums of k prices round
NO_KINDS = np.zeros(0)
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
    kind: AnyInt | None = field(default=None, repr=False, kw_only=True)
    l: int = field(default=1, kw_only=True)  # noqa: E741

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
        self._require_kinds()

    def _require_kinds(self) -> None:
        """Refuse kinds that are not numbered 0, 1, ..., and an l above their number."""
        kind = self.kinds
        if kind.shape != self.count.shape or kind.dtype.kind not in "iu":
            raise JobError(
                "kind is no vector of whole numbers, one for each combination.",
                fix="number the kinds 0, 1, ...",
            )
        number = len(np.unique(kind))
        if kind.min() < 0 or kind.max() >= number:
            raise JobError(
                "The kinds are not numbered 0, 1, ... without gaps.",
                fix="pass the codes of the distinct kinds.",
            )
        if not is_whole_number(self.l) or not 1 <= self.l <= number:
            raise InfeasibleInputError(
                f"l = {self.l}, and the records have {plural(number, 'kind')}.",
                fix=f"choose l from 1 to {number}.",
            )

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
    def kinds(self) -> AnyInt:
        """Kind s_c of each combination, (c,); 0 for all if none is given."""
        return np.zeros(len(self.count), np.int64) if self.kind is None else self.kind

    @cached_property
    def counted(self) -> tuple[AnyInt, AnyInt]:
        """Box b and kind s of each x_bs, (q,) each; empty if l = 1."""
        if self.l == 1:
            none = np.zeros(0, np.int64)
            return none, none
        number = int(self.kinds.max()) + 1
        codes = np.unique(self.box.astype(np.int64) * number + self.kind_of_pair)
        return codes // number, codes % number

    @property
    def kind_of_pair(self) -> AnyInt:
        """Kind of the combination of each pair, (p,)."""
        return self.kinds[self.combination]

    @cached_property
    def counted_of_pair(self) -> AnyInt:
        """Place in `counted` of the box and kind of each pair, (p,); empty if l = 1."""
        number = int(self.kinds.max()) + 1
        box, kind = self.counted
        if self.l == 1:
            return box
        codes = self.box.astype(np.int64) * number + self.kind_of_pair
        return np.searchsorted(box * number + kind, codes)

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
    """A value of every variable: z (p,), y (b,) and x (q,)."""

    z: Floats
    y: Floats
    x: Floats = NO_KINDS


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
    sign, share = [z >= 0], [y >= 0, y <= 1]
    rows = {"cover": cover, "open": open_, "enough": enough}
    if data.l > 1:
        box, _ = data.counted
        q = len(box)
        x = cp.Variable(q, name="x", boolean=data.shares == "whole")
        rows["present"] = x <= _build_sparse(data.counted_of_pair, q) @ z
        rows["counted"] = x <= y[box]
        rows["kinds"] = _build_sparse(box, b) @ x >= data.l * y
        sign.append(x >= 0)
    constraints = labelled(**rows, sign=sign, share=share)
    return cp.Problem(cp.Minimize(data.costs @ z), constraints)


def _build_sparse(row: AnyInt, rows: int) -> Any:
    """Return the sparse matrix (rows, p) that sums p entries by row."""
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
    if data.l > 1:
        _require_kinds_in_pyomo(problem, data)
    problem.share = pyo.Constraint(boxes, rule=lambda _, b: (0, y[b], 1))
    cost = pyo.quicksum(v * z[i] for i, v in enumerate(data.costs.tolist()))
    problem.cost = pyo.Objective(expr=cost)
    return problem


def _require_kinds_in_pyomo(problem: Any, data: Data) -> None:
    """Add the variables x and the constraints on kinds to a Pyomo program."""
    import pyomo.environ as pyo

    box = data.counted[0].tolist()
    places = range(len(box))
    z, y = problem.z, problem.y
    x = problem.x = pyo.Var(
        places, domain=pyo.Binary if data.shares == "whole" else pyo.NonNegativeReals
    )
    pairs: list[list[int]] = [[] for _ in places]
    for i, j in enumerate(data.counted_of_pair.tolist()):
        pairs[j].append(i)
    of_box: list[list[int]] = [[] for _ in data.loss]
    for j in places:
        of_box[box[j]].append(j)
    problem.present = pyo.Constraint(
        places, rule=lambda _, j: x[j] <= pyo.quicksum(z[i] for i in pairs[j])
    )
    problem.counted = pyo.Constraint(places, rule=lambda _, j: x[j] <= y[box[j]])
    problem.kinds = pyo.Constraint(
        range(len(of_box)),
        rule=lambda _, b: pyo.quicksum(x[j] for j in of_box[b]) >= data.l * y[b],
    )


def objective(data: Data, at: Point) -> float:
    """Return the minimised objective at a point."""
    return fsum(data.costs * at.z)


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return by how much each constraint is missed, by its name in the head."""
    count = data.count[data.combination]
    covered = np.bincount(data.combination, at.z, minlength=len(data.count))
    guests = np.bincount(data.box, at.z, minlength=len(data.loss))
    box, _ = data.counted
    present = np.bincount(data.counted_of_pair, _of_kinds(data, at.z), len(box))
    kinds = np.bincount(box, at.x, len(data.loss))
    return amounts(
        cover=np.abs(covered - data.count),
        open=at.z - count * at.y[data.box],
        enough=data.k * at.y - guests,
        present=at.x - present,
        counted=at.x - at.y[box],
        kinds=data.l * at.y - kinds if data.l > 1 else 0.0,
        sign=-np.append(at.z, at.x),
        share=np.maximum(-at.y, at.y - 1),
        whole=off_whole(at.y, at.x, upper=1) if data.shares == "whole" else 0.0,
    )


def _of_kinds(data: Data, z: Floats) -> Floats:
    """Return z (p,) if kinds are counted, l > 1; else an empty array."""
    return z if data.l > 1 else NO_KINDS


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
    box, _ = data.counted
    present = np.bincount(data.counted_of_pair, _of_kinds(data, z), len(box))
    if data.shares == "whole":
        y = (guests > OPEN).astype(np.float64)
        return Point(z, y, (present > OPEN).astype(np.float64))
    y = np.zeros(len(data.loss))
    np.maximum.at(y, data.box, z / data.count[data.combination])
    return Point(z, y, np.minimum(present, y[box]))


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
    lowered = [make_prices_feasible(data, sign * prices) for sign in (1.0, -1.0)]
    return round_whole_bound(data, max(0.0, *(fsum(data.count * u) for u in lowered)))


def round_whole_bound(data: Data, bound: float) -> float:
    """Return a lower bound, rounded up if the objective is always a whole number."""
    is_whole = data.shares == "whole" and (data.costs == np.rint(data.costs)).all()
    return float(np.ceil(bound)) if is_whole else bound


def make_prices_feasible(data: Data, prices: Floats) -> Floats:
    """Return feasible prices (c,), none above the given ones, by a pass over the boxes.

    Cheap boxes come first.  The largest prices of a box fall by the projection that
    weighs each combination by its count.
    """
    u = np.minimum(prices, data.cap * data.weights)
    for b in np.argsort(data.loss, kind="stable").tolist():
        members = data.get_members(b)
        for _ in range(TURNS):
            taken, excess = choose_dearest_copies(data, u, b)
            if excess <= 0:
                break
            of_count = taken / data.count[members]
            u[members] -= excess / (taken @ of_count) * of_count
    worst = max(
        (choose_dearest_copies(data, u, b)[1] for b in range(len(data.loss))), default=0
    )
    return np.asarray(u - max(0.0, worst) / data.k - SAFE * (1 + np.abs(u)))


def choose_dearest_copies(data: Data, prices: Floats, b: int) -> tuple[Floats, float]:
    """Return the copies of each member in the group of largest u - v F, and their sum.

    The group has k records: the largest ones.  If l > 1 it also has l kinds, and all
    records with u > v F.  The sum is -inf if the box has no such group.
    """
    members = data.get_members(b)
    excess = prices[members] - data.weights[members] * data.loss[b]
    order = np.argsort(-excess, kind="stable")
    count = data.count[members]
    taken = np.zeros(len(members))
    if data.l > 1:
        kind = data.kinds[members]
        taken = np.where(excess > 0, count, 0).astype(np.float64)
        best = order[np.unique(kind[order], return_index=True)[1]]
        missing = data.l - len(np.unique(kind[taken > 0]))
        others = best[~np.isin(kind[best], kind[taken > 0])]
        if missing > len(others):
            return taken, -inf
        dearest = others[np.argsort(-excess[others], kind="stable")]
        taken[dearest[: max(0, missing)]] += 1
    left = (count - taken)[order]
    before = np.cumsum(left) - left
    taken[order] += np.clip(max(0, data.k - taken.sum()) - before, 0, left)
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
