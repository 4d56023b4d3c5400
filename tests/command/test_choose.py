"""`aggopt choose`: a page and a table, a recommendation, exit codes, interrupts."""

import json
import os
import stat

import pandas as pd
import pytest
from tables import people

from aggopt import Job
from aggopt.command.choose import _parse_sections

CODE = """
import os
import signal
import numpy as np

def split(X, k):
    if k == 4:
        os.kill(os.getpid(), signal.SIGINT)
    return np.minimum(np.argsort(np.argsort(X[:, 0])) // k, len(X) // k - 1)
"""
JOB = """
[roles]
quasi-identifier = ["age", "income"]
other = ["name", "illness", "note"]
[privacy]
k = 3
[partition]
method = "mdav"
"""
RUN = ("choose", "people.csv", "job.toml", "--out", "choice.html", "--jobs", "1")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder with a table, a job and code, in which we are."""
    monkeypatch.chdir(tmp_path)
    people(24).to_csv("people.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


LISTS = {
    "mdav": ["mdav"],
    " mdav , cbfs,": ["mdav", "cbfs"],
    'mdav,{method = "mhm", order = "tsp"}, cbfs': [
        "mdav",
        {"method": "mhm", "order": "tsp"},
        "cbfs",
    ],
    '{method = "a,}b", of = {x = 1, y = [2, 3]}}': [
        {"method": "a,}b", "of": {"x": 1, "y": [2, 3]}}
    ],
}


@pytest.mark.parametrize("stated", LISTS)
def test_methods_with_settings_may_stand_in_a_list(stated):
    named = [e if isinstance(e, dict) else {"method": e} for e in LISTS[stated]]
    assert _parse_sections(stated) == named


def spoken(out):
    return " ".join(out.split())


def test_it_writes_a_page_and_a_table_and_recommends(lab, aggopt):
    how = ("--k", "3,6", "--method", "mdav", "--at-most", "0.2", "--loss", "il")
    code, out, err = aggopt(*RUN, *how, "--keep", "mean, variance")
    assert (code, err) == (0, "")
    assert "At most 20 % linked, least IL: point 2 (method = mdav, keep = mean," in out
    assert "Choice: 4 points, 0 failed." in out
    frame = pd.read_csv("choice.csv")
    rows = [line.split() for line in out.splitlines() if " mdav " in line[:20]]
    names = ["groups_gap", "gap", "il", "pil", "linkage", "linkage_limit", "si"]
    for row, (_, point) in zip(rows, frame.iterrows(), strict=True):
        star = ["*"] if point["front"] else []
        asked = [str(point["point"]), "mdav", point["keep"], str(point["k"]), "yes"]
        shares = [f"{100 * share:.1f}" for share in point[names]]
        assert row[:-1] == [*star, *asked, *shares]
    page, table = lab / "choice.html", lab / "choice.csv"
    assert "least IL: point 2</h2>" in page.read_text("utf-8")
    frame = pd.read_csv(table)
    assert frame[["keep", "k"]].values.tolist() == [
        ["mean", 3],
        ["mean", 6],
        ["variance", 3],
        ["variance", 6],
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (page, table)} == {0o600}
    code, out, err = aggopt(*RUN, *how)
    assert code == 2
    assert "would be overwritten" in spoken(err)


def test_points_that_fail_are_an_exit_code_and_said(lab, aggopt):
    how = ("--k", "3", "--t", "0.2,none", "--l", "none", "--cache", "kept")
    code, out, err = aggopt(*RUN, *how)
    assert (code, err) == (1, "")
    assert "point 1 (t = 0.2, l = none, k = 3) failed:" in spoken(out)
    assert len(list((lab / "kept").iterdir())) == 1


def test_one_json_object_has_the_job_of_each_point(lab, aggopt):
    npn = '{method = "mhm", order = "npn"}'
    how = ("--method", "cbfs", "--method", npn, "--k", "4", "--json")
    code, out, _ = aggopt(*RUN, *how)
    found = json.loads(out)
    assert code == 0
    assert found["recommended"] is None
    assert found["recommendation"].startswith("At most 10 % linked: no point qualifies")
    assert [point["method"] for point in found["points"]] == [
        "cbfs",
        "mhm (order = npn)",
    ]
    (lab / "job.toml").write_text(found["points"][1]["job"])
    assert Job.read(lab / "job.toml").partition.order == "npn"
    assert [os.path.basename(path) for path in found["files"]] == [
        "choice.html",
        "choice.csv",
    ]


def test_interrupted_it_leaves_what_is_done(lab, aggopt):
    how = ("--k", "3,4", "--method", "mine.py:split", "--trust", "mine.py")
    code, _, err = aggopt(*RUN, *how, "--cache", "kept")
    assert code == 130
    said = "points that are done are in choice.html, and kept in kept to go on with."
    assert said in spoken(err)
    assert pd.read_csv("choice.csv")[["method", "k"]].values.tolist() == [
        ["mine.py:split", 3]
    ]
    page = (lab / "choice.html").read_text("utf-8")
    assert "Choice: 1 of 2 points, 0 failed." in page
    assert f"--trust {lab / 'mine.py'}" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--k", "three"), "k names 'three'"),
        (("--k", ""), "k lists nothing"),
        (("--l", "2.5"), "l names '2.5'"),
        (("--t", "near"), "t is 'near'"),
        (("--alpha", "x"), "alpha is 'x'"),
        (("--delta", "x"), "delta is 'x'"),
        (("--method", "{method = "), "method is '{method = '"),
        (("--method", "mdav,{order}"), "method is 'mdav,{order}'"),
        (("--method", "mine.py:split"), "names code, mine.py"),
        (("--k", "3", "--jobs", "0"), "jobs = 0"),
        (("--k", "3", "--time-limit", "-1"), "time_limit = -1.0"),
        (("--k", "3", "--out", "choice.csv"), "choice.csv does not end in .html"),
        (("--k", "3", "--out", "none/choice.html"), "There is no folder none"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_gone_through_is_refused(lab, aggopt, words, said):
    code, _, err = aggopt(*RUN, *words)
    assert code == 2
    assert said in spoken(err)
    assert not (lab / "choice.csv").exists()
