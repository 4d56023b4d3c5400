"""Data of the models of wishes of all attributes at once."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import Bool, Floats
from aggopt.errors import InfeasibleInputError, naming
from aggopt.models._model import Model
from aggopt.models.shared.joint import (
    Records,
    keep_moments_in_pyomo,
    kept_in_cvxpy,
    measure_moment_errors,
)
from aggopt.models.shared.value_bounds import (
    Bound,
    is_bounded,
    keep_within_in_pyomo,
    list_bound_rows,
    measure_excess,
)

Interval = tuple[float, float]
Demanded = Mapping[int, Mapping[int, Sequence[Interval]]]  # by group, by attribute

LOOKED_AT = 10_000  # choices in all: about a second
EACH = 256  # choices of one group: demands of further attributes are ignored
AGREE = 1e-9  # standard deviations by which demands may miss each other
FARTHER = 1e-6  # relative: an excess length that rounding explains


def require_room(data: Records, demanded: Demanded) -> None:
    """Raise an InfeasibleInputError if hard wishes in a group break the covariance.

    Raises
    ------
    InfeasibleInputError
        A group has such demands; the message lists the groups' numbers.
    """
    n = float(data.sizes.sum())
    R = data.root / np.sqrt(n)
    left = LOOKED_AT
    without = []
    for j, of_group in demanded.items():
        room = (n / data.sizes[j] - 1) * (1 + FARTHER)
        fits = False
        for box in _iter_boxes(of_group):
            left -= 1
            fits = bound_norm(R, box) <= room
            if fits or left < 0:
                break
        if left < 0:
            break
        if not fits:
            without.append(j)
    if without:
        shown = ", ".join(map(str, without[:10]))
        raise InfeasibleInputError(
            f"The demands (importance 1) within {plural(len(without), 'group')} can be "
            f"met by no values that keep the covariance; the first are groups {shown}.",
            fix="lower the importance of some of their records below 1, ask for less, "
            'or set keep = "variance".',
        )


def _iter_boxes(
    of_group: Mapping[int, Sequence[Interval]],
) -> Iterator[dict[int, Interval]]:
    """Yield combinations of one interval per attribute, those nearest to 0 first."""
    few: dict[int, list[Interval]] = {}
    count = 1
    for a, intervals in of_group.items():
        count *= len(intervals)
        if count <= EACH:
            few[a] = sorted(
                intervals, key=lambda interval: max(interval[0], -interval[1], 0.0)
            )
    for choice in product(*few.values()):
        yield dict(zip(few, choice, strict=True))


def bound_norm(R: Floats, box: Mapping[int, Interval]) -> float:
    """Return a lower bound on |p|^2 for all p with R'p in the box; inf without any."""
    from scipy.optimize import nnls

    # a row that always holds, so that G is not empty
    G = [np.zeros(len(R))]
    h = [-1.0]
    for a, (low, high) in box.items():
        for sign, end in ((1.0, low), (-1.0, high)):
            if np.isfinite(end):
                G.append(sign * R[:, a])
                h.append(sign * end - AGREE * (1 + abs(end)))
    rows = np.vstack([np.transpose(G), h])
    target = np.zeros(len(rows))
    target[-1] = 1.0
    x, _ = nnls(rows, target)
    reached = rows @ x
    length = float(np.sum(reached[:-1] ** 2))
    if reached[-1] <= 0:
        return 0.0
    return float(reached[-1] ** 2 / length) if length > 0 else np.inf


@dataclass(frozen=True, eq=False)
class JointWishes(Records, ABC):
    """Standardised attributes, their groups, and each record's wish for each attribute.

    Attributes
    ----------
    delta : (n, d)
        Required distance between a record's value and its published one, >= 0.
    importance : (n, d)
        Importance of the record's wish, in [0, 1].
    lower, upper : (d,)
        Bounds of published values, standardised as Z is, or one for all attributes;
        infinite without a bound.
    alone
        The model of a single attribute.
    """

    alone: ClassVar[Model]
    delta: Floats = field(repr=False)
    importance: Floats = field(repr=False)
    lower: Bound = field(default=-np.inf, kw_only=True, repr=False)
    upper: Bound = field(default=np.inf, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.apart  # each refuses what makes no sense

    @property
    @abstractmethod
    def weight(self) -> float:
        """Number that weighs wishes against shifts: alpha, or the price of shifts."""

    @property
    @abstractmethod
    def wished(self) -> bool:
        """Whether any record has a wish; otherwise only shifts have a cost."""

    @property
    def bounded(self) -> bool:
        """Whether published values of any attribute have a bound."""
        return is_bounded(self.lower, self.upper)

    @cached_property
    def hard(self) -> Bool:
        """Whether each wish has importance 1 (n, d)."""
        return np.asarray(self.importance == 1)

    @cached_property
    def apart(self) -> tuple[Any, ...]:
        """The data of each attribute by itself, which keeps its own variance only."""
        return tuple(map(self._build_alone, range(self.Z.shape[1])))

    def _build_alone(self, a: int) -> Any:
        """Return the data of attribute a by itself."""
        tables = (self.Z, self.delta, self.importance)
        x, delta, importance = (np.ascontiguousarray(table[:, a]) for table in tables)
        d = self.Z.shape[1]
        lower, upper = (
            float(np.broadcast_to(end, d)[a]) for end in (self.lower, self.upper)
        )
        with naming(f"Attribute {a} of those that vary"):
            bounds = {"lower": lower, "upper": upper, "weights": self.weights}
            return self.alone.data(
                x, self.labels, delta, importance, self.weight, **bounds
            )


@dataclass(frozen=True, eq=False)
class SquaredWishes(JointWishes):
    """Wishes whose misses are squared, or not allowed.

    Attributes
    ----------
    alpha
        Weight of the distances against the shifts, in [0, 1].
    """

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_room(self, self.demanded())

    @property
    def weight(self) -> float:
        """Weight alpha of the wishes against the shifts."""
        return self.alpha

    @property
    def wished(self) -> bool:
        """Whether any record has a wish; otherwise only shifts have a cost."""
        return self.alpha > 0 or bool(self.hard.any())

    @abstractmethod
    def demanded(self) -> Demanded:
        """Return the intervals that hard wishes allow, by group and attribute."""


def rows_in_cvxpy(data: JointWishes, c: Any) -> dict[str, Any]:
    """Return the constraints on moments and bounds of c (m, d), by name, for cvxpy."""
    bounds = list_bound_rows(c, data.lower, data.upper)
    return {**kept_in_cvxpy(data, c), **bounds}


def add_rows_in_pyomo(data: JointWishes, problem: Any, c: list[list[Any]]) -> None:
    """Add the constraints on moments and bounds of c (m, d) to a problem of Pyomo."""
    keep_moments_in_pyomo(data, problem, c)
    keep_within_in_pyomo(problem, c, data.lower, data.upper)


def measure_joint_errors(data: JointWishes, c: Floats) -> dict[str, float]:
    """Return the errors of centroids c (m, d) in moments and bounds, by constraint."""
    return {
        **measure_moment_errors(data, c),
        **measure_excess(c, data.lower, data.upper),
    }
