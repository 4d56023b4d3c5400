"""Solutions of LP and MPS files: read by variable's name, judged by the model."""

import json

import numpy as np
import pyomo.environ as pyo
import pytest
from refusals import refused
from tables import job, people

from aggopt.errors import AggoptError, JobError
from aggopt.pipeline.programs.declare import declare_program
from aggopt.pipeline.programs.export import (
    _write_pyomo,
    export,
    import_solution,
    parse_solution,
    set_pyomo_values,
)
from aggopt.solvers import Status

P3M = {"method": "p3m", "delta": 0.3}
TABLE = people(12)


OWN = """
import numpy as np
import pyomo.environ as pyo
from typing import NamedTuple

KIND, LANGUAGES = "LP", ("pyomo",)


class Data:
    def __init__(self, x, labels):
        self.x, self.labels = x, labels


class Point(NamedTuple):
    c: np.ndarray


def build(data, language):
    problem, n = pyo.ConcreteModel(), len(data.x)
    groups = data.labels.tolist()
    problem.c = pyo.Var(range(max(groups) + 1), bounds=(-9, 9))
    problem.e = pyo.Var(range(n))
    away = [data.x[i].item() - problem.c[groups[i]] for i in range(n)]
    problem.over = pyo.Constraint(range(n), rule=lambda p, i: p.e[i] >= away[i])
    problem.under = pyo.Constraint(range(n), rule=lambda p, i: p.e[i] >= -away[i])
    problem.cost = pyo.Objective(expr=pyo.quicksum(problem.e.values()) + 1)
    return problem


def centroids(problem, data):
    return np.array([v.value for v in problem.c.values()], float)


def point(data, c):
    return Point(c)


def objective(data, at):
    return np.abs(data.x - at.c[data.labels]).sum() + 1


def violations(data, at):
    return {"box": max(np.abs(at.c).max() - 9, 0.0)}
"""


@pytest.fixture
def medians(tmp_path):
    """A job with a linear model in Pyomo, and its file."""
    code = tmp_path / "medians.py"
    code.write_text(OWN)
    return job(aggregation={"model": str(code)}), code


@pytest.mark.parametrize("format", ["lp", "mps"])
def test_highs_solves_what_is_exported_and_its_file_is_read_by_name(
    format, tmp_path, medians
):
    import highspy

    asked, code = medians
    how = {"format": format, "trust": [code]}
    made = export(TABLE, asked, "age", tmp_path / f"age.{format}", **how)
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(made.program))
    solver.run()
    solver.writeSolution(str(tmp_path / "age.sol"), 0)
    found = import_solution(TABLE, asked, "age", tmp_path / "age.sol", trust=[code])
    (proof,) = found.certificates
    assert (proof.status, proof.bound) == (Status.HEURISTIC, None)
    best = solver.getObjectiveValue()
    assert proof.objective == pytest.approx(best)
    ages = TABLE["age"].to_numpy(float)
    for group, c in enumerate(found.centroids[:, 0]):
        own = ages[found.labels == group]
        assert abs(own - c).sum() == pytest.approx(abs(own - np.median(own)).sum())


def renormalised(folder, asked, format):
    """Return the values of the feasible point of P3M by the names in the file."""
    secret = json.loads((folder / f"age.{format}.key.json").read_text())["secret"]
    _, made, _ = declare_program(TABLE, asked, "age", "pyomo", (), secret)
    problem = made.model.build(made.data, "pyomo", start=made.data.renormalised)
    names = _write_pyomo(problem, folder / f"again.{format}", format)
    known = problem.solutions.symbol_map[names].bySymbol
    isvar = {n: v for n, v in known.items() if getattr(v, "ctype", None) is pyo.Var}
    return {name: float(v.value) for name, v in isvar.items()}


