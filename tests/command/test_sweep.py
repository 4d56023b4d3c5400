"""Solvers side by side, and P3M over a grid."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from refusals import refused
from tables import job, people, promising, salaried, wide, wide_job

from aggopt import mask
from aggopt.command import show_experiments
from aggopt.errors import (
    AggoptError,
    JobError,
    SolverError,
    TableError,
    UnknownNameError,
)
from aggopt.experiments import compare_solvers, sweep
from aggopt.experiments.sweep import SweepPoint, select_pareto_points
from aggopt.solvers import SOLVERS

P3M = {"method": "p3m", "solver": "uno", "margin": 0}  # to compare two runs


def test_every_solver_that_takes_the_model_has_a_row():
    few = people(16)
    rows = list(compare_solvers.compare(few, job(aggregation=P3M), time_limit=600))
    assert [r.solver for r in rows] == [
        n for n, s in SOLVERS.items() if s.fits("p3m", "NLP")
    ]
    for row in rows:
        assert bool(row.note) == (not SOLVERS[row.solver].installed)
        assert (row.objective is None) == bool(row.note)


def test_a_row_says_what_the_release_says():
    (row,) = compare_solvers.compare(people(), job(aggregation=P3M), ["uno"])
    release = mask(people(), job(aggregation=P3M))
    certificates = release.certificates.values()
    assert row.solver == "cvxpy:uno"
    assert row.objective == pytest.approx(sum(c.objective for c in certificates))
    assert row.bound is None
    assert row.gap is None
    assert (row.sl, row.si) == (release.measures.sl, release.measures.si)
    assert row.status == "locally optimal"
    assert row.to_dict()["seconds"] > 0


@pytest.mark.slow
def test_solvers_of_a_partition_are_compared_where_the_aggregation_has_a_formula():
    asked = wide_job(partition={"method": "individual_ranking"})
    rows = {row.solver: row for row in compare_solvers.compare(wide(30), asked)}
    assert set(rows) == {n for n, s in SOLVERS.items() if s.fits("univariate", "LP")}
    release = mask(wide(30), asked)
    lost = sum(block.certificate.objective for block in release.blocks)
    for row in rows.values():
        if SOLVERS[row.solver].installed:
            assert row.objective == pytest.approx(lost)
            assert row.gap == pytest.approx(0, abs=1e-5)
            assert row.sl is None


def test_a_solver_that_gives_up_on_a_partition_says_why():
    frame = wide(30)
    frame["debt"] = -(10.0 ** np.arange(30))
    asked = wide_job(partition={"method": "individual_ranking"})
    dynamic, highs = compare_solvers.compare(frame, asked, ["dynamic", "cvxpy:highs"])
    assert dynamic.status == "optimal"
    assert highs.note.startswith(
        "Attributes 'debt': The scales of the values are too far"
    )


def test_what_cannot_be_compared_is_refused():
    with refused(JobError, "'mdav'", "'mean'"):
        list(compare_solvers.compare(people(), job()))
    with refused(UnknownNameError, "'uno'"):
        list(compare_solvers.compare(people(), job(aggregation=P3M), ["unno"]))
    with refused(SolverError, "not installed"):
        list(compare_solvers.compare(people(), job(aggregation=P3M), ["gams"]))


PROGRAMS = [  # solvers of integer programs, in each step that asks them
    {"partition": {"method": "optimal"}},
    {"t": 0.2, "repair": "merge-ilp"},
    {"t": 0.2, "repair": {"method": "swap", "solver": "cvxpy:highs"}},
]


@pytest.mark.slow
@pytest.mark.parametrize("asked", PROGRAMS)
def test_integer_programs_are_compared_and_their_values_audited(asked):
    names, frame = ["cvxpy:highs", "pyomo:highs"], salaried(18)
    rows = list(compare_solvers.compare(frame, promising(**asked), names, 20.0))
    assert [row.solver for row in rows] == names
    for row in rows:
        assert row.holds is True
        assert row.bound is not None
        assert row.bound <= row.objective
        assert row.si is not None
    assert rows[0].objective == pytest.approx(rows[1].objective, rel=1e-6)


GRID = {"alpha": [0.3, 0.7], "delta": [0.1, 0.5]}


@pytest.mark.parametrize(
    ("jobs", "how"),
    [(1, P3M), pytest.param(2, {"method": "p3m", "margin": 0}, marks=pytest.mark.slow)],
)
def test_a_sweep_measures_every_point(jobs, how):
    points = list(sweep.sweep(people(), job(aggregation=how), **GRID, jobs=jobs))
    assert {(p.alpha, p.delta) for p in points} == {
        (a, d) for a in GRID["alpha"] for d in GRID["delta"]
    }
    point = next(p for p in points if (p.alpha, p.delta) == (0.3, 0.5))
    one = mask(people(), job(aggregation={**how, "alpha": 0.3, "delta": 0.5}))
    assert point.sl == pytest.approx(one.measures.sl)
    assert point.dr == pytest.approx(one.measures.dr)
    assert point.linkage == pytest.approx(one.measures.linkage)
    assert point.blocks == 1


@pytest.mark.parametrize(
    "change",
    [{"alpha": []}, {"alpha": [1.5]}, {"delta": [-1.0]}, {"delta": [float("nan")]}],
)
def test_a_grid_that_cannot_be_used_is_refused(change):
    with refused(JobError):
        list(sweep.sweep(people(), job(aggregation=P3M), **{**GRID, **change}))


def test_a_sweep_needs_p3m():
    with refused(JobError, "'mean'"):
        list(sweep.sweep(people(), job(), **GRID))


P3M_FAST = {"method": "p3m", "margin": 0}
BOTH = ("variance", "covariance")


def test_a_sweep_goes_through_what_is_kept():
    points = list(
        sweep.sweep(
            people(),
            job(aggregation=P3M_FAST),
            alpha=[0.5],
            delta=[0.2],
            keep=[*BOTH, "variance"],
            jobs=1,
        )
    )
    assert [p.keep for p in points] == [*BOTH[::-1]]
    for point in points:
        asked = {**P3M_FAST, "keep": point.keep, "alpha": 0.5, "delta": 0.2}
        one = mask(people(), job(aggregation=asked)).measures
        assert point.sl == pytest.approx(one.sl)
        assert point.pil == pytest.approx(one.pil)
        assert point.pil_parts == one.pil_parts
        assert point.correlation_error == pytest.approx(one.correlation_error)
        row = point.to_dict()
        assert row["pil_correlations"] == one.pil_parts.correlations
        assert "pil_parts" not in row
    assert points[0].correlation_error < 1e-5 < points[1].correlation_error


def test_a_sweep_keeps_what_its_job_keeps_if_nothing_is_named():
    asked = job(aggregation={**P3M_FAST, "keep": "covariance"})
    (one,) = sweep.sweep(people(), asked, alpha=[0.5], delta=[0.2], jobs=1)
    assert one.keep == "covariance"


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("asked", "k", "keep", "message"),
    [
        (P3M_FAST, 3, ["covarianc"], "did you mean 'covariance'"),
        (P3M_FAST, 3, ["variance", "mean"], 'p3m with keep = "mean"'),
        ({"method": "p3m_onesided"}, 14, BOTH, "of rank 2 is kept by 3 or more"),
        ({**P3M_FAST, "solver": "lagrangian"}, 3, BOTH, "lagrangian does not take"),
        (P3M_FAST, 14, BOTH, "of rank 2 is kept by 3 or more"),
        (P3M_FAST, 14, BOTH[::-1], "of rank 2 is kept by 3 or more"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_work(asked, k, keep, message):
    how = job(k=k, aggregation=asked)
    with pytest.raises(AggoptError, match=message):
        list(sweep.sweep(people(), how, alpha=[0.5], delta=[0.2], keep=keep, jobs=1))


def point(linkage: float, pil: float, blocks: int = 1) -> SweepPoint:
    return SweepPoint(0.5, 0.1, linkage, blocks, 0.4, 1 - linkage, pil, 0, 0, None, "")


def test_pareto_keeps_what_no_other_point_beats_in_linkage_and_loss():
    points = [point(0.3, 0.3), point(0.1, 0.5), point(0.2, 0.6), point(0.3, 0.2)]
    assert [(p.linkage, p.pil) for p in select_pareto_points(points)] == [
        (0.1, 0.5),
        (0.3, 0.2),
    ]
    assert select_pareto_points([]) == []


def test_a_sweep_links_more_than_1000_records_in_blocks():
    X = np.random.default_rng(0).normal(size=(1001, 1))
    asked = job(
        roles={"quasi-identifier": ["0"]}, aggregation=P3M, partition={"method": "mdav"}
    )
    (one,) = sweep.sweep(X, asked, alpha=[0.5], delta=[0.1], jobs=1)
    (few,) = sweep.sweep(X[1:], asked, alpha=[0.5], delta=[0.1], jobs=1)
    assert (one.blocks, few.blocks) == (2, 1)


@pytest.mark.parametrize(
    ("blocks", "says"),
    [
        ((1, 1), "records linked by one-to-one assignment, %"),
        ((2, 2), "one-to-one assignment, % (in 2 blocks: mostly a little too high)"),
        ((4, 2, 3), "(in 2-4 blocks: mostly a little too high)"),
    ],
)
def test_the_picture_says_what_its_risk_is(blocks, says, tmp_path, monkeypatch):
    points = [point(0.3 - 0.1 * i, 0.3, b) for i, b in enumerate(blocks)]
    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure,
        "savefig",
        lambda self, *a, **k: (drawn.append(self), save(self, *a, **k)),
    )
    show_experiments.draw_sweep(points, tmp_path / "s.png")
    panel = drawn[0].axes[0]
    assert panel.get_xlabel().endswith(says)
    places = panel.collections[0].get_offsets()
    expected = [(100 * p.linkage, 100 * p.pil) for p in points]
    assert np.asarray(places) == pytest.approx(np.array(expected))


def test_the_picture_tells_apart_what_is_kept(tmp_path, monkeypatch):
    points = [replace(point(0.1 * i, 0.3), keep=BOTH[i % 2]) for i in range(1, 5)]
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: drawn.append(self))
    monkeypatch.setattr(show_experiments.Staging, "commit", lambda *a, **k: None)
    show_experiments.draw_sweep(points, tmp_path / "s.png")
    panel = drawn[0].axes[0]
    named = [text.get_text() for text in panel.get_legend().get_texts()]
    assert named == ["covariance kept", "variance kept"]
    for shown, statistic in zip(panel.collections, BOTH[::-1], strict=True):
        own = [[100 * p.linkage, 100 * p.pil] for p in points if p.keep == statistic]
        assert np.asarray(shown.get_offsets()) == pytest.approx(np.array(own))
    show_experiments.draw_sweep(points[::2], tmp_path / "s.png")
    assert drawn[1].axes[0].get_legend() is None


def test_interrupted_a_sweep_keeps_what_is_done(tmp_path):
    def interrupted():
        with show_experiments.open_sweep_files(tmp_path / "s", overwrite=False) as kept:
            kept.add(point(0.3, 0.3))
            kept.add(point(0.1, 0.5))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert pd.read_csv(tmp_path / "s.csv")["linkage"].tolist() == [0.3, 0.1]
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_sweep_overwrites_nothing_unasked(tmp_path):
    (tmp_path / "s.csv").write_text("mine")
    with (
        pytest.raises(TableError, match=r"s\.csv would be overwritten"),
        show_experiments.open_sweep_files(tmp_path / "s", overwrite=False),
    ):
        pass
    with (
        pytest.raises(TableError, match="There is no folder"),
        show_experiments.open_sweep_files(tmp_path / "no" / "s", overwrite=False),
    ):
        pass
    assert (tmp_path / "s.csv").read_text() == "mine"


@pytest.fixture
def aggopt(aggopt, monkeypatch, tmp_path):
    """Run the command in a folder with a table and a job."""
    monkeypatch.chdir(tmp_path)
    people().drop(columns=["name", "note"]).to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(
        '[roles]\nquasi-identifier = ["age", "income"]\nconfidential = ["illness"]\n'
        '[privacy]\nk = 3\n[aggregation]\nmethod = "p3m"\nsolver = "uno"\n'
    )
    return aggopt


def test_interrupted_a_sweep_says_that_points_are_kept(aggopt, monkeypatch, tmp_path):
    def points(*_, **__):
        yield point(0.3, 0.3)
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "sweep", points)
    code, _, err = aggopt(
        *("sweep", "people.csv", "job.toml", "--alpha", "0.5", "--delta", "0.1")
    )
    assert code == 130
    said = " ".join(err.split())
    assert "Interrupted. To fix: run it again; points that are done are kept" in said
    assert "kept in sweep.csv" in said
    assert pd.read_csv(tmp_path / "sweep.csv")["linkage"].tolist() == [0.3]


def test_compare_solvers_as_a_command(aggopt):
    words = ("compare-solvers", "people.csv", "job.toml", "--solvers", "uno")
    code, out, _ = aggopt(*words)
    assert code == 0
    assert "cvxpy:uno" in out
    assert "All solvers have the same secret margins." in out
    code, out, _ = aggopt(*words, "--json")
    assert json.loads(out)["cvxpy:uno"]["status"] == "locally optimal"


def test_solvers_of_a_partition_are_compared_as_a_command(aggopt, tmp_path):
    path = tmp_path / "job.toml"
    text = path.read_text().split("[aggregation]")[0]
    path.write_text(text + '[partition]\nmethod = "optimal"\n')
    words = ("compare-solvers", "people.csv", "job.toml", "--solvers", "cvxpy:highs")
    code, out, _ = aggopt(*words, "--time-limit", "20", "--json")
    found = json.loads(out)["cvxpy:highs"]
    assert (code, found["holds"]) == (0, True)
    assert found["bound"] <= found["objective"]


def test_sweep_as_a_command(aggopt, tmp_path):
    words = ("sweep", "people.csv", "job.toml", "--alpha", "0.2,0.8", "--jobs", "1")
    code, out, err = aggopt(*words, "--delta", "0.1")
    assert (code, err) == (0, "")
    assert len(pd.read_csv("sweep.csv")) == 2
    assert (tmp_path / "sweep.png").exists()
    assert "*" in out
    code, _, err = aggopt(*words, "--delta", "0.1")
    assert code == 2
    assert "--overwrite" in err
    more = (*words, "--delta", "0.1", "--overwrite", "--keep", "variance, covariance")
    code, out, _ = aggopt(*more)
    table = pd.read_csv("sweep.csv")
    assert (code, sorted(table["keep"])) == (0, sorted(BOTH * 2))
    assert {"pil_quantiles", "pil_correlations", "correlation_error"} <= {*table}
    assert out.count("covariance") == 2
    code, _, err = aggopt(*words, "--delta", "far", "--overwrite")
    assert code == 2
    assert "delta is 'far'" in err


def test_inputs_are_not_overwritten(aggopt, tmp_path):
    table, job = (tmp_path / n for n in ("people.csv", "job.toml"))
    before = table.read_bytes(), job.read_bytes()
    grid = ("--alpha", "0.5", "--delta", "0.1", "--overwrite")
    code, _, err = aggopt("sweep", "people.csv", "job.toml", *grid, "--out", "people")
    assert code == 2
    assert "over the input itself" in err
    code, _, err = aggopt("init", "people.csv", "--out", "people.csv", "--overwrite")
    assert code == 2
    assert "over the input itself" in err
    assert before == (table.read_bytes(), job.read_bytes())


def test_failed_points_are_never_best():
    failed = SweepPoint(0.5, 0.1, 0, 1, 0, 0, 0, 0, 0, None, "failed", usable=False)
    assert select_pareto_points([failed, point(0.3, 0.3)]) == [point(0.3, 0.3)]


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_time_limit_that_is_none_is_refused(limit):
    how = job(aggregation={"method": "p3m"})
    with pytest.raises(JobError, match=f"time_limit = {limit}"):
        list(compare_solvers.compare(people(), how, ["lagrangian"], limit))


def test_the_limit_is_the_one_asked_then_the_job_s_then_a_minute():
    assert [
        compare_solvers._choose_time_limit(*of)
        for of in ((3.0, 4.0), (None, 4.0), (None, None))
    ] == [3.0, 4.0, 60.0]
    assert compare_solvers._choose_time_limit(None, 0.0) == 0  # seconds = 0: at once
