"""A choice: points are releases, groups are made once, the least loss is named."""

import json
import os
import re
import signal
import stat
from pathlib import Path

import numpy as np
import pytest
from contract_rows import rows_of
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from tables import job, people, promising, put_partitioner, salaried

from aggopt import choose, mask
from aggopt.errors import AggoptError, JobError, TableError
from aggopt.experiments._cell import describe_failure
from aggopt.experiments._choice import Choices
from aggopt.experiments._choice_grid import AXES, ChoicePoint, make_choice_point
from aggopt.partition import mdav

FRAME = people(24)


def found(asked=None, table=FRAME, **axes):
    return choose(table, asked or job(), **axes)


def counting(monkeypatch, stop=None):
    """Let mdav count its calls; at k = `stop` it interrupts, as Ctrl-C does."""
    calls = []

    def counted(X, k, *, ending="3k"):
        calls.append(k)
        if k == stop:
            os.kill(os.getpid(), signal.SIGINT)
        return mdav(X, k, ending=ending)

    put_partitioner(monkeypatch, "mdav", counted)
    return calls


def test_a_point_says_what_the_release_of_its_job_says():
    made = found(k=[3, 5], keep=["mean", "variance"], method=["cbfs"])
    assert [dict(p.asked) for p in made.points] == [
        {"method": "cbfs", "keep": keep, "k": k}
        for keep in ("mean", "variance")
        for k in (3, 5)
    ]
    for number, point in enumerate(made.points, start=1):
        assert (point.number, point.job.privacy.k) == (number, point.asked["k"])
        release = mask(FRAME, point.job)
        proof = release.blocks[0].certificate
        assert (point.holds, point.error) == (True, None)
        assert point.smallest == release.audit.smallest
        assert (point.groups, point.groups_gap) == (release.blocks[0].groups, proof.gap)
        assert point.gap == max(c.gap for c in release.certificates.values())
        for name in ("il", "pil", "linkage", "linkage_limit", "si", "sl"):
            assert getattr(point, name) == getattr(release.measures, name)


def test_points_of_attributes_one_by_one_have_the_loss_of_their_release():
    alone = {"method": "individual_ranking"}
    blocks = job(partition=alone, privacy={"k": 3, "scope": "blocks"})
    for point in found(blocks, k=[3, 5]).points:
        assert point.il == mask(FRAME, point.job).measures.il


def test_groups_are_made_once_for_all_that_is_published_of_them(monkeypatch):
    calls = counting(monkeypatch)
    made = found(k=[3, 5], keep=["mean", "variance", "covariance"])
    assert (len(made), calls) == (6, [3, 5])


def test_equal_points_are_one():
    listed = ["mdav", {"method": "mdav"}, mdav]
    made = found(k=[3, np.int64(3), 5, 3], method=listed)
    assert [p.job.privacy.k for p in made.points] == [3, 5]
    assert [dict(p.asked) for p in found(k=4).points] == [{"k": 4}]


def test_no_t_leaves_out_what_is_said_of_it():
    asked = promising(t=0.4, distance="ordered", repair="merge", dominance=0.5)
    made = found(asked, salaried(24), t=[0.3, "none", None])
    first, second = made.points
    assert (first.asked["t"], second.asked["t"]) == (0.3, None)
    assert (first.job.privacy.t, first.job.privacy.repair.method) == (0.3, "merge")
    plain = promising(dominance=0.5)
    assert second.job == plain
    assert all(point.holds for point in made.points)


def test_what_a_job_says_of_its_table_is_kept_and_of_its_method_not():
    how = {"method": "mdav", "weights": "range", "ending": "nearest"}
    made = found(job(partition=how), method=["cbfs", "mdav", {"method": "mhm"}], k=3)
    assert [p.job.partition.weights for p in made.points] == ["range"] * 3
    cbfs, own, _ = (point.job.partition for point in made.points)
    assert (own.ending, cbfs.method) == ("nearest", "cbfs")


@pytest.mark.slow
def test_a_limit_of_time_is_for_searches_that_have_none():
    own = {"method": "optimal", "time_limit": 3.0}
    listed = ["optimal", own, {"method": "local_search", "effort": "fast"}, "mdav"]
    made = found(method=listed, time_limit=1, table=people(12))
    limits = [getattr(p.job.partition, "time_limit", None) for p in made.points]
    assert limits == [1.0, 3.0, None, None]
    labels = [point.asked["method"] for point in made.points]
    assert labels[1:3] == ["optimal (time_limit = 3.0)", "local_search (effort = fast)"]


