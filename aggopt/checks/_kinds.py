"""Kind of a thing, and the form of it that its laws take."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from aggopt.checks.law import Ending, Law, Trial, Verdict
from aggopt.core.plugins.loading import Origin, find_origin, list_defined_names
from aggopt.core.registry import Method
from aggopt.errors import JobError, require_known
from aggopt.models.shared.user_model import adopt_model
from aggopt.privacy.model import REQUIREMENTS
from aggopt.repair.registry import REPAIRS

# by the class of a method: its name, its laws, and the form that they take
KINDS = {
    "Model": ("model", "_models", "TriedModel"),
    "Partitioner": ("partitioner", "_partitioners", "TriedPartitioner"),
    "Aggregator": ("aggregator", "_aggregators", "TriedAggregator"),
    "Solver": ("solver", "_solvers", "TriedSolver"),
    "Measure": ("measure", "_measures", "TriedMeasure"),
    "PrivacyModel": ("privacy model", "_privacy_models", "TriedPrivacyModel"),
    "Repair": ("repair", "_repairs", "TriedRepair"),
    # no class of methods, but functions of the user's
    "SolverFunction": (
        "solver function",
        "_solver_functions",
        "TriedSolverFunction",
    ),
}
CLASSES = ", ".join(kind for kind in KINDS if kind != "SolverFunction")
FIRST = {  # arguments that identify the kind of a function
    ("X", "k"): "Partitioner",
    ("X", "labels", "k"): "Repair",
    ("X", "labels"): "Aggregator",
    ("original", "released"): "Measure",
    ("x", "labels"): "Model",
    ("values",): "PrivacyModel",
    ("model", "data"): "SolverFunction",
}
_SHAPES = (
    "(X, k), a partitioner, of (X, labels), an aggregator, of (X, labels, k), a "
    "repair, of (x, labels, sizes), a model, of (values), a privacy model, of "
    "(model, data), a solver, or of (original, released), a measure"
)
HOMES = {  # of the methods of this package, whose functions are known by them
    "Partitioner": ("aggopt.partition", "PARTITIONERS"),
    "Aggregator": ("aggopt.aggregate", "AGGREGATORS"),
    "Measure": ("aggopt.measure", "MEASURES"),
}


def list_subjects(thing: Any) -> Iterator[tuple[str, Any, tuple[Law, ...]]]:
    """Yield the kind of a thing in words, the form that its laws take, and the laws.

    For the module of a file, yield each thing in it.

    Raises
    ------
    JobError
        No laws exist for it; or `excused` is not a dict of reasons.
    """
    for item in list_things(thing) if isinstance(thing, ModuleType) else [thing]:
        yield _make_subject(item)


def list_things(file: ModuleType) -> list[Any]:
    """Return the things of a file that have laws: methods, and functions of a kind.

    A function that belongs to a method of the file is not counted again.

    Raises
    ------
    JobError
        The file has none.
    """
    public = {n: value for n, value in vars(file).items() if not n.startswith("_")}
    methods = [value for value in public.values() if isinstance(value, Method)]
    parts = [getattr(method, "function", None) for method in methods]
    defined = [public[name] for name in list_defined_names(file)]
    functions = [
        f for f in defined if _list_first_arguments(f) in FIRST and f not in parts
    ]
    if not methods and "build" in public:  # the parts of a model, by their names
        path = Path(str(file.__file__))
        return [
            adopt_model(file, Origin(path.name, "models", "file", path)),
            *functions,
        ]
    if not methods and not functions:
        raise JobError(
            f"Nothing in {Path(str(file.__file__)).name} is what laws are of.",
            fix=f"declare a method there; or a function of {_SHAPES}.",
        )
    return [*methods, *functions]


def _make_subject(thing: Any) -> tuple[str, Any, tuple[Law, ...]]:
    """Return the kind of a thing, the subject of its laws, and these laws."""
    function, settings = _unwrap_partial(thing)
    method = function if isinstance(function, Method) else _find_method(function)
    kind = _infer_kind(function) if method is None else _find_class(method)
    if method is None and kind == "Model":
        method = adopt_model(function, find_origin("models", function))
    elif method is None and kind == "Repair":
        method = REPAIRS.adopt(function)
    elif method is None and kind == "PrivacyModel":
        method = REQUIREMENTS.adopt(function)
    noun, home, tried = KINDS[kind]
    laws = import_module(f"aggopt.checks.{home}")
    tried_class = getattr(laws, tried)
    called = _get_name(function) if method is None else method.name
    name = _with_settings(called, settings)
    excused = _list_exceptions(thing, function, method)
    if method is None:
        subject = tried_class(name, function, settings, excused)
    else:
        subject = replace(tried_class.of(method, settings, name), excused=excused)
    return noun, subject, laws.LAWS


def _find_class(method: Method) -> str:
    """Return the class of `KINDS` that a method is of."""
    names = [base.__name__ for base in type(method).__mro__]
    kind = next((name for name in names if name in KINDS), None)
    if kind is None:
        raise JobError(
            f"There are no laws of a {type(method).__name__}.",
            fix=f"pass one of {CLASSES}; or a function of {_SHAPES}.",
        )
    return kind


def _unwrap_partial(thing: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return the function, and the settings that `functools.partial` binds to it."""
    if not isinstance(thing, partial):
        return thing, {}
    if thing.args:
        raise JobError(
            "The partial gives arguments by their places.",
            fix="give settings by name: partial(mdav, ending='nearest').",
        )
    function, settings = _unwrap_partial(thing.func)
    return function, {**settings, **thing.keywords}


