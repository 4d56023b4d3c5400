"""No solver writes to standard output uninvited, at the level of the descriptor."""

import json

import pytest
from conftest import require_solver
from silent import sections
from tables import ROLES_AND_K, people

from aggopt.errors import SolverError
from aggopt.solvers import SOLVERS

INSTALLED = [name for name, solver in SOLVERS.items() if solver.installed]
JOBS = {
    "lagrangian": '[aggregation]\nmethod = "p3m"\nsolver = "lagrangian"\n',
    "ipopt": '[aggregation]\nmethod = "p3m"\nsolver = "ipopt"\n',
    "cvxpy:uno": '[aggregation]\nmethod = "p3m"\nsolver = "cvxpy:uno"\n',
    "pyomo:scip": '[aggregation]\nmethod = "p3m"\nsolver = "pyomo:scip"\n'
    "time_limit = 2\n",
    "cvxpy:highs": '[partition]\nmethod = "optimal"\nsolver = "cvxpy:highs"\n'
    "time_limit = 20\n",
}
LIMITED = "pyomo:scip"  # on a loaded machine it may find nothing within its limit


@pytest.fixture(scope="module")
def printed(forked):
    """What all solvers wrote, here and in processes of their own."""
    code = "from silent import ask_each; ask_each({names}, here={here})"
    return {
        here: sections(forked(code.format(names=[*INSTALLED, "prints"], here=here)))
        for here in (True, False)
    }


@pytest.mark.parametrize("here", [True, False], ids=["here", "apart"])
@pytest.mark.parametrize("name", SOLVERS)
def test_no_solver_writes_to_standard_output(name, here, printed):
    require_solver(name)
    assert printed[here][name] == ""


def test_nothing_is_written_at_the_end_either(printed):
    assert (printed[True]["end"], printed[False]["end"]) == ("", "")


def test_one_that_prints_is_noticed_here_and_silent_in_a_process_of_its_own(printed):
    for line in ("of Python", "of C", "without a buffer"):
        assert f"A line {line}.\n" in printed[True]["prints"]
    assert printed[False]["prints"] == ""


@pytest.mark.slow
def test_mask_with_json_prints_one_object_whatever_the_solver(tmp_path, forked):
    people(12).to_csv(tmp_path / "people.csv", index=False)
    names = [name for name in JOBS if name in INSTALLED]
    for name in names:
        job = tmp_path / f"{name.replace(':', '-')}.toml"
        job.write_text(ROLES_AND_K + JOBS[name])
    code = f"from silent import mask_each; mask_each({names})"
    written = sections(forked(code, cwd=tmp_path))
    for name in names:
        said = json.loads(written[name])
        late = name == LIMITED and said.get("exit") == SolverError.exit_code
        assert late or {"files", "audit"} <= set(said), (name, said)
    assert written["end"] == ""
