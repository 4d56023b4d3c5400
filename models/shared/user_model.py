"""A user's model in the form of the package's models, named by its origin.

It is a function that declares a program, a `Model`, or a file with either a `MODEL` or
the names that make one.  All of its functions are called through its origin, so that
the text of their errors reaches no message.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from inspect import signature
from types import MappingProxyType, ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin, reload_plugin
from aggopt.core.types import Floats, Labels
from aggopt.errors import JobError, require_known
from aggopt.models._model import Model
from aggopt.models.shared.shift_data import make_small_example
from aggopt.solvers.registry import LANGUAGES
from aggopt.solvers.solve_problem import find_problem_class
from aggopt.solvers.solver import CLASSES

ABOUT = (  # arguments and result of a function
    "write a function of (x, labels, sizes, *, its settings) that returns "
    "cvxpy.Problem(cvxpy.Minimize(...), [...]), in which c = "
    'cvxpy.Variable(len(sizes), name="c").'
)


@dataclass(frozen=True, eq=False)
class DeclaredData:
    """One standardised attribute (n,), its groups (n,), and settings."""

    x: Floats = field(repr=False)
    labels: Labels = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def sizes(self) -> Floats:
        """Number of records in each group, n_j (m,)."""
        return np.bincount(self.labels).astype(np.float64)


class DeclaredPoint(NamedTuple):
    """Centroids (m,), with the problem's objective and violations at its variables."""

    c: Floats
    cost: float
    missed: Mapping[str, float]


@dataclass(frozen=True)
class Declaration(UserFunction):
    """A function (x, labels, sizes, *, settings) to a problem of cvxpy."""

    data: ClassVar[tuple[str, ...]] = ("x", "labels", "sizes")
    offered: ClassVar[tuple[str, ...]] = ()

    def make_data(self, x: Floats, labels: Labels, /, **settings: Any) -> DeclaredData:
        """Return the arguments of the user's function as data of its model."""
        return DeclaredData(x, labels, settings)

    def build(
        self, data: DeclaredData, language: str, *, start: Floats | None = None
    ) -> Any:
        """Return the problem of the user's function, its centroids set to `start`.

        Raises
        ------
        JobError
            The result is not a problem of cvxpy that minimises, or its variable "c"
            does not have this shape.
        """
        problem = self.run(
            data.x.copy(), data.labels.copy(), data.sizes.copy(), **data.settings
        )
        self._require_centroids(problem, len(data.sizes))
        if start is not None:
            problem.var_dict["c"].save_value(start)
        return problem

    def _require_centroids(self, problem: Any, m: int) -> None:
        """Raise unless the problem minimises, and has a variable "c" of shape (m,)."""
        import cvxpy as cp

        name = self.origin.name
        if type(problem) is not cp.Problem:
            received = f"a {type(problem).__name__}, and no cvxpy.Problem"
            raise JobError(f"{name} returns {received}.", fix=ABOUT)
        if not isinstance(problem.objective, cp.Minimize):
            raise JobError(f"{name} maximises.", fix="minimise its negative.")
        c = problem.var_dict.get("c")
        if c is None or c.shape != (m,):
            received = "no variable" if c is None else f"a variable of shape {c.shape}"
            raise JobError(
                f'{name} has {received} called "c", for {m} groups.', fix=ABOUT
            )
        if c.is_complex():
            raise JobError(f"{name} has complex centroids.", fix=ABOUT)

    def point(self, data: DeclaredData, reading: Any) -> DeclaredPoint:
        """Return the best point with these centroids (m,); a point is unchanged."""
        if isinstance(reading, DeclaredPoint):
            return reading
        c = np.asarray(reading, np.float64)
        problem = self.build(data, "cvxpy")
        fill_other_variables(problem, c)
        best_point = self.origin.run(read_point, problem, data)
        return best_point or DeclaredPoint(c, np.nan, {"variables": np.inf})


def read_point(problem: Any, data: DeclaredData) -> DeclaredPoint | None:
    """Return the solution of a solved problem as a point; None without one."""
    c = problem.var_dict["c"].value
    cost = problem.objective.value
    if c is None or cost is None or any(v.value is None for v in problem.variables()):
        return None
    return DeclaredPoint(
        np.asarray(c, np.float64), float(cost), read_violations(problem)
    )


def evaluate_problem(data: DeclaredData, at: DeclaredPoint) -> float:
    """Return the objective of the user's problem at the point `at`."""
    return at.cost


def measure_violations(data: DeclaredData, at: DeclaredPoint) -> dict[str, float]:
    """Return how far the point `at` violates each constraint, by its name."""
    return dict(at.missed)


