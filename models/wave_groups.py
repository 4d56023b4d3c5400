r"""Groups of a later wave: few new records or changed values join, at least loss.

The parts of a wave are the groups of an earlier one, with their remaining members, and
the new records.  Parts that share a place are published as one group.  Each place
receives none or at least k records of each kind: new records, and records with a
changed attribute.  If k counts units, a unit with records of a kind in several parts
counts in one of them.

Data
    c        (p, d)  centroid of each part, standardised: mean 0, variance 1, no unit
    s        (p,)    number of records of each part
    a        (p, f)  number of these records, or units, of each kind
    b        (p, f)  whether the part has any of each kind; a > 0 if left out
    k                least number of a kind in a place, if it has any
    moving   (p,)    whether a part may move to the place of another; the set M
    cell     (p,)    stratum, or pattern of missing values, of each part
    d_uq             s_u |c_u - c_q|^2, derived
Variables
    x_uq     (M, p)  1 when part u, which moves, is at the place of part q
    z_qf     (p, f)  1 when records of kind f are at the place of part q
Minimise
    sum_uq d_uq x_uq
Subject to
    one:     sum_q x_uq = 1
    open:    x_uq <= x_qq                              q in M
    within:  x_uq = 0                                  where cell_u is not cell_q
    some:    x_uq <= z_qf                              where b_uf
    own:     z_qf = 1                                  q not in M, where b_qf
    enough:  sum_u a_uf x_uq + [q not in M] a_qf >= k z_qf
    share:   0 <= z_qf <= 1
    whole:   x_uq is 0 or 1

A part that does not move is at its own place.  The loss of a group about its mean is at
most the loss of its parts and their distances to the centroid of one of them.  So the
objective is at least the loss that places add.

Class: MILP.

Source: this package; facility location with lower bounds, as Guha, Meyerson and
Munagala, FOCS 2000.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import I64, Bool, Floats, Labels
from aggopt.core.validation import check_matrix
from aggopt.errors import InfeasibleInputError, JobError, require_known
from aggopt.models._model import Model
from aggopt.models.shared.constraints import amounts, labelled, off_whole

LANGUAGES = ("cvxpy", "pyomo")


@dataclass(frozen=True, eq=False)
class Data:
    """Data of the model; see the module's docstring."""

    c: Floats = field(repr=False)
    s: I64 = field(repr=False)
    a: I64 = field(repr=False)
    k: int
    moving: Bool = field(repr=False)
    cell: I64 | None = field(default=None, repr=False)
    b: Bool | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        p = len(check_matrix(self.c, name="c"))
        shapes = {self.s.shape, self.moving.shape, self.cells.shape, self.a.shape[:1]}
        if shapes != {(p,)} or self.is_present.shape != self.a.shape:
            raise JobError(
                f"There are {p} centroids, and not as many sizes, counts, moves or "
                "cells.",
                fix="pass one of each for each part.",
            )
        totals = np.zeros((int(self.cells.max()) + 1, self.a.shape[1]), np.int64)
        np.add.at(totals, self.cells, self.a)
        some = np.zeros(totals.shape, bool)
        np.logical_or.at(some, self.cells, self.is_present)
        few = int((some & (totals < self.k)).any(axis=0).sum())
        if few:
            raise InfeasibleInputError(
                f"Of {few} kinds of records there are fewer than k = {self.k} in a "
                "cell.",
                fix="hold these records back.",
            )

    @cached_property
    def cells(self) -> I64:
        """Number of each part's cell, 0..c-1 (p,); all 0 if no cells are set."""
        if self.cell is None:
            return np.zeros(len(self.s), np.int64)
        return np.unique(self.cell, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def is_present(self) -> Bool:
        """Whether each part has records of each kind (p, f)."""
        return np.asarray(self.a > 0) if self.b is None else self.b

    @cached_property
    def apart(self) -> Bool:
        """Whether each moving part and each part are in different cells (M, p)."""
        return np.asarray(self.cells[self.movers][:, None] != self.cells[None, :])

    @cached_property
    def movers(self) -> Labels:
        """Numbers of the parts that move (M,)."""
        return np.flatnonzero(self.moving)

    @cached_property
    def distances(self) -> Floats:
        """Cost d_uq of moving each part u to the place of each part q (M, p)."""
        away = self.c[self.movers][:, None, :] - self.c[None, :, :]
        return np.asarray(self.s[self.movers][:, None] * (away**2).sum(axis=2))

    @cached_property
    def staying(self) -> I64:
        """Counts of each kind in the parts that stay, 0 for others (p, f)."""
        return np.where(self.moving[:, None], 0, self.a)


class Point(NamedTuple):
    """A value of every variable: x (M, p), z (p, f)."""

    x: Floats
    z: Floats


def build(data: Data, language: str) -> Any:
    """Return the mixed-integer program in cvxpy or in Pyomo; nothing is solved here."""
    require_known("modelling language", language, LANGUAGES)
    return _in_cvxpy(data) if language == "cvxpy" else _in_pyomo(data)


def _in_cvxpy(data: Data) -> Any:
    """Return the program in cvxpy, unsolved."""
    import cvxpy as cp

    m = data.movers
    p, f = data.a.shape
    x = cp.Variable((len(m), p), name="x", boolean=True)
    z = cp.Variable((p, f), name="z")
    hosts = cp.reshape(cp.diag(x[:, m]), (1, len(m)), order="C")
    some = [
        x[rows, :] <= cp.reshape(z[:, kind], (1, p), order="C")
        for kind in range(f)
        if (rows := np.flatnonzero(data.is_present[m, kind])).size
    ]
    q, kind = np.nonzero(data.is_present & ~data.moving[:, None])
    constraints = labelled(
        one=cp.sum(x, axis=1) == 1,
        open=x[:, m] <= hosts,
        within=[x[data.apart] == 0] if data.apart.any() else [],
        some=some,
        own=[z[q, kind] == 1] if q.size else [],
        enough=x.T @ data.a[m] + data.staying >= data.k * z,
        share=[z >= 0, z <= 1],
    )
    cost = cp.sum(cp.multiply(data.distances, x))
    return cp.Problem(cp.Minimize(cost), constraints)


def _in_pyomo(data: Data) -> Any:
    """Return the program in Pyomo, unsolved."""
    import pyomo.environ as pyo

    problem = pyo.ConcreteModel()
    p, f = data.a.shape
    m = data.movers.tolist()
    d = data.distances.tolist()
    a = data.a.tolist()
    movers = range(len(m))
    places = range(p)
    kinds = range(f)
    x = problem.x = pyo.Var(movers, places, domain=pyo.Binary)
    z = problem.z = pyo.Var(places, kinds)
    staying = data.staying.tolist()
    is_present = data.is_present.tolist()
    problem.one = pyo.Constraint(
        movers, rule=lambda _, u: pyo.quicksum(x[u, q] for q in places) == 1
    )
    problem.open = pyo.Constraint(
        [(u, w) for u in movers for w in movers if u != w],
        rule=lambda _, u, w: x[u, m[w]] <= x[w, m[w]],
    )
    apart = np.argwhere(data.apart).tolist()
    problem.within = pyo.Constraint(apart, rule=lambda _, u, q: x[u, q] == 0)
    problem.some = pyo.Constraint(
        [
            (u, q, g)
            for u in movers
            for q in places
            for g in kinds
            if is_present[m[u]][g]
        ],
        rule=lambda _, u, q, g: x[u, q] <= z[q, g],
    )
    problem.own = pyo.Constraint(
        [
            (q, g)
            for q in places
            for g in kinds
            if is_present[q][g] and not data.moving[q]
        ],
        rule=lambda _, q, g: z[q, g] == 1,
    )
    problem.enough = pyo.Constraint(
        places,
        kinds,
        rule=lambda _, q, g: (
            pyo.quicksum(a[m[u]][g] * x[u, q] for u in movers) + staying[q][g]
            >= data.k * z[q, g]
        ),
    )
    problem.share = pyo.Constraint(
        places, kinds, rule=lambda _, q, g: pyo.inequality(0, z[q, g], 1)
    )
    problem.cost = pyo.Objective(
        expr=pyo.quicksum(d[u][q] * x[u, q] for u in movers for q in places)
    )
    return problem


def objective(data: Data, at: Point) -> float:
    """Return the objective, which is minimised, at the point `at`."""
    return fsum((data.distances * at.x).ravel())


def violations(data: Data, at: Point) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name."""
    m = data.movers
    hosts = at.x[np.arange(len(m)), m]
    some = at.x[:, :, None] - at.z[None, :, :]
    return amounts(
        one=np.abs(at.x.sum(axis=1) - 1),
        open=at.x[:, m] - hosts,
        within=np.where(data.apart, np.abs(at.x), 0.0),
        some=np.where(data.is_present[m][:, None, :], some, 0.0),
        own=np.where(data.is_present & ~data.moving[:, None], np.abs(at.z - 1), 0.0),
        enough=data.k * at.z - at.x.T @ data.a[m] - data.staying,
        share=np.maximum(-at.z, at.z - 1),
        whole=off_whole(at.x, upper=1),
    )


def point(data: Data, places: Labels) -> Point:
    """Return the variables' values if part u moves to the place of part places_u."""
    x = (places[data.movers][:, None] == np.arange(len(places))).astype(float)
    return Point(x, _count_kinds(data, places)[1].astype(float))


def _count_kinds(data: Data, places: Labels) -> tuple[I64, Bool]:
    """Return the count of each kind at each place, and whether it is present (p, f)."""
    counts = np.zeros_like(data.a)
    some = np.zeros_like(data.is_present)
    np.add.at(counts, places, data.a)
    np.logical_or.at(some, places, data.is_present)
    return counts, some


def places(problem: Any, data: Data) -> Labels | None:
    """Return the part to whose place each part moves (p,), of a solved problem."""
    shape = len(data.movers), len(data.s)
    if hasattr(problem, "var_dict"):
        x = problem.var_dict["x"].value
    else:
        values = [problem.x[at].value for at in np.ndindex(*shape)]
        x = np.array(values, dtype=float).reshape(shape)
    if x is None or not np.isfinite(x).all():
        return None
    read = np.arange(len(data.s))
    read[data.movers] = x.argmax(axis=1)
    return read


def merge_by_turns(data: Data) -> Labels | None:
    """Return places (p,) that satisfy all constraints, without a solver, or None.

    The smallest place with too few of a kind is merged with the nearest one that has
    records of this kind.  None if the merging ends at parts that do not move.
    """
    at = np.arange(len(data.s))
    p = len(data.s)
    while True:
        sizes = np.bincount(at, data.s, p)
        counts, some = _count_kinds(data, at)
        few = some & (counts < data.k)
        if not few.any():
            return at
        short = np.flatnonzero(few.any(axis=1))
        one = int(short[sizes[short].argmin()])
        fit = (sizes > 0) & some[:, few[one]].any(axis=1)
        fit &= data.cells == data.cells[one]
        fit[one] = False
        if not data.moving[one]:
            fit &= data.moving
        others = np.flatnonzero(fit)
        if not others.size:
            return None
        away = ((data.c[others] - data.c[one]) ** 2).sum(axis=1)
        other = int(others[away.argmin()])
        host, guest = (other, one) if data.moving[one] else (one, other)
        at[at == guest] = host


def example() -> Data:
    """Return small data of two groups with changed records, and four new records."""
    c = np.array([[0.0], [1.0], [0.2], [0.3], [2.0], [2.1]])
    a = np.array([[0, 2], [0, 3], [1, 0], [1, 0], [1, 0], [1, 0]])
    moving = np.array([True, False, True, True, True, True])
    return Data(c, np.array([3, 3, 1, 1, 1, 1]), a, 3, moving)


def impossible() -> Data:
    """Return infeasible data: a single new record, and k = 2."""
    records = np.array([[0.0], [1.0]])
    return Data(
        records, np.array([3, 1]), np.array([[0], [1]]), 2, np.array([False, True])
    )


MODEL = Model(
    name="wave_groups",
    when="a later wave in the groups of an earlier one, which few changes would open",
    rank=75,
    kind="MILP",
    languages=LANGUAGES,
    data=Data,
    build=build,
    objective=objective,
    violations=violations,
    reader=places,
    example=example,
    impossible=impossible,
    fallback=merge_by_turns,
    point=point,
)
