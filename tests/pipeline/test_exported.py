"""Programs go to other solvers in files, and what comes back is judged by the model."""

import json
import logging
import stat
from dataclasses import replace
from types import SimpleNamespace

import cvxpy as cp
import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from refusals import refused
from scipy.optimize import Bounds, LinearConstraint, milp
from tables import job, people

import aggopt
from aggopt.aggregate import by_model
from aggopt.errors import AggoptError, JobError, TableError, UnknownNameError
from aggopt.pipeline.programs import export as exported
from aggopt.pipeline.programs.declare import declare, declare_program
from aggopt.pipeline.programs.export import (
    _disable_pyomo_log,
    _write_pyomo,
    export,
    import_solution,
)
from aggopt.solvers import Status, solve
from aggopt.solvers.cvxpy_file import write_program

P3M = {"method": "p3m", "delta": 0.3}
TABLE = people(12)


def solution_of(problem, names, change) -> str:
    """Return the .sol file in which variables have the values that a problem has."""
    known = problem.solutions.symbol_map[names].bySymbol
    order = sorted((s for s in known if s.startswith("v")), key=lambda s: int(s[1:]))
    values = [repr(float(known[symbol].value) + change) for symbol in order]
    rows, n = str(sum(s.startswith("c") for s in known)), str(len(values))
    head = ["by hand", "", "Options", "3", "0", "1", "0", rows, "0", n, n]
    return "\n".join([*head, *values, "objno 0 0", ""])


@pytest.fixture
def files(tmp_path):
    """Export a program; return the folder and the job."""
    asked = job(aggregation=P3M)
    made = export(TABLE, asked, "age", tmp_path / "age.nl")
    assert (made.program.name, made.key.name) == ("age.nl", "age.nl.key.json")
    return tmp_path, asked


def solved(folder, asked, change=0.0):
    """Write a solution: the renormalised means, moved by `change`."""
    secret = json.loads((folder / "age.nl.key.json").read_text())["secret"]
    _, made, _ = declare_program(TABLE, asked, "age", "pyomo", (), secret)
    problem = made.model.build(made.data, "pyomo", start=made.data.renormalised)
    names = _write_pyomo(problem, folder / "again.nl", "nl")
    (folder / "age.sol").write_text(solution_of(problem, names, change))
    return made


