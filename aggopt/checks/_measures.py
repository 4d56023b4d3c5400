"""Laws of a measure: f(original, released) to a figure, or several."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from math import inf, isclose, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.checks.law import list_laws, require
from aggopt.core.types import F64
from aggopt.measure import Measure

NOISES = (0.0, 0.01, 1.0, 1e6, 1e90)  # of a release, in those of an ordinary one


@dataclass(frozen=True, eq=False)
class TriedMeasure:
    """A measure with its settings, in the form that laws call.

    Attributes
    ----------
    function, settings
        The function, and the settings of each call.
    highest
        Its declared maximum.
    needs
        "both" tables, or one of "original" and "released".
    public
        Whether anyone may call it; a user's own function receives arrays.
    """

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, Any]
    excused: Mapping[str, str]
    highest: float = inf
    needs: str = "both"
    public: bool = False

    @classmethod
    def of(cls, method: Measure, settings: Mapping[str, Any], name: str) -> Any:
        """Return a method as its laws see it."""
        fields_of_method = method.function, settings, method.excused
        return cls(
            name, *fields_of_method, method.highest, method.needs, method.origin is None
        )

    def __call__(self, original: Any, released: Any) -> dict[str, float]:
        """Return the figures that it finds, by their names."""
        tables = {"original": (original,), "released": (released,)}
        arguments = tables.get(self.needs, (original, released))
        return list_figures(self.function(*arguments, **self.settings))


def list_figures(result: Any) -> dict[str, float]:
    """Return the figures of a measure's result, by name, without counts.

    A number has the name "value".  An array has its largest entry and its sum, a
    dataclass its floats.

    >>> list_figures(0.5)
    {'value': 0.5}
    """
    if isinstance(result, np.ndarray):
        return {"largest": float(result.max()), "sum": float(result.sum())}
    if is_dataclass(result):
        by_name = (
            (name, getattr(result, name)) for name in result.__dataclass_fields__
        )
        return {name: float(v) for name, v in by_name if isinstance(v, float)}
    require(np.ndim(result) == 0, f"it returns a {type(result).__name__}, no number")
    try:
        return {"value": float(result)}
    except (TypeError, ValueError):
        require(False, f"it returns a {type(result).__name__}, no number")
        raise


def stays_in_its_range(f: TriedMeasure) -> None:
    """It is a number from 0 to its declared largest, however noisy the release."""
    X, Y = make_tables()
    mean = np.broadcast_to(X.mean(axis=0), X.shape).copy()
    releases = {f"noise {s:g}": X + s * (Y - X) for s in NOISES} | {"one group": mean}
    for what, released in releases.items():
        for name, value in f(X, released).items():
            require(isfinite(value), f"{what}: {name} is {value}")
            highest = inf if name == "sum" else f.highest
            within = 0 <= value <= highest
            require(within, f"{what}: {name} is {value:.6g}, not in 0..{highest:g}")


def units_do_not_matter(f: TriedMeasure) -> None:
    """It does not depend on the units and origins of both tables."""
    X, Y = make_tables()
    unit = np.array([1e-12, 1e12, 3.0, 0.7])
    origin = np.array([0.0, -5e12, 7.0, 1e3])
    for what, release in (("noise", Y), ("groups", group_records(X))):
        moved = f(X * unit + origin, release * unit + origin)
        _require_same(f(X, release), moved, f"{what}, other units", 1e-6, 1e-12)


def signs_do_not_matter(f: TriedMeasure) -> None:
    """It does not depend on the sign of an attribute in both tables."""
    X, Y = make_tables()
    sign = np.array([1.0, -1.0, 1.0, -1.0])
    for what, release in (("noise", Y), ("groups", group_records(X))):
        _require_same(f(X, release), f(X * sign, release * sign), what, 1e-9)


def order_of_records_does_not_matter(f: TriedMeasure) -> None:
    """It does not depend on the order of both tables, not even if all is tied."""
    rng = np.random.default_rng(8)
    pairs = {
        "noise": make_tables(),
        "groups": (make_tables()[0], group_records(make_tables()[0])),
    }
    for entries in (2, 3):
        X, Y = rng.integers(0, entries, (2, 30, 2)).astype(float)
        pairs[f"{entries} different entries"] = X, Y
    for what, (X, Y) in pairs.items():
        p = rng.permutation(len(X))
        _require_same(f(X, Y), f(X[p], Y[p]), what, 1e-12, 1e-12)


def order_of_attributes_does_not_matter(f: TriedMeasure) -> None:
    """It does not depend on the order of attributes."""
    X, Y = make_tables()
    p = [2, 0, 3, 1]
    for what, release in (("noise", Y), ("groups", group_records(X))):
        _require_same(f(X, release), f(X[:, p], release[:, p]), what, 1e-6, 1e-12)


def constant_attribute_weighs_nothing(f: TriedMeasure) -> None:
    """An added attribute with one value changes nothing, whatever is released of it."""
    X, Y = make_tables()
    flat = np.full((len(X), 1), 5.0)
    for released in (5.0, 6.0):
        wide = np.hstack([flat, X]), np.hstack([np.full_like(flat, released), Y])
        _require_same(f(X, Y), f(*wide), f"released as {released:g}")


def container_does_not_matter(f: TriedMeasure) -> None:
    """Whole numbers, lists and any memory layout give what floats give."""
    X = np.random.default_rng(2).integers(0, 50, (12, 3))
    Y = X + 1
    expected = f(X.astype(float), Y.astype(float))
    _require_same(expected, f(X, Y), "whole numbers")
    if f.public:
        _require_same(expected, f(X.tolist(), Y.astype(float)), "a list")
    _require_same(expected, f(np.asfortranarray(X, float), Y), "columns side by side")


def tables_are_left_alone(f: TriedMeasure) -> None:
    """Both tables may be read-only, and are not changed."""
    X, Y = make_tables()
    before = X.copy(), Y.copy()
    f(X, Y)
    same = np.array_equal((X, Y), before)
    require(same, "the tables are others afterwards")
    X.flags.writeable = Y.flags.writeable = False
    f(X, Y)


def repeats_itself(f: TriedMeasure) -> None:
    """Equal tables give equal figures, whatever NumPy's global state."""
    X, Y = make_tables()
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    one = f(X, Y)
    np.random.seed(2)  # noqa: NPY002
    other = f(X, Y)
    np.random.set_state(before)  # noqa: NPY002
    _require_same(one, other, "two calls")


def make_tables() -> tuple[F64, F64]:
    """Return correlated, skewed records without ties, and a noisy release of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4))
    X += rng.exponential(size=(40, 4))
    return X, X + 0.15 * rng.normal(size=X.shape) * X.std(axis=0)


def group_records(X: npt.NDArray[np.float64], k: int = 4) -> F64:
    """Return the means of runs of k records, a release full of ties."""
    return np.repeat(X.reshape(-1, k, X.shape[1]).mean(axis=1), k, axis=0)


def _require_same(
    one: Mapping[str, float],
    other: Mapping[str, float],
    what: str,
    rel: float = 0.0,
    smallest: float = 0.0,
) -> None:
    for name, value in one.items():
        same = isclose(value, other[name], rel_tol=rel, abs_tol=smallest)
        require(same, f"{what}: {name} is {value:.9g}, then {other[name]:.9g}")


LAWS = list_laws(
    stays_in_its_range,
    units_do_not_matter,
    signs_do_not_matter,
    order_of_records_does_not_matter,
    order_of_attributes_does_not_matter,
    constant_attribute_weighs_nothing,
    container_does_not_matter,
    tables_are_left_alone,
    repeats_itself,
)