def test_alpha_and_delta_are_those_of_the_aggregation():
    p3m = {"method": "p3m", "solver": "lagrangian", "margin": 0}
    made = found(job(aggregation=p3m), alpha=[0.2, 0.8], delta=[0.1])
    assert [p.job.aggregation.alpha for p in made.points] == [0.2, 0.8]
    assert {p.job.aggregation.solver for p in made.points} == {"lagrangian"}
    assert made.points[0].si is not None


def test_a_point_that_fails_says_why_and_the_others_are_done():
    absent = {"method": "optimal", "solver": "cvxpy:gurobi"}
    asked = job(aggregation={"method": "mean", "keep": "variance"})
    made = found(asked, k=[3, 13, 99], method=["mdav", absent])
    good, one_group, too_few, missing, *_ = made.points
    assert (good.holds, good.error) == (True, None)
    for point in (one_group, too_few):
        assert (point.holds, point.error) == (None, "InfeasibleInputError")
        assert point.linkage is point.pil is point.seconds is None
    assert "one value cannot keep the variance" in one_group.message
    assert "k = 99, but there are only 24 records" in too_few.message
    assert missing.error == "SolverError"
    assert made.front == (good,)
    assert made.verdict == "Choice: 6 points, 5 failed."


def test_a_release_that_breaks_its_promise_is_told_from_one_that_was_not_made():
    from aggopt.errors import PrivacyError

    rows = [describe_failure(PrivacyError("k does not hold.", fix="look."))]
    assert make_choice_point(1, {}, job(), rows).holds is False
    rows = [describe_failure(ValueError("Person 3"))]
    assert make_choice_point(1, {}, job(), rows).holds is None


def test_seconds_of_groups_count_once_for_each_block():
    one = {"seconds": 1.0, "groups.seconds": 8.0, "groups.gap": 0.1, "gap": 0.0}
    row = {**one, "groups": 3, "smallest": 3, "error": None}
    other = {**row, "groups.seconds": 16.0, "groups.gap": None}
    assert make_choice_point(1, {}, job(), [row, row]).seconds == 10.0
    two = make_choice_point(1, {}, job(), [row, other])
    assert (two.seconds, two.groups_gap, two.gap) == (26.0, None, 0.0)
    assert two.linkage is None
    assert Choices((two,), 1, None, 0.1, "pil").placed == ()


# the recommendation

SHARES = st.integers(0, 20).map(lambda twentieths: twentieths / 20)


def choice(*places, at_most=0.1, loss="pil"):
    points = tuple(
        ChoicePoint(
            number, {"k": number}, job(), True, linkage=x, linkage_limit=x, **{loss: y}
        )
        for number, (x, y) in enumerate(places, start=1)
    )
    return Choices(points, len(points), None, at_most, loss)


@examples(25)
@given(st.lists(st.tuples(SHARES, SHARES), max_size=8), SHARES)
def test_the_recommended_point_loses_least_of_those_within(places, most):
    best = choice(*places).recommended(most)
    within = [(y, x) for x, y in places if x <= most]
    if best is None:
        assert not within
    else:
        assert (best.pil, best.linkage) == min(within)


def test_the_recommendation_names_the_point_and_its_figures():
    made = choice((0.3, 0.1), (0.0832, 0.25), (0.05, 0.4))
    assert made.recommendation() == (
        "At most 10 % linked, least PIL: point 2 (k = 2). It links 8.3 % of the "
        "records (no linkage exceeds 8.3 %), with PIL 25 %."
    )
    assert made.recommended(0.05).number == 3
    il = choice((0.1, 0.2), loss="il")
    assert il.recommendation().startswith("At most 10 % linked, least IL: point 1")


def test_it_is_said_plainly_where_no_point_is_within():
    made = choice((0.3, 0.1), (0.2, 0.25))
    assert made.recommended() is None
    assert made.recommendation() == (
        "At most 10 % linked: no point qualifies, and point 2 (k = 2) links least. It "
        "links 20 % of the records (no linkage exceeds 20 %), with PIL 25 %. Allow a "
        "larger share, or try larger k."
    )
    assert "no point has figures" in choice().recommendation()


def test_it_prints_a_recommendation_and_a_table():
    made = choice((0.3, 0.1), (0.05, 0.25))
    said = repr(made)
    assert said.startswith("Choice: 2 points, 0 failed.\n\nAt most 10 % linked, least")
    assert said.split("\n")[4].split()[:3] == ["point", "k", "holds"]
    assert "<table>" in made._repr_html_()
    some = Choices(made.points[:1], 2, None, 0.1, "pil")
    assert some.verdict == "Choice: 1 of 2 points, 0 failed."