def test_files_are_for_their_owner_alone_and_name_nobody(files):
    folder, _ = files
    for name in ("age.nl", "age.nl.key.json"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        assert "Person" not in (folder / name).read_text()
    stated = json.loads((folder / "age.nl.key.json").read_text())
    assert set(stated) == {"format", "attribute", "table", "job", "secret"}


def test_a_solution_is_judged_by_the_model(files):
    folder, asked = files
    made = solved(folder, asked)
    found = import_solution(TABLE, asked, "age", folder / "age.sol")
    (proof,) = found.certificates
    assert (proof.status, proof.solver, proof.bound) == (Status.HEURISTIC, "file", None)
    assert proof.violation < 1e-9
    expected = made.scale.undo(made.data.renormalised[:, None])
    assert found.centroids == pytest.approx(expected)


def test_a_solution_that_misses_a_constraint_has_failed(files):
    folder, asked = files
    solved(folder, asked, 0.1)
    (proof,) = import_solution(TABLE, asked, "age", folder / "age.sol").certificates
    assert proof.status is Status.FAILED
    assert proof.violation > 1e-3


def test_what_belongs_to_something_else_is_refused(files):
    folder, asked = files
    solved(folder, asked)
    sol, key = folder / "age.sol", "age.nl.key.json"
    with refused(AggoptError, key):
        import_solution(TABLE, asked, "income", sol)
    with refused(AggoptError, key):
        import_solution(people(12, seed=1), asked, "age", sol)
    with refused(AggoptError, str(folder / "age.nl")):
        import_solution(TABLE, asked, "age", sol, key=folder / "age.nl")
    none = folder / "none.sol"
    with refused(AggoptError, str(folder / "none.nl.key.json")):
        import_solution(TABLE, asked, "age", none)
    with refused(AggoptError, str(none)):
        import_solution(TABLE, asked, "age", none, key=folder / key)
    for other in (job(4, aggregation=P3M), job(aggregation={**P3M, "delta": 0.4})):
        with refused(AggoptError, key):
            import_solution(TABLE, other, "age", sol)


def test_what_is_no_solution_is_refused_and_nothing_is_left_behind(files, monkeypatch):
    folder, asked = files
    sol, here = folder / "age.sol", folder / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    sol.write_text("4711 nothing")
    with refused(AggoptError, "age.sol"):
        import_solution(TABLE, asked, "age", sol)
    solved(folder, asked)
    import_solution(TABLE, asked, "age", sol)

    def without_values(*of):
        problem, made, secret = declare_program(*of)
        model = replace(made.model, reader=lambda *_: None)
        return problem, replace(made, model=model), secret

    monkeypatch.setattr(exported, "declare_program", without_values)
    with refused(AggoptError, "age.sol"):
        import_solution(TABLE, asked, "age", sol)
    assert not list(here.iterdir())


def test_formats_hold_what_they_can_and_no_file_is_lost(tmp_path):
    asked = job(aggregation=P3M)
    with refused(UnknownNameError, "'nll'", "'nl'"):
        export(TABLE, asked, "age", tmp_path / "a", format="nll")
    assert not list(tmp_path.iterdir())
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var()
    problem.cost = pyo.Objective(expr=pyo.exp(problem.x))
    for format in ("lp", "mps"):
        with refused(AggoptError, repr(format)):
            _write_pyomo(problem, tmp_path / "x", format)
        made = export(TABLE, asked, "age", tmp_path / f"age.{format}", format=format)
        assert made.program.stat().st_size > 100
        assert made.key.name == f"age.{format}.key.json"
    export(TABLE, asked, "age", tmp_path / "age.of.lp", format="nl")
    assert (tmp_path / "age.of.lp").read_text().startswith("g3 1 1 0")
    export(TABLE, asked, "age", tmp_path / "age.nl")
    with pytest.raises(TableError):
        export(TABLE, asked, "age", tmp_path / "age.nl")
    export(TABLE, asked, "age", tmp_path / "age.nl", overwrite=True)


def test_a_file_names_every_variable_in_the_format_that_is_asked(tmp_path):
    problem = pyo.ConcreteModel()
    problem.x, problem.y = pyo.Var(), pyo.Var()
    problem.cost = pyo.Objective(expr=problem.x + problem.y)
    problem.row = pyo.Constraint(expr=problem.x == 2)  # which a presolve would use up
    problem.least = pyo.Constraint(expr=problem.y >= 1)
    known = _write_pyomo(problem, tmp_path / "none", "nl")
    named = problem.solutions.symbol_map[known].bySymbol.values()
    assert {"x", "y"} <= {each.name for each in named}
    assert (tmp_path / "none").read_text().startswith("g3 1 1 0")
    _write_pyomo(problem, tmp_path / "none.nl", "lp")
    assert "s.t." in (tmp_path / "none.nl").read_text()


@pytest.mark.parametrize(
    ("format", "options"), [("nl", {"linear_presolve": False}), ("lp", {}), ("mps", {})]
)
def test_every_variable_stays_in_a_file_of_nl(tmp_path, format, options):
    heard = []

    def write(to, **how):
        heard.append((to, how))
        return to, "names"

    found = _write_pyomo(SimpleNamespace(write=write), tmp_path / "x", format)
    told = {"format": format, "io_options": options}
    assert (found, heard) == ("names", [(str(tmp_path / "x"), told)])


def test_the_key_holds_the_margins(tmp_path):
    asked = job(aggregation={**P3M, "margin": 0.5})
    export(TABLE, asked, "age", tmp_path / "age.nl")
    made = solved(tmp_path, asked)
    (proof,) = import_solution(TABLE, asked, "age", tmp_path / "age.sol").certificates
    at = made.model.point(made.data, made.data.renormalised)
    assert proof.objective == pytest.approx(made.model.objective(made.data, at))


OWN = """
import cvxpy as cp

def first(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)))
"""


def test_what_can_be_known_before_is_refused_before_work(tmp_path):
    code, file = tmp_path / "own.py", tmp_path / "job.toml"
    code.write_text(OWN)
    file.write_text(job().to_toml().split("[aggregation]")[0])
    file.write_text(file.read_text() + '[aggregation]\nmodel = "own.py:first"\n')
    with refused(JobError):
        export(None, file, "age", tmp_path / "age.nl", trust=[code])
    for there in ("age.nl", "age.nl.key.json"):
        (tmp_path / there).touch()
        with refused(TableError, "would be overwritten"):
            export(None, job(aggregation=P3M), "age", tmp_path / "age.nl")
        (tmp_path / there).unlink()


def test_what_pyomo_says_is_heard_nowhere(capsys, caplog, monkeypatch):
    with _disable_pyomo_log():
        logging.getLogger("pyomo.core").error("4711")
    assert not caplog.records
    assert "4711" not in "".join(capsys.readouterr())
    heard, own = [], logging.Handler()
    own.emit = heard.append
    for name in ("pyomo", "aggopt.other"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [own])
    with _disable_pyomo_log():
        logging.getLogger("pyomo.core").error("4711")
        logging.getLogger("aggopt.other").error("4712")
    assert [record.msg for record in heard] == ["4712"]


def test_a_file_without_a_suffix_has_its_key_beside_its_solution(files):
    folder, asked = files
    solved(folder, asked)
    (folder / "age.nl.key.json").rename(folder / "age.key.json")
    found = aggopt.import_solution(TABLE, asked, "age", folder / "age.sol")
    assert found.certificates[0].status.usable


def capped(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)))