def read_violations(problem: Any) -> dict[str, float]:
    """Return the violation of each constraint of a problem of cvxpy, by its name.

    A declaration of a variable, such as nonneg, is a constraint of its name.
    """
    violations: dict[str, float] = {}
    for place, row in enumerate(problem.constraints, 1):
        name = row.label or f"constraint {place}"
        worst = float(np.max(row.violation(), initial=0.0))
        violations[name] = max(worst, violations.get(name, 0.0))
    for variable in problem.variables():
        away = np.abs(variable.value - variable.project(variable.value))
        violations[f"variable {variable.name()}"] = float(np.max(away, initial=0.0))
    return violations


def fill_other_variables(problem: Any, centroids: Floats) -> None:
    """Set centroids (m,), and all other variables to their best values with them."""
    import cvxpy as cp

    from aggopt.solvers import solve

    c = problem.var_dict["c"]
    if len(problem.variables()) > 1:
        fixed = [*problem.constraints, c == centroids]
        solve(cp.Problem(problem.objective, fixed))
    c.save_value(centroids)


PARTS = MappingProxyType(  # names in a file, and the attributes of a model
    {
        "KIND": "kind",
        "LANGUAGES": "languages",
        "Data": "data",
        "build": "build",
        "objective": "objective",
        "violations": "violations",
        "centroids": "reader",
        "point": "point",
    }
)
OPTIONAL = ("fallback", "example", "impossible", "multipliers", "proven")
CALLED = frozenset({*PARTS.values(), *OPTIONAL}) - {"kind", "languages"}
# keys of [aggregation], and arguments of `by_model`, that are not a model's settings
TAKEN = frozenset(
    {"method", "model", "categories", "solver", "start", "time_limit", "options"}
    | {"progress"}
)


