"""A small model with one word changed at a time, each caught by the law it breaks."""

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from checks.tried import by, caught

from aggopt.checks import Ending, report

FILE = Path(__file__).with_name("median_mean.py")
AGREE = "languages_and_numpy_agree"
SOLVED = "the_solved_program_agrees"

WRONG = {
    "a heading is missing": (
        "Subject to\n",
        "Such that\n",
        "the_head_states_the_model",
    ),
    "headings in another order": (
        "Minimise\n    sum_i e_i\nSubject to",
        "Subject to\nMinimise\n    sum_i e_i",
        "the_head_states_the_model",
    ),
    "a class that is none": ('kind="LP"', 'kind="LIP"', "the_head_states_the_model"),
    "another class": ('kind="LP"', 'kind="QP"', "the_class_is_that_of_the_program"),
    "squared in cvxpy": (
        "cp.Minimize(cp.sum(e))",
        "cp.Minimize(cp.sum_squares(e))",
        "the_class_is_that_of_the_program",
    ),
    "a name of a constraint": (
        '"mean": mean}',
        '"average": mean}',
        "constraints_have_the_names_of_the_head",
    ),
    "a violation without a name": (
        '        "mean": float(abs(data.sizes @ at.c)),\n',
        "",
        "constraints_have_the_names_of_the_head",
    ),
    "solved by declaring": (
        "    return cp.Problem(cp.Minimize(cp.sum(e)), named)",
        "    p = cp.Problem(cp.Minimize(cp.sum(e)), named)\n    p.solve('HIGHS')\n"
        "    return p",
        "declaring_solves_nothing",
    ),
    "any language": (
        '    require_known("modelling language", language, ("cvxpy", "pyomo"))\n',
        "",
        "an_unknown_language_is_refused",
    ),
    "records are printed": (
        "x: Any = field(repr=False)",
        "x: Any",
        "data_show_no_record",
    ),
    "missing values are taken": (
        "if not off < 1e-9:",
        "if off > 1e-9:",
        "unusable_data_are_refused",
    ),
    "a refusal quotes": (
        '"x is not standardised."',
        'f"x is not standardised: {self.x}."',
        "unusable_data_are_refused",
    ),
    "a sign in Pyomo": ("c[j[i]] - x[i] <= e[i]", "c[j[i]] + x[i] <= e[i]", AGREE),
    "a constraint missing in cvxpy": (
        "rows = {",
        "mean = data.sizes @ c <= 99\n    rows = {",
        AGREE,
    ),
    "a constraint missing in Pyomo": (
        "for g, n in sizes) == 0)",
        "for g, n in sizes) <= 99)",
        AGREE,
    ),
    "half of a constraint": ("- data.x <= e", "- data.x <= 2 * e", AGREE),
    "violations forget one": (
        "float(np.max(away - at.e))",
        "float(np.max(-away - at.e))",
        AGREE,
    ),
    "violations forget the mean": ("abs(data.sizes @ at.c)", "0.0", AGREE),
    "objective doubled": ("float(at.e.sum())", "2 * float(at.e.sum())", SOLVED),
    "the first record counts twice in cvxpy": (
        "cp.Minimize(cp.sum(e))",
        "cp.Minimize(cp.sum(e) + e[0])",
        AGREE,
    ),
    "the first record counts twice everywhere": (
        "float(at.e.sum())",
        "float(at.e.sum() + at.e[0])",
        "order_of_records_does_not_matter",
    ),
    "a group's number is in the cost": (
        "float(at.e.sum())",
        "float(at.e.sum() + at.c[0])",
        "order_of_records_does_not_matter",
    ),
    "the reader reads another variable": (
        'problem.var_dict["c"].value',
        'problem.var_dict["e"].value[:2]',
        SOLVED,
    ),
    "nothing is feasible": (
        "mean = data.sizes @ c == 0",
        "mean = cp.hstack([data.sizes @ c, 0 * c[0]]) == np.array([0.0, 1.0])",
        SOLVED,
    ),
    "judging is random": (
        "away = at.c[data.labels] - data.x\n",
        "away = at.c[data.labels] - data.x + np.random.normal()\n",
        "judging_changes_nothing",
    ),
    "judging sorts the data": (
        "away = at.c[data.labels] - data.x\n",
        "data.x.sort()\n    away = at.c[data.labels] - data.x\n",
        "judging_changes_nothing",
    ),
    "maximised": ("cp.Minimize(cp.sum(e))", "cp.Maximize(-cp.sum(e))", AGREE),
}