def test_a_file_of_scip_leaves_out_what_is_zero(tmp_path):
    asked = job(aggregation=P3M)
    export(TABLE, asked, "age", tmp_path / "age.lp", format="lp")
    values = renormalised(tmp_path, asked, "lp")
    lines = [f"{name}   {v!r} \t(obj:1)" for name, v in values.items() if v]
    head = ["solution status: optimal", "objective value:     0", "quadobjvar 3"]
    (tmp_path / "age.sol").write_text("\n".join([*head, *lines]))
    (proof,) = import_solution(TABLE, asked, "age", tmp_path / "age.sol").certificates
    assert proof.status is Status.HEURISTIC
    assert proof.violation < 1e-6
    name = next(name for name in values if name in lines[-1])
    (tmp_path / "age.sol").write_text("\n".join([*head, f"{name} 1e9"]))
    (proof,) = import_solution(TABLE, asked, "age", tmp_path / "age.sol").certificates
    assert proof.status is Status.FAILED


@pytest.mark.parametrize(
    "said",
    [
        "",
        "x1 3",
        "Model status\nInfeasible\n# Primal solution values\nNone\n",
        "# Primal solution values\nFeasible\n# Columns 2\nx1 1\n# Rows 0\n",
        "# Primal solution values\nFeasible\n# Columns 1\nx1 inf\n# Rows 0\n",
        "# Primal solution values\nFeasible\n# Columns 1\nx1 1\nx2 2\n# Rows 0\n",
        "# Primal solution values\nFeasible\n# Columns 1\nx1 a\n# Rows 0\n",
        "objective value: 3\nno solution available",
        "objective value: 3\nx1 nan",
        "objective value: 3\nx1",
        "objective value: 3\n",
    ],
)
def test_what_is_no_solution_file_is_refused(said):
    with pytest.raises((ValueError, LookupError)):
        parse_solution(said)


def test_a_solution_of_other_variables_is_refused():
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var([0, 1])
    both = {"x1": problem.x[0], "x2": problem.x[1]}
    part = parse_solution("# Primal solution values\n# Columns 1\nx1 4711\n# Rows 0")
    other = parse_solution("objective value: 3\ny 4711\n")
    for wrong in (part, other):
        with pytest.raises(ValueError) as error:  # noqa: PT011  # it has no words
            set_pyomo_values(wrong, both)
        assert str(error.value) == ""
    assert problem.x[0].value is None
    set_pyomo_values(
        parse_solution("objective value: 3\n\n# said\nx2 0.5 (obj:1)"), both
    )
    assert (problem.x[0].value, problem.x[1].value) == (0.0, 0.5)
    problem.y = pyo.Var(domain=pyo.Binary)  # whose value is judged, and not refused
    set_pyomo_values(
        parse_solution("solution status: optimal\ny 0.9999"), {"y": problem.y}
    )
    assert problem.y.value == 0.9999


def test_a_solution_is_read_as_its_key_says(tmp_path):
    asked, sol = job(aggregation=P3M), tmp_path / "age.sol"
    for format in ("nl", "lp"):
        export(TABLE, asked, "age", tmp_path / f"age.{format}", format=format)
    values = renormalised(tmp_path, asked, "lp")
    lines = [f"{name} {v!r}" for name, v in values.items()]
    sol.write_text("\n".join(["objective value: 0", *lines]))
    with refused(AggoptError, "key.json"):
        import_solution(TABLE, asked, "age", sol)
    key = tmp_path / "age.lp.key.json"
    made = import_solution(TABLE, asked, "age", sol, key=key)
    assert made.certificates[0].status is Status.HEURISTIC
    stated = json.loads(key.read_text())
    assert stated.pop("format") == "lp"
    key.write_text(json.dumps({**stated, "format": "lpp"}))
    with refused(AggoptError, "'lpp'", "'lp'"):
        import_solution(TABLE, asked, "age", sol, key=key)
    key.write_text(json.dumps(stated))  # it is of an NL file then
    with refused(JobError):
        import_solution(TABLE, asked, "age", sol, key=key)
