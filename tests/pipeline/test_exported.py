"""Programs go to other solvers in files, and what comes back is judged by the model."""

import json
import stat
import sys

import cvxpy as cp
import pyomo.environ as pyo
import pytest
from tables import job, people

import aggopt
from aggopt.command import cli
from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.pipeline.declared import declared_of
from aggopt.pipeline.exported import _write, export, import_solution
from aggopt.solvers import Status

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
def exported(tmp_path):
    """Export a program; return the folder and the job."""
    asked = job(aggregation=P3M)
    made = export(TABLE, asked, "age", tmp_path / "age.nl")
    assert (made.program.name, made.key.name) == ("age.nl", "age.nl.key.json")
    return tmp_path, asked


def solved(folder, asked, change=0.0):
    """Write a solution: the renormalised means, moved by `change`."""
    secret = json.loads((folder / "age.nl.key.json").read_text())["secret"]
    _, made, _ = declared_of(TABLE, asked, "age", "pyomo", (), secret)
    problem = made.model.build(made.data, "pyomo", start=made.data.renormalised)
    names = _write(problem, folder / "again.nl", "nl")
    (folder / "age.sol").write_text(solution_of(problem, names, change))
    return made


def test_files_are_for_their_owner_alone_and_name_nobody(exported):
    folder, _ = exported
    for name in ("age.nl", "age.nl.key.json"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        assert "Person" not in (folder / name).read_text()
    stated = json.loads((folder / "age.nl.key.json").read_text())
    assert set(stated) == {"attribute", "table", "job", "secret"}


def test_a_solution_is_judged_by_the_model(exported):
    folder, asked = exported
    made = solved(folder, asked)
    found = import_solution(TABLE, asked, "age", folder / "age.sol")
    (proof,) = found.certificates
    assert (proof.status, proof.solver, proof.bound) == (Status.HEURISTIC, "file", None)
    assert proof.violation < 1e-9
    expected = made.scale.undo(made.data.renormalised[:, None])
    assert found.centroids == pytest.approx(expected)


def test_a_solution_that_misses_a_constraint_has_failed(exported):
    folder, asked = exported
    solved(folder, asked, 0.1)
    (proof,) = import_solution(TABLE, asked, "age", folder / "age.sol").certificates
    assert proof.status is Status.FAILED
    assert proof.violation > 1e-3


def test_what_belongs_to_something_else_is_refused(exported):
    folder, asked = exported
    solved(folder, asked)
    sol = folder / "age.sol"
    with pytest.raises(JobError, match=r"nl\.key\.json is not the key of 'income'"):
        import_solution(TABLE, asked, "income", sol)
    with pytest.raises(JobError, match=r"nl\.key\.json is the key of another table"):
        import_solution(people(12, seed=1), asked, "age", sol)
    with pytest.raises(JobError, match="is no key of an export"):
        import_solution(TABLE, asked, "age", sol, key=folder / "age.nl")
    with pytest.raises(JobError, match=r"There is no key .*none\.nl\.key\.json"):
        import_solution(TABLE, asked, "age", folder / "none.sol")
    key = folder / "age.nl.key.json"
    with pytest.raises(JobError, match=r"There is no solution .*none\.sol"):
        import_solution(TABLE, asked, "age", folder / "none.sol", key=key)
    for other in (job(4, aggregation=P3M), job(aggregation={**P3M, "delta": 0.4})):
        with pytest.raises(JobError, match=r"nl\.key\.json is the key of another job"):
            import_solution(TABLE, other, "age", sol)
    sol.write_text("4711 nothing")
    with pytest.raises(JobError, match=r"age\.sol is no solution") as refused:
        import_solution(TABLE, asked, "age", sol)
    assert "4711" not in str(refused.value)


def test_formats_hold_what_they_can_and_no_file_is_lost(tmp_path):
    asked = job(aggregation=P3M)
    with pytest.raises(UnknownNameError, match="did you mean 'nl'"):
        export(TABLE, asked, "age", tmp_path / "a", format="nll")
    assert not list(tmp_path.iterdir())
    problem = pyo.ConcreteModel()
    problem.x = pyo.Var()
    problem.cost = pyo.Objective(expr=pyo.exp(problem.x))
    for format in ("lp", "mps"):
        with pytest.raises(JobError, match=f"'{format}' does not hold this program"):
            _write(problem, tmp_path / "x", format)
        made = export(TABLE, asked, "age", tmp_path / f"age.{format}", format=format)
        assert made.program.stat().st_size > 100
        assert made.key.name == f"age.{format}.key.json"
    export(TABLE, asked, "age", tmp_path / "age.nl")
    with pytest.raises(TableError):
        export(TABLE, asked, "age", tmp_path / "age.nl")
    export(TABLE, asked, "age", tmp_path / "age.nl", overwrite=True)


def test_a_file_without_a_suffix_has_its_key_beside_its_solution(exported):
    folder, asked = exported
    solved(folder, asked)
    (folder / "age.nl.key.json").rename(folder / "age.key.json")
    found = aggopt.import_solution(TABLE, asked, "age", folder / "age.sol")
    assert found.certificates[0].status.usable


def capped(x, labels, sizes):
    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)))


def test_models_without_a_declaration_in_pyomo_are_refused_before_work(tmp_path):
    asked = job(aggregation={"model": capped})
    with pytest.raises(JobError, match="capped is declared in cvxpy alone"):
        aggopt.export(None, asked, "age", tmp_path / "age.nl")


def test_the_commands_export_and_judge(exported, monkeypatch, capsys):
    folder, asked = exported
    solved(folder, asked)
    TABLE.to_csv(folder / "people.csv", index=False)
    (folder / "job.toml").write_text(asked.to_toml())
    monkeypatch.chdir(folder)

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["aggopt", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), capsys.readouterr().out

    both = ("people.csv", "job.toml", "--attribute", "age")
    code, said = run("export", *both, "--out", "new.nl")
    assert (code, (folder / "new.nl").exists()) == (0, True)
    assert "new.nl.key.json is its key: keep both to yourself." in said
    assert "new.nl holds the originals of 'age', standardised." in said
    code, said = run("import-solution", *both[:2], "age.sol", *both[2:])
    assert code == 0
    assert said.startswith("age: heuristic, nothing else tried, objective ")
    assert said.endswith("; nothing is proven.\n")
    solved(folder, asked, 0.1)
    both = (*both[:2], "age.sol", "--key", "age.nl.key.json", *both[2:])
    code, said = run("import-solution", *both, "--json")
    assert (code, json.loads(said)["status"]) == (1, "failed")