@pytest.fixture
def changed():
    """Return the model of the file with some words changed; forget it afterwards."""
    names = []

    def model(old: str, new: str):
        source = FILE.read_text("utf-8")
        assert source.count(old) >= 1, old
        module = ModuleType(f"median_mean_{len(names)}")
        names.append(module.__name__)
        sys.modules[module.__name__] = module
        exec(compile(source.replace(old, new, 1), str(FILE), "exec"), vars(module))
        return module.MODEL

    yield model
    for name in names:
        del sys.modules[name]


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_model_is_caught(changed, what):
    old, new, law = WRONG[what]
    caught(law, changed(old, new))


def test_a_variable_that_a_point_lacks_is_told_by_its_name(changed):
    class Centroids(NamedTuple):
        c: np.ndarray

    model = replace(
        changed("x", "x"),
        point=lambda data, centroids: Centroids(centroids),
        objective=lambda data, at: float(abs(data.x - at.c[data.labels]).sum()),
        violations=lambda data, at: {"mean": abs(float(data.sizes @ at.c))},
    )
    (verdict,) = (v for v in report(model) if v.law.name == AGREE)
    assert verdict.ending is Ending.BROKEN
    assert verdict.why == "its point has no value of e"


def test_multipliers_that_prove_too_much_are_caught(changed):
    def found(problem, data):
        return problem.constraints[-1].dual_value

    def too_much(data, multipliers):
        return 100.0

    model = changed("x", "x")
    law = "multipliers_prove_no_more_than_the_optimum"
    caught(law, replace(model, multipliers=found))
    caught(
        law, replace(model, multipliers=found, proven=too_much, languages=("cvxpy",))
    )


def test_a_fallback_that_is_none_is_caught(changed):
    model = changed("x", "x")
    off = replace(model, fallback=lambda data: data.means + 0.1)
    assert "it misses by 0.7" in caught("a_fallback_is_feasible", off)
    means = replace(model, fallback=lambda data: data.means)
    assert by("a_fallback_is_feasible", means).ending is Ending.KEPT


def test_impossible_data_that_are_possible_are_caught(changed):
    law = "impossible_data_end_without_an_answer"
    model = changed("x", "x")
    possible = replace(model, impossible=model.example)
    assert "in cvxpy they end as optimal" in caught(law, possible)
    refusing = replace(model, impossible=lambda: model.data(np.zeros(2), np.zeros(2)))
    assert by(law, refusing).ending is Ending.KEPT
    never = "== 0\n    rows", "== 0 * c[0] + [0.0, 1.0]\n    rows"
    hopeless = replace(changed(*never), languages=("cvxpy",))
    ends = replace(hopeless, impossible=hopeless.example)
    assert by(law, ends).ending is Ending.KEPT


def test_a_model_that_cannot_be_sent_is_caught(changed):
    model = changed("x", "x")
    local = replace(model, example=lambda: model.example())
    assert by("it_goes_to_another_process", local).ending is Ending.BROKEN


def test_a_bound_that_is_beaten_is_caught(changed):
    def too_much(data, multipliers):
        return 100.0

    def found(problem, data):
        return problem.constraints[-1].dual_value

    lying = replace(
        changed("x", "x"), multipliers=found, proven=too_much, languages=("cvxpy",)
    )
    assert "proves 100" in caught("no_point_beats_a_bound", lying)


def test_the_right_one_is_not_blamed(changed):
    blamed = [str(v) for v in report(changed("x", "x")) if v.ending is Ending.BROKEN]
    assert blamed == []
