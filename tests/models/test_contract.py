"""Every model keeps the contract of a model file: a new one is found by its file."""

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from aggopt import models
from aggopt.errors import UnknownNameError
from aggopt.models import MODELS
from aggopt.solvers import choose, solve
from aggopt.solvers._solver import BRANCHING, CLASSES

OF_VARIABLES = ("sign", "whole")  # which a declaration may state of its variables
CLEAR = 1e-4  # more than solvers miss
HEADINGS = ("Data", "Variables", "Minimise", "Subject to", "Class:", "Source:")
FILES = {
    path.stem
    for path in Path(next(iter(models.__path__))).glob("*.py")
    if not path.stem.startswith("_")
}
named = pytest.mark.parametrize("name", MODELS)
declared = pytest.mark.parametrize(
    ("name", "language"), [(n, own) for n, m in MODELS.items() for own in m.languages]
)


def test_every_file_declares_the_model_of_its_name():
    assert set(MODELS) == FILES
    assert {m.data.__module__.rpartition(".")[2] for m in MODELS.values()} == FILES


@named
def test_the_head_states_the_model(name):
    model = MODELS[name]
    head = __import__(model.data.__module__, fromlist=["*"]).__doc__
    places = [head.find(f"\n{heading}") for heading in HEADINGS]
    assert min(places) > 0
    assert places == sorted(places)
    assert re.search(rf"^Class: {model.kind}\b", head, re.MULTILINE)
    assert model.kind in CLASSES
    assert not model.when.endswith(".")


@named
def test_data_shows_no_record(name):
    assert "array" not in repr(MODELS[name].example())


@declared
def test_nothing_is_solved_by_declaring(name, language):
    problem = MODELS[name].build(MODELS[name].example(), language)
    if language == "cvxpy":
        assert problem.status is None
    assert MODELS[name].build(MODELS[name].example(), language) is not problem


@named
def test_an_unknown_language_is_refused(name):
    with pytest.raises(UnknownNameError, match="did you mean 'cvxpy'"):
        MODELS[name].build(MODELS[name].example(), "cvxpi")


@named
def test_it_goes_to_another_process(name):
    assert pickle.loads(pickle.dumps(MODELS[name])) == MODELS[name]


@declared
def test_numpy_says_what_the_solved_declaration_says(name, language):
    model, data = MODELS[name], MODELS[name].example()
    problem = model.build(data, language, **begin(name, data))
    ended = solve(problem, solver_for(model, language))
    assert ended.status.usable
    at = point_of(model, problem, data)
    assert model.violation(data, at) < 1e-5
    cost = stated(problem, language)
    assert model.objective(data, at) == pytest.approx(cost, rel=1e-5, abs=1e-5)
    if ended.bound is not None:
        assert ended.bound <= model.objective(data, at) + 1e-5


@declared
def test_constraints_have_the_names_of_the_head(name, language):
    problem = MODELS[name].build(MODELS[name].example(), language)
    assert names_in(problem, language) <= set(constraints_of(MODELS[name]))


@named
def test_violations_are_those_of_the_constraints_by_name(name):
    model, data = MODELS[name], MODELS[name].example()
    language = model.languages[0]
    if model.kind == "MINLP":
        problem = model.build(data, "cvxpy")  # its solvers have another language
        at = model.point(data, data.means)
    else:
        problem = model.build(data, language, **begin(name, data))
        solve(problem, solver_for(model, language))
        at = point_of(model, problem, data)
    assert sorted(model.violations(data, at)) == sorted(constraints_of(model))
    rng = np.random.default_rng(0)
    known = at._asdict().items()
    variables = {
        field: problem.var_dict[field]
        for field, value in known  # without points that list only what is not 0
        if np.shape(value) == getattr(problem.var_dict.get(field), "shape", None)
    }
    for field, variable in variables.items():
        value = getattr(at, field)
        moved = value + 0.3 * rng.normal(size=np.shape(value))
        moved = (moved + moved.T) / 2 if variable.is_symmetric() else moved
        for other in variables:
            variables[other].save_value(getattr(at, other))
        variable.save_value(moved)
        declared = missed_by(problem)
        said = model.violations(data, at._replace(**{field: moved}))
        for row, amount in said.items():
            if row not in OF_VARIABLES or row in declared:
                assert (amount > CLEAR) == (declared.get(row, 0.0) > CLEAR), row


def test_the_largest_violation_is_the_worst_and_never_below_0():
    model = replace(MODELS["p3m"], violations=lambda data, at: at)
    assert model.violation(None, {"one": 0.5, "two": 2.0}) == 2.0
    assert model.violation(None, {"one": -1.0}) == 0.0
    assert model.violation(None, {}) == 0.0
    assert model.violation(None, {"one": 1.0, "two": np.nan}) == np.inf


@declared
def test_multipliers_prove_no_more_than_the_optimum(name, language):
    model, data = MODELS[name], MODELS[name].example()
    if model.proven is None:
        assert model.multipliers is None
        return
    problem = model.build(data, language)
    solve(problem, solver_for(model, language))
    cost = stated(problem, language)
    found = model.multipliers(problem, data)
    if found is None:
        assert model.kind in BRANCHING  # solvers of integer programs leave none
        return
    assert model.proven(data, found) == pytest.approx(cost, abs=1e-5)
    assert model.proven(data, np.zeros_like(found)) <= cost + 1e-9


def constraints_of(model: Any) -> list[str]:
    """Return the names that a file's head gives to its constraints."""
    head = __import__(model.data.__module__, fromlist=["*"]).__doc__
    part = head.partition("\nSubject to\n")[2].partition("\n\n")[0]
    return re.findall(r"^    (\w+): ", part, re.MULTILINE)


def names_in(problem: Any, language: str) -> set[str]:
    if language == "cvxpy":
        return {str(row.label) for row in problem.constraints}
    return {row.name for row in problem.component_objects(pyo.Constraint)}


def missed_by(problem: Any) -> dict[str, float]:
    """Return by how much the constraints of each name are missed, in cvxpy."""
    found: dict[str, float] = {}
    for row in problem.constraints:
        worst = float(np.max(row.violation(), initial=0.0))
        found[row.label] = max(worst, found.get(row.label, 0.0))
    return found


def begin(name: str, data: Any) -> dict[str, Any]:
    """Where models that are not convex set out: not where nothing can move."""
    return {"start": data.means} if hasattr(data, "means") else {}


def solver_for(model: Any, language: str) -> str:
    """Return a solver; skip, and say why, where none is here."""
    if model.kind == "MINLP" and language == "cvxpy":
        pytest.skip("no solver of cvxpy takes a MINLP; Pyomo's SCIP does")
    return choose(None, model.kind, language=language).name


def point_of(model: Any, problem: Any, data: Any) -> Any:
    """Return the point that a solved problem holds."""
    slack = {"touch": 1e-5} if model.name == "satisfaction" else {}  # as SCIP has
    at = model.point(data, model.reader(problem, data), **slack)
    if at is not None:
        return at
    point = model.violations.__annotations__["at"]
    return point(*(problem.var_dict[name].value for name in point._fields))


def stated(problem: Any, language: str) -> float:
    from pyomo.environ import value

    return float(
        problem.objective.value if language == "cvxpy" else value(problem.cost)
    )
