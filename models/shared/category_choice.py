"""Shared parts of models whose groups each publish one category of an attribute.

Groups with equal losses and equal weights are symmetric: one whole number counts the
groups that publish a category.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from aggopt.core.types import I64, Floats, Labels
from aggopt.errors import InfeasibleInputError, JobError, TableError

WHOLE = 1e-3  # by how much a solver's whole number may miss one


@dataclass(frozen=True, eq=False)
class Choice:
    """Losses, weights and counts, as the models that choose categories state them."""

    loss: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    counts: Floats = field(repr=False)

    def __post_init__(self) -> None:
        m, categories = np.shape(self.loss) if np.ndim(self.loss) == 2 else (0, 0)
        rows = len(self.counts)
        require_table("loss", self.loss, (m, categories))
        require_table("weights", self.weights, (rows, m))
        require_table("counts", self.counts, (rows, categories))
        if not np.isfinite(self.loss).any(axis=1).all():
            raise InfeasibleInputError(
                "Some group may publish no category: all its losses are infinite.",
                fix="give each group a finite loss for one category at least.",
            )

    @property
    def key(self) -> Floats:
        """Rows of all data of each group (m, ...); symmetric groups have equal rows."""
        return np.hstack([self.loss, self.weights.T])

    @cached_property
    def classes(self) -> tuple[Labels, Labels, I64]:
        """Classes of symmetric groups: first group (T,), class by group (m,), sizes."""
        _, first, class_of, number = np.unique(
            self.key,
            axis=0,
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        return first, class_of.ravel(), number

    @cached_property
    def pairs(self) -> tuple[Labels, Labels]:
        """Class t and category c of each variable y, two arrays (q,)."""
        t, c = np.nonzero(np.isfinite(self.loss[self.classes[0]]))
        return t, c

    @cached_property
    def costs(self) -> Floats:
        """Cost D_tc of each pair of class and category (q,)."""
        return self.of_pairs(self.loss)

    def of_pairs(self, entries: Floats) -> Floats:
        """Return each pair's entry (q,) of a table by group and category (m, C)."""
        t, c = self.pairs
        return np.asarray(entries[self.classes[0]][t, c])

    @cached_property
    def each(self) -> Any:
        """Incidence of the pairs in classes, a sparse matrix (T, q)."""
        t, _ = self.pairs
        return _build_sparse(
            np.ones(len(t)), t, np.arange(len(t)), len(self.classes[2])
        )

    @cached_property
    def table(self) -> Any:
        """Sparse matrix W (R C, q): its product with y are the counts."""
        t, c = self.pairs
        rows, categories = self.counts.shape
        row = np.arange(rows)[:, None] * categories + c
        column = np.broadcast_to(np.arange(len(c)), row.shape)
        entries = self.weights[:, self.classes[0]][:, t]
        return _build_sparse(
            entries.ravel(), row.ravel(), column.ravel(), self.counts.size
        )


def _build_sparse(entries: Floats, row: Labels, column: Labels, height: int) -> Any:
    """Return a sparse matrix with these entries, `height` rows, all columns."""
    from scipy.sparse import csr_array

    return csr_array((entries, (row, column)), (height, int(column[-1]) + 1))


def require_table(name: str, array: Floats, shape: tuple[int, int]) -> None:
    """Raise a TableError unless an array has this shape and no negative entries."""
    if np.shape(array) != shape or 0 in shape:
        raise TableError(
            f"{name} has shape {np.shape(array)}.",
            fix="pass loss (m, C), weights (R, m), counts and slack (R, C).",
        )
    if not np.min(array) >= 0 or (name != "loss" and not np.isfinite(array).all()):
        raise TableError(
            f"{name} has entries that are negative or not finite.",
            fix="pass numbers from 0 up; only a loss may be infinite.",
        )


def count_released(data: Choice, y: Floats) -> Floats:
    """Return the released counts (R, C) of a choice y (q,)."""
    return np.asarray(data.table @ y).reshape(data.counts.shape)


def count_choices(data: Choice, categories: Labels) -> Floats:
    """Return the variables y (q,) if each group has its category (m,).

    Raises
    ------
    JobError
        A group may not publish its category.
    """
    first, class_of, _ = data.classes
    t, c = data.pairs
    place = np.full((len(first), data.loss.shape[1]), -1)
    place[t, c] = np.arange(len(t))
    taken = place[class_of, categories]
    if taken.min() < 0:
        raise JobError(
            "A group has a category that it may not publish.",
            fix="choose one of finite loss for each group.",
        )
    return np.bincount(taken, minlength=len(t)).astype(np.float64)


def read_choice(data: Choice, y: Floats) -> Labels | None:
    """Return each group's category (m,) from y (q,); None if y is no choice.

    Among symmetric groups, the first ones have the first categories.
    """
    _, class_of, number = data.classes
    _, c = data.pairs
    counts = np.rint(y).astype(np.intp)
    away = np.abs(y - counts) > WHOLE
    if away.any() or counts.min() < 0 or (data.each @ counts != number).any():
        return None
    categories = np.empty(len(class_of), np.intp)
    categories[np.argsort(class_of, kind="stable")] = np.repeat(c, counts)
    return categories


def read_shares(problem: Any) -> Floats | None:
    """Return the variables y (q,) of a solved problem; None without a solution."""
    if hasattr(problem, "var_dict"):
        values = problem.var_dict["y"].value
        return None if values is None else np.asarray(values, np.float64)
    y = np.array([problem.y[i].value for i in problem.y], dtype=np.float64)
    return None if np.isnan(y).any() else y


def categories(problem: Any, data: Choice) -> Labels | None:
    """Return each group's category (m,) of a solved problem, or None.

    None if the solver found no choice of one category for each.
    """
    y = read_shares(problem)
    return None if y is None else read_choice(data, y)


def keep_in_cvxpy(
    data: Choice, y: Any, slack: Floats, over: Any = 0.0, under: Any = 0.0
) -> dict[str, Any]:
    """Return the shared constraints on y and the counts, by name, for cvxpy."""
    one = data.each @ y == data.classes[2]
    above = data.table @ y - over <= (data.counts + slack).ravel()
    below = data.table @ y + under >= (data.counts - slack).ravel()
    return {"one": one, "above": above, "below": below}


def keep_counts_in_pyomo(
    problem: Any, data: Choice, slack: Floats, over: Any = None, under: Any = None
) -> None:
    """Add the shared constraints on y and the counts to a problem of Pyomo."""
    import pyomo.environ as pyo

    y = problem.y
    number = data.classes[2].tolist()
    high = (data.counts + slack).ravel().tolist()
    low = (data.counts - slack).ravel().tolist()

    def above(_: Any, cell: int) -> Any:
        more = over[cell] if over else 0
        return total(data.table, cell, y) - more <= high[cell]

    def below(_: Any, cell: int) -> Any:
        less = under[cell] if under else 0
        return total(data.table, cell, y) + less >= low[cell]

    problem.one = pyo.Constraint(
        range(len(number)), rule=lambda _, t: total(data.each, t, y) == number[t]
    )
    problem.above = pyo.Constraint(range(data.counts.size), rule=above)
    problem.below = pyo.Constraint(range(data.counts.size), rule=below)


def total(matrix: Any, row: int, y: Any) -> Any:
    """Return row `row` of a sparse matrix times the variables y, for Pyomo."""
    import pyomo.environ as pyo

    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    terms = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
    # a row is a constraint, even if no group may publish its category
    return 0 * y[0] + pyo.quicksum(weight * y[i] for i, weight in terms)
