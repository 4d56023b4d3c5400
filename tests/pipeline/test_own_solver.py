"""A solver of the user's of the integer programs of `optimal` and of repairs."""

import numpy as np
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt import Job
from aggopt.errors import JobError, UntrustedCodeError
from aggopt.experiments.compare_solvers import compare
from aggopt.models import set_partition
from aggopt.partition import optimal
from aggopt.partition._optimal.column_generation import _solve_program
from aggopt.pipeline.validate.privacy_guarantees import require_guarantees
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers.run_solver import run_here

CODE = """
from aggopt.solvers import SOLVERS
from aggopt.solvers.run_solver import run_here

def choose(model, data):
    return run_here(model, data, SOLVERS["cvxpy:highs"], None, None, None).reading
"""
FILE = """
[roles]
quasi-identifier = ["age", "income"]
confidential = ["pay"]
other = ["name", "illness", "note"]
[privacy]
k = 3
t = 0.35
repair = { method = "merge-ilp", solver = "lib/mine.py:choose" }
[partition]
method = "mdav"
"""
asked: list[str] = []


def choose(model, data):
    asked.append(model.name)
    return run_here(model, data, SOLVERS["cvxpy:highs"], None, None, None).reading


def limited(model, data, *, time_limit):
    return None


@pytest.fixture
def paid():
    return people(24).assign(pay=np.arange(24) % 8)


def test_a_repair_asks_a_trusted_file(tmp_path, paid):
    (tmp_path / "lib").mkdir()
    code = tmp_path / "lib" / "mine.py"
    code.write_text(CODE)
    path = tmp_path / "job.toml"
    path.write_text(FILE)
    assert Job.read(path).privacy.repair.solver == f"{code}:choose"
    with refused(UntrustedCodeError, "[privacy]", "mine.py"):
        aggopt.mask(paid, path)
    release = aggopt.mask(paid, path, trust=[code])
    assert release.audit.holds
    (stated,) = release.manifest()["code"]
    assert (stated["kind"], stated["name"]) == ("solvers", "mine.py:choose")
    assert release.manifest()["job"]["privacy"]["repair"]["solver"] == "mine.py:choose"
    assert release.blocks[0].certificate.status is not Status.LIMIT
    names = ["highs", "lib/mine.py:choose"]
    rows = {row.solver: row for row in compare(paid, path, names, trust=[code])}
    assert list(rows) == ["cvxpy:highs", "mine.py:choose"]
    objective = release.blocks[0].certificate.objective
    assert [row.objective for row in rows.values()] == [objective, objective]


def test_optimal_asks_a_function_and_believes_no_proof_of_it():
    X = np.random.default_rng(3).normal(size=(24, 2))
    found = optimal(X, 3, solver=choose)
    best = optimal(X, 3).certificate
    assert found.certificate.objective == pytest.approx(best.objective)
    assert found.certificate.bound <= best.objective * (1 + 1e-9)
    section = {"method": "optimal", "solver": choose}
    release = aggopt.mask(people(), job(partition=section))
    assert release.manifest()["code"][0]["name"] == "choose"
    assert release.job.model_dump()["partition"]["solver"] == "choose"


def test_the_program_of_groups_is_asked_of_it():
    X, pairs = (
        np.array([[0.0], [1.0], [5.0], [6.0]]),
        np.array([0, 1, 2, 3, 0, 3, 1, 2]),
    )
    data = set_partition.Data(X, 2, np.arange(8) // 2, pairs)
    asked.clear()
    found = _solve_program(data, SOLVERS.adopt(choose), 5.0)
    assert asked == ["set_partition"]
    assert (found.reading.tolist(), found.status) == ([0, 0, 1, 1], Status.LOCAL)


def test_a_limit_that_it_does_not_take_is_refused_before_work(paid):
    with refused(JobError, "time_limit"):
        optimal(np.eye(8), 2, solver=choose, time_limit=9.0)
    repair = {"method": "merge-ilp", "solver": choose, "time_limit": 9.0}
    roles = {"quasi-identifier": ["age", "income"], "confidential": ["pay"]}
    roles["other"] = ["name", "illness", "note"]
    own = job(roles=roles, privacy={"k": 3, "t": 0.35, "repair": repair})
    with refused(JobError, "time_limit"):
        require_guarantees(own.load_code())
    with refused(JobError, "time_limit"):
        aggopt.mask(paid, own)
    with refused(JobError, "time_limit"):
        aggopt.repair.closeness(
            paid[["age", "income"]].to_numpy(float),
            paid["pay"],
            np.arange(24) // 3,
            3,
            0.35,
            solver=choose,
            time_limit=9.0,
        )


@pytest.mark.parametrize(
    ("section", "method"), [("aggregation", "p3m"), ("partition", "univariate")]
)
def test_each_call_of_a_comparison_has_a_limit(section, method):
    limits = []

    def noting(model, data, *, time_limit=None):
        limits.append(time_limit)
        if section == "aggregation":
            return data.renormalised
        return run_here(model, data, SOLVERS["dynamic"], None, None, None).reading

    roles = {"quasi-identifier": ["age"], "other": ["name", "income", "illness"]}
    roles["other"].append("note")
    how = {"method": method, "solver": noting, "time_limit": 2.0}
    row = next(compare(people(24), job(roles=roles, **{section: how})))
    assert row.solver == "noting"
    assert limits
    assert all(limit is not None and limit <= 2 for limit in limits)