# tables, files, pictures


def test_rows_are_points_with_what_was_gone_through(tmp_path):
    made = found(k=[3, 99], method=["mdav"])
    path = made.to_csv(tmp_path / "found.csv")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    frame = made.to_pandas()
    assert list(frame.columns[:5]) == ["table", "point", "method", "k", "holds"]
    assert frame["front"].tolist() == [True, False]
    assert frame["linkage"][0] == made.points[0].linkage
    assert "job" not in frame


def test_a_picture_has_a_colour_for_each_method():
    panel = found(k=[3, 5], method=["mdav", "cbfs"]).plot().axes[0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("linkage", "pil")
    assert [len(points.get_offsets()) for points in panel.collections] == [2, 2]


# the cache, interrupts


def test_points_that_are_done_are_not_made_again_unless_they_were_edited(
    monkeypatch, tmp_path
):
    calls = counting(monkeypatch)
    kept = tmp_path / "kept"
    first = found(k=[3, 5], cache=kept)
    again = found(k=[3, 4, 5], cache=kept)
    assert calls == [3, 5, 4]
    assert [again.points[j].row | {"point": 0} for j in (0, 2)] == [
        point.row | {"point": 0} for point in first.points
    ]
    cells = sorted(kept.iterdir())
    assert {stat.S_IMODE(cell.stat().st_mode) for cell in cells} == {0o600}
    text = "".join(cell.read_text() for cell in cells)
    assert not any(f"{value!r}" in text for value in FRAME["income"])
    for cell in cells:
        edited = json.loads(cell.read_text())
        edited["rows"][0]["linkage"] = 0.0
        cell.write_text(json.dumps(edited))
    assert found(k=[3, 5], cache=kept).points[0].linkage == first.points[0].linkage
    assert calls == [3, 5, 4, 3, 5]


def test_an_interrupt_keeps_what_is_done(monkeypatch, tmp_path):
    calls = counting(monkeypatch, stop=5)
    with pytest.raises(KeyboardInterrupt) as stopped:
        found(k=[3, 5], cache=tmp_path / "kept")
    (note,) = stopped.value.__notes__
    assert note.startswith("1 of 2 cells is done, and kept in")
    calls = counting(monkeypatch)
    assert len(found(k=[3, 5], cache=tmp_path / "kept")) == 2
    assert calls == [5]


# the page of documentation

PAGE = (Path(__file__).parents[2] / "docs" / "choose.md").read_text("utf-8")


def test_the_page_names_every_column_and_every_option():
    made = found(k=3)
    names = [*made.columns[3:], *(f"--{name}" for name in AXES)]
    assert [name for name in names if f"`{name}" not in PAGE] == []


# what comes in, row by row of docs/input-commands.md

CASES = {
    "nothing to go through": {},
    "an empty list": {"k": []},
    "an unknown method": {"k": [3], "method": ["mdaav"]},
    "an unknown statistic": {"keep": ["varience"]},
    "a setting that the aggregation has not": {"alpha": [0.2]},
    "k not a whole number": {"k": [3, 3.5]},
    "an impossible share": {"k": [3], "at_most": 10},
    "an unknown loss": {"k": [3], "loss": "sse"},
    "a table that cannot be read": {"k": [3], "table": "none.csv"},
    "k above n / 2, means": {"k": [13]},
    "k above n / 2, the variance kept": {"k": [13], "keep": ["variance"]},
    "k above n": {"k": [25]},
    "a t that nothing keeps": {"t": [0.1]},
    "none among values of t": {"t": ["none"]},
    "points that are equal": {"k": [3, 3]},
}


TABLE = rows_of("Choice between jobs")


def test_the_document_and_the_tests_list_the_same_inputs():
    assert list(TABLE) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_contract(name, monkeypatch):
    outcome, says = TABLE[name]
    calls = counting(monkeypatch)
    how = {"table": salaried(24), "asked": promising(), **CASES[name]}
    if outcome == "refused":
        with pytest.raises(AggoptError, match=re.escape(says)) as error:
            found(**how)
        assert isinstance(error.value, JobError | TableError)
        assert calls == []
        return
    (point,) = found(**how).points
    if outcome == "a point that failed":
        assert point.holds is None
        assert says in point.message
    else:
        assert outcome == "a point"
        assert point.holds is True
