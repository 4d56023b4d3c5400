"""A model and a solver of the user's in a job: trusted, judged, compared, recorded."""

import json
from dataclasses import replace
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt import Job
from aggopt.errors import JobError, SolverError, UnknownNameError, UntrustedCodeError
from aggopt.experiments.compare_solvers import _find_solver_step, compare
from aggopt.experiments.sweep import sweep
from aggopt.pipeline.finish.notes import explain_stop
from aggopt.pipeline.prepare.inputs import load_job
from aggopt.pipeline.prepare.job_settings import find_model
from aggopt.pipeline.validate.solver_answers import require_solved
from aggopt.solvers import Certificate, Status

MINE = """
import cvxpy as cp

def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    return cp.Problem(cp.Minimize(cp.sum_squares(off)), [cp.abs(off) <= cap])

def means(model, data):
    import numpy as np
    return np.bincount(data.labels, data.x) / data.sizes, 0.5
"""
FILE = """
[roles]
identifier = ["name"]
quasi-identifier = ["age", "income"]
other = ["illness", "note"]
[privacy]
k = 3
[partition]
method = "mdav"
[aggregation]
model = "lib/mine.py:capped"
cap = 9.0
solver = "{}"
"""


def capped(x, labels, sizes, *, cap=1.0):
    c = cp.Variable(len(sizes), name="c")
    off = c[labels] - x
    return cp.Problem(cp.Minimize(cp.sum_squares(off)), [cp.abs(off) <= cap])


def means(model, data):
    return np.bincount(data.labels, data.x) / data.sizes


NOTE = (
    "Values are published by a model of your own, to which no secret margin is added: "
    "where one of its constraints decides, a published value may lie at a known "
    "distance from an original, and so give it away."
)