@dataclass(frozen=True)
class OwnData(UserFunction):
    """The class of a model's data: x and labels, and settings by name."""

    data: ClassVar[tuple[str, ...]] = ("x", "labels")
    offered: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnModel(Model):
    """A model of the user's.

    Attributes
    ----------
    takes
        The function whose arguments are the model's settings.
    thing
        The Python object that it was made from, if there was one.
    """

    origin: Origin
    takes: UserFunction
    thing: object = field(default=None, repr=False)

    @property
    def declared(self) -> bool:
        """Whether the model is a function, whose problem evaluates the answers."""
        return isinstance(self.takes, Declaration)

    @property
    def judge(self) -> str:
        """Text on the user's code that evaluates the answers."""
        return (
            f"its own declaration, {self.origin}" if self.declared else str(self.origin)
        )

    def find_kind(self, settings: Mapping[str, Any]) -> str:
        """Return the problem's class, of a function by a trial on six records.

        Raises
        ------
        JobError
            The function fails, or does not declare a program of a known class.
        """
        if self.kind:
            return self.kind
        x, labels, _, _ = make_small_example()
        data = self.data(x, labels // 2 + labels % 2, **settings)
        return find_problem_class(self.build(data, "cvxpy"))

    def __eq__(self, other: object) -> bool:
        """Whether both models are from equal bytes, or one object."""
        if not isinstance(other, OwnModel):
            return NotImplemented
        return (self.origin, self.thing) == (other.origin, other.thing)

    def __hash__(self) -> int:
        return hash(self.origin)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by origin: code is sent to another process as its path and hash."""
        return _load_again, (self.origin, self.thing)


def _load_again(origin: Origin, thing: object) -> OwnModel:
    """Return a pickled model, loaded from its file or object."""
    loaded = thing if origin.where == "object" else reload_plugin(origin)
    return adopt_model(loaded, origin)


def adopt_model(thing: object, origin: Origin) -> OwnModel:
    """Return a user's function, `Model` or module as a model.

    Raises
    ------
    JobError
        The object is none of these, or lacks parts of a model; the error lists them.
    """
    original = thing if origin.where == "object" else None
    if isinstance(thing, ModuleType | Model):
        return _make_from_parts(_read_parts(thing, origin), origin, original)
    if callable(thing):
        return _make_from_function(thing, origin, original)
    raise JobError(
        f"{origin.name} is a {type(thing).__name__}, and no model.",
        fix=f"name a file with a model; or {ABOUT}",
    )


def _make_from_function(
    function: Callable[..., Any], origin: Origin, preserved: object
) -> OwnModel:
    """Return the model of a user's function that declares a problem of cvxpy."""
    declaration = Declaration.of(function, origin, TAKEN)
    return OwnModel(
        name=origin.name,
        when="a program of your own",
        kind="",
        languages=("cvxpy",),
        data=declaration.make_data,
        build=declaration.build,
        objective=evaluate_problem,
        violations=measure_violations,
        reader=partial(origin.run, read_point),
        point=declaration.point,
        origin=origin,
        takes=declaration,
        thing=preserved,
    )


def _make_from_parts(
    parts: Mapping[str, Any], origin: Origin, preserved: object
) -> OwnModel:
    """Return the model of a user's file; errors of its functions name the file."""
    _require_parts(parts, origin)
    called = {n: v for n, v in parts.items() if n in CALLED and v is not None}
    guarded: dict[str, Any] = {n: partial(origin.run, v) for n, v in called.items()}
    guarded["build"] = partial(_build_problem, origin, parts["build"])
    guarded["data"] = partial(_make_data, origin, parts["data"])
    guarded["objective"] = partial(origin.run, _call_for_number, parts["objective"])
    guarded["violations"] = partial(origin.run, _call_for_numbers, parts["violations"])
    if "proven" in called:
        guarded["proven"] = partial(origin.run, _call_for_number, parts["proven"])
    return OwnModel(
        name=origin.name,
        when="a model of your own",
        kind=parts["kind"],
        languages=tuple(parts["languages"]),
        origin=origin,
        takes=OwnData.of(parts["data"], origin, TAKEN),
        thing=preserved,
        **guarded,
    )


def _build_problem(
    origin: Origin,
    build: Callable[..., Any],
    data: Any,
    language: str,
    *,
    start: Any = None,
) -> Any:
    """Return the problem that a user's file builds, from `start` if it accepts one."""
    begin = (
        {"start": start}
        if start is not None and "start" in _list_arguments(build)
        else {}
    )
    return origin.run(build, data, language, **begin)


def _list_arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's arguments."""
    return tuple(signature(function).parameters)


def _make_data(
    origin: Origin,
    kind: Callable[..., Any],
    x: Floats,
    labels: Labels,
    /,
    **settings: Any,
) -> Any:
    """Return an instance of the user's data class, from copies of x and labels (n,).

    Raises
    ------
    JobError
        The user's class fails, or changes x or labels: another table would be judged.
    """
    data = origin.run(kind, x.copy(), labels.copy(), **settings)
    if not origin.run(_is_unchanged, data, x, labels):
        raise JobError(
            f"Data of {origin.name} does not keep x and labels as they are given.",
            fix="keep both under these names, and derived values under others.",
        )
    return data


def _is_unchanged(data: Any, x: Floats, labels: Labels) -> bool:
    """Whether the data contain x and labels unchanged."""
    return bool(np.array_equal(data.x, x) and np.array_equal(data.labels, labels))


def _call_for_number(function: Callable[..., Any], data: Any, at: Any) -> float:
    """Return the result of a user's function as a float."""
    return float(function(data, at))


def _call_for_numbers(
    function: Callable[..., Any], data: Any, at: Any
) -> dict[str, float]:
    """Return the result of a user's function as floats by name."""
    return {str(name): float(v) for name, v in function(data, at).items()}


def _read_parts(thing: ModuleType | Model, origin: Origin) -> dict[str, Any]:
    """Return the parts of a user's model by field; raise if some are missing."""
    model = thing if isinstance(thing, Model) else vars(thing).get("MODEL")
    if isinstance(model, Model):
        return {f.name: getattr(model, f.name) for f in fields(Model)}
    names = vars(thing)
    lacking = [name for name in PARTS if name not in names]
    if lacking:
        raise JobError(
            f"{origin.name} lacks {', '.join(lacking)}, which a model has.",
            fix="define what is missing; or name a function of the file that declares "
            f"a program, {origin.name}:FUNCTION.",
        )
    parts = {field: names[name] for name, field in PARTS.items()}
    return parts | {name: names.get(name) for name in OPTIONAL}


def _require_parts(parts: Mapping[str, Any], origin: Origin) -> None:
    """Raise if parts of a user's model have invalid types or values."""
    require_known(f"class of programs ({origin.name})", parts["kind"], CLASSES)
    languages = parts["languages"]
    if not isinstance(languages, tuple | list) or not languages:
        raise JobError(
            f"The languages of {origin.name} are no list of names.",
            fix='write LANGUAGES = ("cvxpy",), ("pyomo",) or ("cvxpy", "pyomo").',
        )
    for language in languages:
        require_known(f"modelling language ({origin.name})", language, LANGUAGES)
    wrong = [n for n in sorted(CALLED) if not _is_called(parts.get(n), n)]
    if wrong:
        raise JobError(
            f"{', '.join(wrong)} of {origin.name} cannot be called.",
            fix="make each of them a function, and Data a class.",
        )


def _is_called(part: object, name: str) -> bool:
    """Whether a part is callable, or is optional and missing."""
    return callable(part) or (part is None and name in OPTIONAL)