def test_models_without_a_declaration_in_pyomo_are_not_written_as_nl():
    asked = job(aggregation={"model": capped})
    with refused(AggoptError, "'nl'", "LANGUAGES"):
        aggopt.export(None, asked, "age", "age.nl")


def test_the_commands_export_and_judge(files, monkeypatch, aggopt):
    folder, asked = files
    solved(folder, asked)
    TABLE.to_csv(folder / "people.csv", index=False)
    (folder / "job.toml").write_text(asked.to_toml())
    monkeypatch.chdir(folder)
    both = ("people.csv", "job.toml", "--attribute", "age")
    code, said, _ = aggopt("export", *both, "--out", "new.nl")
    assert (code, (folder / "new.nl").exists()) == (0, True)
    assert "new.nl.key.json is its key: keep both to yourself." in said
    assert "new.nl holds the originals of 'age', standardised." in said
    code, said, _ = aggopt("import-solution", *both[:2], "age.sol", *both[2:])
    assert code == 0
    assert said.startswith("age: heuristic, nothing else tried, objective ")
    assert said.endswith("; nothing is proven.\n")
    solved(folder, asked, 0.1)
    both = (*both[:2], "age.sol", "--key", "age.nl.key.json", *both[2:])
    code, said, _ = aggopt("import-solution", *both, "--json")
    assert (code, json.loads(said)["status"]) == (1, "failed")


# --- what cvxpy declares goes to other solvers in files, with the same optimum


def means(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x) + 3))


def medians(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c", bounds=[-9, 9])
    return cp.Problem(cp.Minimize(cp.norm1(c[labels] - x) - 1), [cp.sum(c) <= 1])


def crossed(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    root = np.tri(len(sizes)) + 1.0
    cost = cp.quad_form(c - 1, root @ root.T)
    return cp.Problem(cp.Minimize(cost + cp.sum_squares(c[labels] - x)), [c >= -5])


def whole(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    tenths, is_high = cp.Variable(len(sizes), integer=True), cp.Variable(boolean=True)
    rows = [c == tenths / 10, tenths <= 100 * is_high, tenths >= -100]
    return cp.Problem(cp.Minimize(cp.norm1(c[labels] - x) + is_high), rows)


def near(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.norm(c[labels] - x)))


def largest_eigenvalue(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.lambda_max(cp.diag(c))), [c >= -1])


def with_tiny_entry(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.norm1(c[labels] - x)), [c[0] + 1e-13 * c[1] <= 9])


def solved_by_highs(program, solution):
    """Return the optimum of a file, and write the solution beside it."""
    solver = highspy.Highs()
    solver.silent()
    assert solver.readModel(str(program)) == highspy.HighsStatus.kOk
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    solver.writeSolution(str(solution), 0)
    return solver.getObjectiveValue()


@pytest.mark.parametrize("format", ["lp", "mps"])
@pytest.mark.parametrize("model", [means, medians, crossed, whole])
def test_the_file_has_the_same_optimum_and_its_solution_is_read(
    model, format, tmp_path
):
    asked = job(aggregation={"model": model})
    made = export(TABLE, asked, "age", tmp_path / f"age.{format}", format=format)
    best = solved_by_highs(made.program, tmp_path / "age.sol")
    problem = declare(TABLE, asked, "age")
    assert solve(problem, "cvxpy:highs").status.usable
    assert best == pytest.approx(problem.value, abs=1e-6)
    found = import_solution(TABLE, asked, "age", tmp_path / "age.sol")
    (proof,) = found.certificates
    assert (proof.status, proof.solver, proof.bound) == (Status.HEURISTIC, "file", None)
    assert proof.objective == pytest.approx(best, abs=1e-5)
    own = by_model(TABLE[["age"]], found.labels, model, solver="cvxpy:highs")
    assert found.centroids == pytest.approx(own.centroids, abs=1e-3)