@pytest.fixture
def file(tmp_path: Path):
    """Return a function that writes a job with a solver; its code lies beside it."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "mine.py").write_text(MINE)

    def written(solver: str) -> tuple[Path, Path]:
        path = tmp_path / "job.toml"
        path.write_text(FILE.format(solver))
        return path, tmp_path / "lib" / "mine.py"

    return written


def test_a_model_of_a_file_makes_the_release_that_its_function_makes(file):
    path, code = file("clarabel")
    release = aggopt.mask(people(), path, trust=[code])
    own = {"model": capped, "cap": 9.0, "solver": "clarabel"}
    same = aggopt.mask(people(), job(aggregation=own))
    for name, proof in release.certificates.items():
        assert proof.objective == pytest.approx(same.certificates[name].objective)
        assert proof.judge.startswith("its own declaration, mine.py, sha256 ")
        assert proof.bound is not None
    assert release.audit.smallest >= 3
    (origin,) = release.job.code
    assert (origin.name, origin.kind) == ("mine.py:capped", "models")
    assert NOTE in release.notes
    stated = release.certificates["age"].to_dict()
    assert stated["judge"] == release.certificates["age"].judge
    assert f"judge={stated['judge']!r}" in repr(release.certificates["age"])
    plain = aggopt.mask(people(), job()).certificates["age"]
    assert "judge" not in plain.to_dict()
    assert "judge" not in repr(plain)
    assert not any("no secret margin" in n for n in aggopt.mask(people(), job()).notes)


def test_without_trust_nothing_runs(file):
    path, _ = file("clarabel")
    with refused(UntrustedCodeError, "[aggregation]"):
        aggopt.mask(people(), path)


def test_the_manifest_names_model_and_solver_by_hash(file, tmp_path):
    path, code = file("lib/mine.py:means")
    release = aggopt.mask(people(), path, trust=[code])
    written = release.write(tmp_path / "masked.csv")
    stated = json.loads(Path(written.manifest).read_text())
    assert [each["name"] for each in stated["code"]] == [
        "mine.py:capped",
        "mine.py:means",
    ]
    assert stated["job"]["aggregation"]["cap"] == 9.0
    assert stated["job"]["aggregation"]["solver"] == "mine.py:means"
    proof = stated["certificates"]["age"]
    assert proof["bound"] is None
    assert proof["claimed"]["bound"] == 0.5
    assert str(tmp_path) not in json.dumps(stated)
    assert any("claimed by mine.py" in note for note in release.notes)


def test_solvers_are_compared_on_it_the_users_among_them(file):
    path, code = file("clarabel")
    names = ["clarabel", "cvxpy:OSQP", "lib/mine.py:means"]
    rows = {r.solver: r for r in compare(people(), path, names, trust=[code])}
    assert list(rows) == ["cvxpy:clarabel", "cvxpy:OSQP", "mine.py:means"]
    assert all(row.holds for row in rows.values())
    least = rows["cvxpy:clarabel"].bound
    assert all(row.objective >= least - 1e-6 for row in rows.values())
    assert rows["mine.py:means"].bound is None
    path.write_text(FILE.format("lib/mine.py:means"))
    first = next(compare(people(), path, trust=[code]))
    assert first == replace(rows["mine.py:means"], seconds=first.seconds)
    own = job(aggregation={"model": capped, "cap": 9.0})
    able = [row.solver for row in compare(people(), own, ["highs"])]
    assert able == ["cvxpy:highs"]
    with refused(JobError):
        list(compare(people(), own, ["pyomo:highs"]))


HIGHS = "pyomo:appsi_highs"  # of whose classes Pyomo says nothing


@pytest.mark.parametrize(
    ("solver", "first"),
    [(means, ["means", "lagrangian"]), (HIGHS, [HIGHS, "lagrangian"])]
    + [(name, ["lagrangian", "ipopt"]) for name in ("ipopt", "cvxpy:uno", "uno", None)],
)
def test_the_solver_of_a_job_is_among_those_compared(solver, first):
    named = {} if solver is None else {"solver": solver}
    rows = _find_solver_step(job(aggregation={"method": "p3m", **named})).able
    names = [each.name for each in rows]
    assert names[:2] == first
    assert len(set(names)) == len(names)


def test_a_sweep_goes_through_its_settings(file):
    own = job(aggregation={"model": capped, "cap": 0.9, "solver": "clarabel"})
    points = list(sweep(people(), own, over={"cap": [9.0, 12.0]}, jobs=1))
    assert [point.at for point in points] == [{"cap": 9.0}, {"cap": 12.0}]
    release = aggopt.mask(people(), job(aggregation={"model": capped, "cap": 9.0}))
    assert points[0].il == pytest.approx(release.measures.il, rel=1e-5)
    assert (points[0].holds, points[0].usable, points[0].keep) == (True, True, "")
    row = points[0].to_dict()
    assert next(iter(row)) == "settings.cap"
    assert not {"alpha", "delta", "keep", "settings"} & row.keys()
    path, code = file("clarabel")
    (same,) = sweep(people(), path, over={"cap": [9.0]}, jobs=1, trust=[code])
    assert same.il == points[0].il
    with pytest.raises(UntrustedCodeError):
        list(sweep(people(), path, over={"cap": [9.0]}))


def shifted(X, labels, *, by=0.0):
    sums = [np.bincount(labels, x) / np.bincount(labels) for x in X.T]
    return np.transpose(sums) + by


def test_a_sweep_takes_an_aggregation_that_is_a_function():
    own = job(aggregation={"method": shifted})
    points = list(sweep(people(), own, over={"by": [0.0, 50.0]}, jobs=1))
    assert [point.at["by"] for point in points] == [0.0, 50.0]
    assert points[0].il < points[1].il


@pytest.mark.parametrize(
    "grid",
    [
        {"alpha": [1], "delta": [1]},
        {},
        {"over": {"capp": [1.0]}},
        {"over": {"cap": []}},
        {"over": {"cap": "12"}},
        {"over": {"cap": ["high"]}},
        {"over": {"cap": [1.0]}, "jobs": 0},
    ],
)
def test_a_sweep_refuses_what_is_no_grid_of_its_settings(grid):
    with refused(JobError):
        list(sweep(people(), job(aggregation={"model": capped}), **grid))


def test_a_sweep_of_p3m_has_no_settings_of_the_users():
    p3m = job(aggregation={"method": "p3m"})
    with refused(JobError):
        list(sweep(people(), p3m, alpha=[1], delta=[1], over={"cap": [1.0]}))


@pytest.mark.parametrize(
    ("section", "error"),
    [
        ({"model": capped, "capp": 1.0}, UnknownNameError),
        ({"model": capped, "cap": "wide"}, JobError),
        ({"model": capped, "method": "mean"}, JobError),
        ({"model": capped, "solver": 3}, JobError),
        ({"model": lambda x: x}, JobError),
    ],
)
def test_sections_that_cannot_be_are_refused_when_the_job_is_made(section, error):
    with refused(error):
        job(aggregation=section)


@pytest.mark.parametrize(
    ("section", "error"),
    [
        ({"model": "p3m"}, JobError),
        ({"model": "p4m"}, UnknownNameError),
        ({"model": capped, "solver": "clarable"}, UnknownNameError),
        ({"model": capped, "solver": "pyomo:highs"}, JobError),
        ({"model": capped, "options": {"log": 1}}, JobError),
        ({"model": lambda x, labels, sizes: 3}, JobError),
    ],
)
def test_what_cannot_be_used_is_refused_before_work(section, error):
    with refused(error):
        aggopt.mask(people(), job(aggregation=section))


def test_a_program_without_a_point_releases_nothing():
    asked = {"model": capped, "cap": 0.0, "solver": "clarabel"}
    with refused(SolverError, "infeasible"):
        aggopt.mask(people(), job(aggregation=asked))


def test_a_job_with_a_model_survives_a_dump_and_goes_by_name(file):
    path, code = file("lib/mine.py:means")
    read = Job.read(path)
    assert Job(**read.model_dump(by_alias=True)) == read
    assert "cap = 9.0" in read.to_toml()
    loaded = load_job(path, [code])
    assert find_model(loaded.aggregation).name == "mine.py:capped"
    assert hash(loaded) == hash(load_job(path, [code]))
    assert loaded.aggregation.solver.name == "mine.py:means"
    assert load_job(loaded).aggregation == loaded.aggregation
    object_ = job(aggregation={"model": capped, "solver": people})
    assert object_.model_dump()["aggregation"]["solver"] == "people"


def test_categories_are_published_beside_it():
    roles = {"quasi-identifier": ["age", "illness"], "identifier": ["name"]}
    asked = Job(
        roles=roles,
        privacy={"k": 3},
        aggregation={"model": capped, "cap": 9.0, "solver": "clarabel"},
    )
    table = people()[["name", "age", "illness"]]
    release = aggopt.mask(table, asked)
    assert set(release.certificates) == {"age", "illness"}
    assert release.audit.smallest >= 3


def test_values_that_are_missing_are_left_out_of_its_data():
    table = people().astype({"age": float})
    table.loc[[1, 5, 9, 13, 17, 21], "age"] = float("nan")
    asked = job(
        missing={"policy": "patterns"},
        aggregation={"model": capped, "cap": 9.0, "solver": "clarabel"},
    )
    release = aggopt.mask(table, asked)
    assert set(release.certificates) == {"age", "income"}


# --- what is said of a model of the user's that has no answer, or none shown best


OURS = Certificate(Status.INFEASIBLE, 1.0, None, 0.0, "highs", 0.1)
OWN = replace(OURS, judge="mine.py")
SETTINGS = "give your model other settings, or correct it"
WHY = (
    " The job names no limit: the solver ended by itself, and nothing shows that no "
    "values are better. Its word is taken where each variable has bounds, no number of "
    "the program is tiny or huge, and its gap is 1e-6 or less."
)


def whole(x, labels, sizes, *, reach=0):
    box = {"bounds": [-reach, reach]} if reach else {}
    c = cp.Variable(len(sizes), name="c", integer=True, **box)
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(c[labels] - x))))


@pytest.mark.parametrize(
    "failed",
    [
        [OURS],
        [OWN, OURS],
        [OWN],
        [replace(OWN, status=Status.FAILED)],
        [replace(OWN, status=Status.FAILED), OWN],
    ],
)
def test_the_remedy_depends_on_whose_model_failed(failed) -> None:
    certificates = {f"attribute {j}": one for j, one in enumerate(failed)}
    solved = {"pay": replace(OURS, status=Status.OPTIMAL)}
    with refused(SolverError, "'attribute 0'"):
        require_solved(certificates | solved)


def test_a_limit_that_nobody_named_is_explained() -> None:
    stopped = replace(OWN, status=Status.UNPROVEN)
    own = job(aggregation={"model": whole})
    assert explain_stop(stopped, own) == WHY
    assert explain_stop(stopped, job()) == WHY
    at_its_own = explain_stop(replace(OWN, status=Status.LIMIT), own)
    assert (
        "no limit: it is one of the solver's own, or that of 600 seconds" in at_its_own
    )
    assert explain_stop(replace(OURS, status=Status.UNPROVEN), own) == ""
    assert explain_stop(replace(OWN, status=Status.GAP), own) == ""
    for named in ({"time_limit": 9.0}, {"options": {"mip_rel_gap": 0.1}}):
        limited = job(aggregation={"model": whole, "solver": "highs", **named})
        assert explain_stop(stopped, limited) == ""


def test_a_release_by_an_integer_program_says_why_it_is_not_shown_best() -> None:
    def notes(**settings):
        section = {"model": whole, "solver": "cvxpy:highs", **settings}
        release = aggopt.mask(people(9), job(aggregation=section))
        return release.certificates["age"].status, "\n".join(release.notes)

    status, said = notes()
    assert status is Status.UNPROVEN
    assert f"'age': cvxpy:highs {status}.{WHY}" in said
    status, said = notes(reach=9)
    assert status is Status.OPTIMAL
    assert WHY not in said
