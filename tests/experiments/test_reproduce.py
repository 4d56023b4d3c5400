"""Published tables: each figure cited once, and ours in its place."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from typer.testing import CliRunner

from aggopt.aggregate import mean, p3m
from aggopt.command import show_experiments
from aggopt.command.cli import app
from aggopt.errors import AggoptError, JobError, TableError, UnknownNameError
from aggopt.experiments import reproduce as methods
from aggopt.experiments.published_picture import draw_reproduced
from aggopt.experiments.reproduce import (
    PublishedCell,
    PublishedTable,
    Reproduced,
    load_studies,
    load_study,
    reproduce,
)
from aggopt.measure import si, sl
from aggopt.partition import closeness_first, mdav, mhm

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("AGGOPT_DATA", ROOT.parent / "shared" / "data"))
OWN = pd.DataFrame(
    np.random.default_rng(0).gamma(2.0, size=(60, 3)), columns=["a", "b", "held"]
)
X = OWN[["a", "b"]].to_numpy()
EVERY = [
    (name, number) for name, one in load_studies().items() for number in one.tables
]


def ours(name: str, table: Any, **given: Any) -> list[Reproduced]:
    """Return the cells that are filled from the user's table."""
    given = {"data": OWN, "columns": ["a", "b"], **given}
    return [r for r in reproduce(name, table, **given) if r.ours is not None]


# what is in print


@pytest.mark.parametrize(("name", "number"), EVERY)
def test_every_figure_is_cited_and_can_be_computed(name: str, number: str) -> None:
    table = load_study(name).table(number)
    assert load_study(name).citation
    assert table.method in methods.METHODS
    places = [(c.figure, c.data, c.k, c.t) for c in table.cells]
    assert len(set(places)) == len(places)
    for cell in table.cells:
        if table.method in methods.CLOSE:
            least, average = map(int, str(cell.printed).split("/"))
            assert least <= average <= 1080
            assert cell.value is None
        elif cell.printed is not None:
            assert 0 < cell.value < 100
    if any(cell.printed is None for cell in table.cells):
        assert table.note  # the reason


def test_what_is_in_print_and_not_here_has_its_reason() -> None:
    """A table with cells that nobody could read is named with the reason."""
    for name in ("mortazavi2017", "soria-comas2015"):
        assert load_study(name).missing
    said = " ".join(load_study("mortazavi2017").missing)
    for figure in ("Table 5", "DREAM", "90.48", "93.05", "Synthetic"):
        assert figure in said


def test_the_rivals_of_table_6_are_in_print_elsewhere_too() -> None:
    by_number = load_study("mortazavi2017").tables
    for data in ("Tarragona", "Census", "EIA"):
        assert by_number["6"].row("P3M", data) == by_number["4"].row("P3M", data)


def test_a_cell_has_its_printed_digits_and_its_number() -> None:
    cells = load_study("mortazavi2017").table("2").row("means", "Tarragona")
    assert [c.printed for c in cells] == ["29.33", "33.78", "37.00", "47.20"]
    assert [c.value for c in cells] == [29.33, 33.78, 37.0, 47.2]


def test_parameters_differ_from_cell_to_cell() -> None:
    cells = load_study("mortazavi2017").table(4).row("P3M", "EIA")
    pairs = [(c.alpha, c.delta) for c in cells]
    assert pairs == [(0.6, 0.6), (0.6, 0.6), (0.6, 0.6), (0.8, 0.4)]


def test_no_figure_of_the_file_stands_in_a_benchmark_too() -> None:
    values = (c.printed for n, t in EVERY for c in load_study(n).table(t).cells)
    long = {v for v in values if v and "." in v and len(v) >= 5}
    files = [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("tests/*/test_published.py")]
    texts = {path.name: path.read_text("utf-8") for path in files}
    measured = "_closeness_tables.py"  # has figures of ours of as many digits
    twice = [
        (name, value)
        for name, text in texts.items()
        for value in long
        if name != measured and f"{value}," in text
    ]
    assert twice == []


# ours in its place


@pytest.mark.skipif(
    not (FOLDER / "EIA.rda").exists(), reason="set AGGOPT_DATA to the folder with EIA"
)
def test_the_losses_of_mdav_are_as_published() -> None:
    cells = list(reproduce("domingo-ferrer2002", "IL"))
    assert len(cells) == 12
    assert all(cell.agrees for cell in cells)


def test_satisfaction_of_own_records() -> None:
    found = ours("mortazavi2017", 2)
    assert [(r.cell.figure, r.cell.k) for r in found] == [
        (figure, k) for figure in ("means", "P3M") for k in (3, 4, 5, 10)
    ]
    groups = mdav(X, 4)
    expected = {
        "means": mean(X, groups, keep="variance").values,
        "P3M": p3m(X, groups).values,
    }
    for each in found:
        if each.cell.k == 4:
            released = expected[each.cell.figure]
            assert each.ours == pytest.approx(100 * sl(X, released), abs=1e-9)
            assert each.shown == f"{each.ours:.2f}"
        assert (each.cell.data, each.cell.printed, each.agrees) == ("yours", None, None)


