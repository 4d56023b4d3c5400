"""State that a solve leaves in a problem of Pyomo: values of variables, suffixes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyomo.environ as pyo


class PyomoState(NamedTuple):
    """Values by the variable's place, suffixes by name and the component's place."""

    values: list[tuple[Any, bool]]
    suffixes: dict[str, tuple[Any, list[tuple[int, Any]]]]


def _components(problem: Any) -> Iterator[Any]:
    """Yield the components that a suffix may hold values for, in a fixed order."""
    for kind in (pyo.Var, pyo.Constraint, pyo.Objective):
        yield from problem.model().component_data_objects(kind, descend_into=True)


def _variables(problem: Any) -> Iterator[Any]:
    yield from problem.model().component_data_objects(pyo.Var, descend_into=True)


def state_of(problem: Any) -> PyomoState:
    """Return the state that a solve left in a problem."""
    place = {id(each): i for i, each in enumerate(_components(problem))}
    suffixes = {
        suffix.local_name: (
            suffix.direction,
            [(place[id(c)], v) for c, v in suffix.items() if id(c) in place],
        )
        for suffix in problem.component_objects(pyo.Suffix, descend_into=False)
        if suffix.import_enabled()
    }
    return PyomoState([(v.value, v.stale) for v in _variables(problem)], suffixes)


def restore(problem: Any, state: PyomoState) -> None:
    """Store the state of a solve in another process in a problem."""
    for variable, (value, stale) in zip(_variables(problem), state.values, strict=True):
        variable.set_value(value, skip_validation=True)
        variable.stale = stale
    components = list(_components(problem)) if state.suffixes else []
    for name, (direction, values) in state.suffixes.items():
        if problem.component(name) is None:
            problem.add_component(name, pyo.Suffix(direction=direction))
        suffix = problem.component(name)
        suffix.clear()
        for place, value in values:
            suffix[components[place]] = value