def read_mps(path):
    """Return what an MPS file says, line by line, as arrays: no package reads it."""
    rows, columns, lower, upper, whole = {}, {}, {}, {}, set()
    entries, right, offset, marked, section = [], {}, 0.0, False, ""
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or line[0] == "*":
            continue
        if line[0] != " ":
            section = words[0]
        elif section == "ROWS":
            rows[words[1]] = words[0]
        elif section == "COLUMNS" and words[1] == "'MARKER'":
            marked = words[2] == "'INTORG'"
        elif section == "COLUMNS":
            column = columns.setdefault(words[0], len(columns))
            whole |= {column} if marked else set()
            pairs = zip(words[1::2], words[2::2], strict=True)
            entries += [(row, column, float(number)) for row, number in pairs]
        elif section == "RHS":
            words = words[1:] if len(words) % 2 else words
            pairs = zip(words[::2], words[1::2], strict=True)
            right |= {row: float(number) for row, number in pairs}
        elif section == "BOUNDS":
            kind, column = words[0], columns[words[2]]
            number = float(words[3]) if len(words) > 3 else np.inf
            if kind in ("LO", "FX", "MI", "FR", "BV", "LI"):
                low = {"MI": -np.inf, "FR": -np.inf, "BV": 0.0}
                lower[column] = low.get(kind, number)
            if kind in ("UP", "FX", "PL", "FR", "BV", "UI"):
                high = {"PL": np.inf, "FR": np.inf, "BV": 1.0}
                upper[column] = high.get(kind, number)
            whole |= {column} if kind in ("BV", "LI", "UI") else set()
        else:
            assert section in ("NAME", "OBJSENSE", "ENDATA"), section
    (cost,) = (row for row, kind in rows.items() if kind == "N")
    others = [row for row in rows if row != cost]
    A, c = np.zeros((len(others), len(columns))), np.zeros(len(columns))
    for row, column, number in entries:
        if row == cost:
            c[column] += number
        else:
            A[others.index(row), column] += number
    offset = -right.get(cost, 0.0)
    b = np.array([right.get(row, 0.0) for row in others])
    kinds = np.array([rows[row] for row in others])
    within = (np.where(kinds == "L", -np.inf, b), np.where(kinds == "G", np.inf, b))
    every = range(len(columns))
    box = ([lower.get(j, 0.0) for j in every], [upper.get(j, np.inf) for j in every])
    return c, offset, A, within, box, np.isin(every, list(whole)).astype(int)


@pytest.mark.parametrize("model", [medians, whole])
def test_a_foreign_reader_of_the_file_reaches_the_same_optimum(model, tmp_path):
    asked = job(aggregation={"model": model})
    made = export(TABLE, asked, "age", tmp_path / "age.mps", format="mps")
    c, offset, A, within, box, integrality = read_mps(made.program)
    found = milp(
        c,
        constraints=LinearConstraint(A, *within),
        bounds=Bounds(*box),
        integrality=integrality,
        options={"mip_rel_gap": 0.0},
    )
    assert found.success
    problem = declare(TABLE, asked, "age")
    assert solve(problem, "cvxpy:highs").status.usable
    assert found.fun + offset == pytest.approx(problem.value, abs=1e-6)


@pytest.mark.parametrize("format", ["lp", "mps"])
def test_what_is_maximised_is_maximised_in_the_file(format, tmp_path):
    x = cp.Variable(2, name="c")
    problem = cp.Problem(cp.Maximize(5 - cp.sum_squares(x - 1)), [cp.sum(x) == 1])
    file = tmp_path / f"program.{format}"
    write_program(problem, file)
    assert solved_by_highs(file, tmp_path / "x.sol") == pytest.approx(4.5, abs=1e-6)


def test_the_files_are_for_their_owner_and_have_no_name_of_the_problem(tmp_path):
    asked = job(aggregation={"model": whole})
    made = export(TABLE, asked, "age", tmp_path / "program", format="lp")
    assert {path.stat().st_mode & 0o777 for path in made} == {0o600}
    assert "tenths" not in made.program.read_text()
    assert "x1" in made.program.read_text()
    assert json.loads(made.key.read_text())["format"] == "lp"


@pytest.mark.parametrize("model", [near, largest_eigenvalue])
def test_a_class_that_no_file_holds_is_refused_by_name(model, tmp_path):
    asked = job(aggregation={"model": model})
    with refused(AggoptError, "'mps'", "MILP"):
        export(TABLE, asked, "age", tmp_path / "age.mps", format="mps")
    assert not list(tmp_path.iterdir())


def test_a_number_that_highs_takes_for_zero_is_refused(tmp_path):
    asked = job(aggregation={"model": with_tiny_entry})
    with refused(JobError):
        export(TABLE, asked, "age", tmp_path / "age.lp", format="lp")


def test_a_solution_of_another_program_is_refused(tmp_path):
    asked = job(aggregation={"model": means})
    export(TABLE, asked, "age", tmp_path / "age.lp", format="lp")
    (tmp_path / "age.sol").write_text("objective value: 3\ny7 1.5\n")
    with refused(JobError):
        import_solution(TABLE, asked, "age", tmp_path / "age.sol")
