"""Every model keeps the contract of a model file: a new one is found by its file."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggopt import models
from aggopt.errors import UnknownNameError
from aggopt.models import MODELS
from aggopt.solvers import choose, solve
from aggopt.solvers._solver import BRANCHING, CLASSES

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
    point = model.violation.__annotations__["at"]
    return point(*(problem.var_dict[name].value for name in point._fields))


def stated(problem: Any, language: str) -> float:
    from pyomo.environ import value

    return float(
        problem.objective.value if language == "cvxpy" else value(problem.cost)
    )