def test_importance_is_drawn_as_matlab_draws() -> None:
    W = methods.draw_matlab_random((2, 3))
    assert W.ravel(order="F")[:2] == pytest.approx([0.417022, 0.720324], abs=1e-6)
    groups = mdav(X, 5)
    weights = methods.draw_matlab_random(X.shape)
    released = p3m(X, groups, importance=weights).values
    own = {(r.cell.figure, r.cell.k): r for r in ours("mortazavi2017", 3)}
    found = own["P3M", 5]
    assert found.ours == pytest.approx(
        100 * sl(X, released, importance=weights), abs=1e-9
    )


def test_own_records_get_the_best_pair_of_the_grid(monkeypatch) -> None:
    monkeypatch.setattr(methods, "GRID", (0.2, 0.8))
    records = methods.StudyRecords("yours", X)
    groups = mdav(X, 4)
    scores = {
        (a, delta): 100 * si(X, p3m(X, groups, alpha=a, delta=delta).values)
        for a in (0.2, 0.8)
        for delta in (0.2, 0.8)
    }
    best = methods._compute_figure(
        "scoring index", records, PublishedCell("P3M", "", 4)
    )
    assert best == pytest.approx(min(scores.values()), abs=1e-9)
    cell = PublishedCell("P3M", "", 4, alpha=0.2, delta=0.8)
    one = methods._compute_figure("scoring index", records, cell)
    assert one == pytest.approx(scores[0.2, 0.8], abs=1e-9)
    means = methods._compute_figure(
        "scoring index", records, PublishedCell("means", "", 4)
    )
    released = mean(X, groups, keep="variance").values
    assert means == pytest.approx(100 * si(X, released), abs=1e-9)


def test_p3m_that_keeps_the_covariance_is_compared_with_its_rivals() -> None:
    (found, *_) = ours("mortazavi2017", 6)
    kept = p3m(
        X, mdav(X, 3), alpha=0.8, delta=0.8, keep="covariance", options={"rounds": 1}
    )
    assert np.cov(kept.values.T) == pytest.approx(np.cov(X.T))
    assert found.ours == pytest.approx(100 * si(X, kept.values), abs=1e-9)
    table = load_study("mortazavi2017").table(6)
    (first, *_) = table.cells
    for figure, better in ((16.0, True), (16.69, False), (17.0, False)):
        compared = Reproduced(table, first, figure)
        assert (compared.is_better, compared.agrees) == (better, None)
    text = show_experiments._count_agreements(
        [Reproduced(table, first, 16.0), Reproduced(table, first, 17.0)]
    )
    assert text == "Better than print: 1 of 2 figures."