def _find_method(function: Any) -> Method | None:
    """Return the method of this package whose function this is."""
    for home, registry in HOMES.values():
        for method in getattr(import_module(home), registry).values():
            if method.function is function:
                kind: Method = method
                return kind
    return None


def _infer_kind(function: Any) -> str:
    """Return the kind of a function, by the names of its first arguments."""
    first = _list_first_arguments(function)
    if first in FIRST:
        return FIRST[first]
    received = f"A {type(function).__name__} is no method and no function"
    if first is not None:
        received = f"{_get_name(function)} takes ({', '.join((*first, '...'))})"
    raise JobError(
        f"{received}: there are no laws of that.",
        fix=f"pass one of {CLASSES}; or a function of {_SHAPES}.",
    )


def _list_first_arguments(function: Any) -> tuple[str, ...] | None:
    """Return the first arguments of a function that identify its kind; else two."""
    if not callable(function) or isinstance(function, type | Method):
        return None
    names = tuple(signature(function).parameters)
    return next((names[:n] for n in (3, 1) if names[:n] in FIRST), names[:2])


def _get_name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _with_settings(name: str, settings: Mapping[str, Any]) -> str:
    """Return the name of a method, with its settings in brackets."""
    shown = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return f"{name}({shown})" if shown else name


def _list_exceptions(*things: Any) -> Mapping[str, str]:
    """Return the declared exceptions, from the first thing that has some."""
    for thing in things:
        declared = getattr(thing, "excused", None)
        if not declared:
            continue
        if not isinstance(declared, Mapping) or not all(
            isinstance(why, str) and why.strip() for why in declared.values()
        ):
            raise JobError(
                "An exception to a law is declared without a reason.",
                fix='declare excused = {"units_do_not_matter": "it is of euros"}.',
            )
        return declared
    return {}


def checks_of(thing: Any) -> Iterator[Trial]:
    """Yield the trial of each law that a thing must keep.

    Parameters
    ----------
    thing
        A model, partitioner, aggregator, solver, measure, privacy model or repair: one
        of this package's objects of these kinds; or a function of your own, identified
        by the names of its first arguments: (X, k) partitions, (X, labels) aggregates,
        (X, labels, k) repairs, (original, released) measures, (model, data) solves,
        (values) is a privacy model.  `functools.partial` of one has settings.  A thing
        may have an attribute `excused`, a dict: by the name of a law that it does not
        keep, the reason.

    Raises
    ------
    JobError
        No laws exist for it; or an exception is declared without a reason.
    UnknownNameError
        An exception is declared to an unknown law.

    Examples
    --------
    >>> from aggopt.partition import mdav
    >>> trial = next(checks_of(mdav))
    >>> trial.law.name
    'groups_have_k_records'
    >>> trial().ending.value
    'kept'
    """
    for kind, subject, laws in list_subjects(thing):
        names = {law.name: law for law in laws}
        for excuse in subject.excused:
            require_known(f"law of {kind}", excuse, names)
        for law in laws:
            yield Trial(law, subject.name, subject.excused.get(law.name), subject)


def report(thing: Any) -> Iterator[Verdict]:
    """Yield how each trial of a thing ended; a broken law stops none of the others.

    Arguments and errors as `checks_of`.

    Examples
    --------
    >>> def halves(X, k):
    ...     return [0 if i < len(X) // 2 else 1 for i in range(len(X))]
    >>> first = next(report(halves))
    >>> print(first)
    halves, groups_have_k_records: broken: n is k: a group of 2 records, k = 4
    """
    for trial in checks_of(thing):
        yield trial.verdict()


def parametrize_with_checks(*things: Any) -> Any:
    """Return the decorator that makes a pytest test of each law of each thing.

    The test takes an argument `check`, and calls it.  A thing that a law does not
    apply to is skipped, and an excused one is an expected failure, both with their
    reasons.

    >>> from aggopt.partition import mdav
    >>> @parametrize_with_checks(mdav)
    ... def test_laws(check):
    ...     check()
    """
    import pytest

    trials = [trial for thing in things for trial in checks_of(thing)]
    tests = [_make_pytest_case(trial) for trial in trials]
    return pytest.mark.parametrize("check", tests, ids=[str(t) for t in trials])


def _make_pytest_case(trial: Trial) -> Callable[[], None]:
    import pytest

    def tried() -> None:
        verdict = trial()
        if verdict.ending is Ending.NOT_TRIED:
            pytest.skip(verdict.why)
        if verdict.ending is Ending.EXCUSED:
            pytest.xfail(verdict.why)

    return tried