def test_seconds_are_measured_and_synthetic_has_ten_clusters() -> None:
    assert all(r.ours > 0 for r in ours("mortazavi2017", 5))
    frame = methods.draw_synthetic()
    centres = frame.groupby(np.arange(10_000) // 1000).mean()
    apart = np.linalg.norm(centres.to_numpy()[:, None] - centres.to_numpy(), axis=2)
    assert apart[~np.eye(10, dtype=bool)].min() > 10  # standard deviations


def test_the_loss_of_close_groups_falls_with_t() -> None:
    found = ours("soria-comas2015", "F.III", confidential=["held"])
    losses = [r.ours for r in found if r.cell.k == 2]
    assert len(losses) == 7
    assert losses[-1] < losses[0]
    groups = closeness_first(X, OWN["held"].to_numpy(), 2, 0.01, bins="rank")
    shares = (mean(X, groups).values - X) / np.ptp(X, axis=0)
    assert losses[0] == pytest.approx((shares**2).mean())


def test_loss_by_an_ordering() -> None:
    from aggopt.measure import il

    found = {
        (r.cell.figure, r.cell.k): r.ours for r in ours("domingo-ferrer2006", "IL")
    }
    for order in ("mdav", "npn"):
        released = mean(X, mhm(X, 5, order=order)).values
        assert found[f"{order.upper()}-MHM", 5] == pytest.approx(100 * il(X, released))


def test_sizes_of_groups_that_are_close() -> None:
    found = ours("soria-comas2015", "III", confidential=["held"])
    assert {r.cell.figure for r in found} == {"held"}
    assert len(found) == 49
    for each in found:
        least, average = map(int, str(each.ours).split("/"))
        assert each.cell.k <= least <= average <= 60
        assert each.shown == each.ours
    plain = each.to_dict()
    assert plain["published"] is None
    assert (plain["k"], plain["t"], plain["figure"]) == (30, 0.25, "held")


def test_published_cells_come_first_and_without_ours() -> None:
    found = list(reproduce("mortazavi2017", 2, data=OWN, columns=["a", "b"]))
    printed = [r for r in found if r.ours is None]
    assert found[: len(printed)] == printed
    assert len(printed) == 24
    assert {r.shown for r in printed} == {""}


def test_digits_and_agreement() -> None:
    table = PublishedTable("1", "", "", "", (), ())
    for printed, value, shown, agrees in (
        ("4.70", 4.696, "4.70", True),
        ("4.7", 4.76, "4.8", False),
        ("4.7", 4.66, "4.7", True),
        (None, 4.666, "4.67", None),
    ):
        found = Reproduced(table, PublishedCell("", "", 3, printed=printed), value)
        assert (found.shown, found.agrees) == (shown, agrees)
        apart = None if printed is None else value - float(printed)
        assert found.difference == apart


def test_it_is_said_how_many_agree_and_how_far_others_are_off() -> None:
    table = PublishedTable("1", "", "", "", (), ())
    cells = [
        Reproduced(table, PublishedCell("", "", 3, printed=printed), ours)
        for printed, ours in (("4.70", 4.7), ("4.7", 4.5), ("2/3", "2/2"), (None, 9.0))
    ]
    said = show_experiments._count_agreements(cells)
    assert said == "Equal to print: 1 of 3 figures; the largest difference is 0.2."
    assert (
        show_experiments._count_agreements(cells[2:3])
        == "Equal to print: 0 of 1 figure."
    )
    assert show_experiments._count_agreements(cells[3:]) == ""


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    given = {"data": OWN, "columns": ["a"], "progress": lambda *said: told.append(said)}
    list(reproduce("domingo-ferrer2002", **given))
    assert told == [("table IL", share) for share in (0.0, 0.25, 0.5, 0.75)]


# refusals, before any work


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("mortazavi", {}, UnknownNameError),
        ("mortazavi2017", {"table": 7}, UnknownNameError),
        ("mortazavi2017", {"columns": ["a"]}, JobError),
        ("mortazavi2017", {"data": OWN}, JobError),
        ("soria-comas2015", {"data": OWN, "columns": ["a"]}, JobError),
        (
            "mortazavi2017",
            {"data": OWN, "columns": ["a"], "confidential": ["held"]},
            JobError,
        ),
        ("mortazavi2017", {"data": OWN, "columns": ["aa"]}, JobError),
        (
            "mortazavi2017",
            {"data": OWN.assign(a=["x", "y"] * 30), "columns": ["a"]},
            TableError,
        ),
        ("mortazavi2017", {"progress": 3}, JobError),
    ],
)
def test_refused(name: str, given: dict[str, Any], error: Any) -> None:
    with refused(error):
        reproduce(name, **given)


# the command


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["reproduce", *words])


def test_without_a_study_all_are_listed() -> None:
    said = run().stdout
    found = json.loads(run("--json").stdout)
    assert list(found) == list(load_studies())
    for name, one in found.items():
        assert name in said
        assert one["tables"].keys() == load_study(name).tables.keys()
    refused = run("--table", "3").exception
    assert isinstance(refused, JobError)
    assert "needs a study" in refused.problem


def test_own_file_beside_what_is_in_print(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    OWN.to_csv(path, index=False)
    words = ("domingo-ferrer2002", "--data", str(path), "--columns", "a,b")
    found = json.loads(run(*words, "--json").stdout)
    cells = found["tables"]["IL"]["cells"]
    assert found["citation"] == load_study("domingo-ferrer2002").citation
    assert [c["published"] for c in cells[:4]] == [
        *("16.9326", "19.5460", "22.4619", "33.1929")
    ]
    assert {c["data"] for c in cells[-4:]} == {"mine.csv"}
    said = run(*words).stdout
    assert "(16.9326)" in said
    assert f"{cells[-1]['ours']:.4f}" in said
    unknown = run("domingo-ferrer").exception
    assert isinstance(unknown, AggoptError)


def test_curves_are_drawn_for_each_table_and_data_set(tmp_path: Path) -> None:
    sizes = ours("soria-comas2015", "III", confidential=["held"])
    figure = draw_reproduced([*ours("domingo-ferrer2002", "IL"), *sizes])
    first, second = figure.axes
    (line, marks) = first.get_lines()
    losses = [cell.ours for cell in ours("domingo-ferrer2002", "IL")]
    assert line.get_ydata() == pytest.approx(losses)
    assert np.isnan(marks.get_ydata()).all()  # nothing of one's own is in print
    assert second.get_title() == "Table III, yours, held"
    means = [float(str(r.ours).split("/")[1]) for r in sizes if r.cell.k == 2]
    assert second.get_lines()[0].get_ydata() == pytest.approx(means)
    with refused(JobError):
        draw_reproduced([])


def test_a_picture_is_written_once(tmp_path: Path) -> None:
    path, picture = tmp_path / "mine.csv", tmp_path / "curves.png"
    OWN.to_csv(path, index=False)
    words = ("domingo-ferrer2002", "--data", str(path), "--columns", "a,b")
    assert run(*words, "--figure", str(picture)).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    with refused(TableError):
        raise run(*words, "--figure", str(picture)).exception
    with refused(TableError):
        raise run(*words, "--figure", str(tmp_path / "curves.pdf")).exception
    with refused(JobError):
        raise run(*words, "--overwrite").exception
