"""What a notebook shows: small tables, escaped, without a value of a record."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tables import TREE, people

import aggopt
from aggopt import Job
from aggopt.aggregate import mean
from aggopt.checks import report
from aggopt.experiments.compare_solvers import Row
from aggopt.experiments.reproduce import PublishedCell, PublishedTable, Reproduced
from aggopt.experiments.sweep import SweepPoint
from aggopt.partition._recommend import Recommendation
from aggopt.partition.shared.result import Partition
from aggopt.repair import closeness
from aggopt.solvers import Outcome, Status

NASTY = "<script>alert('age & \"x\"')</script>"
FRAME = people(30).rename(columns={"age": NASTY}).assign(secret=987654.25)
ROLES = {
    "identifier": ["name"],
    "quasi-identifier": [NASTY, "income"],
    "confidential": ["illness"],
    "other": ["note", "secret"],
}
X = np.random.default_rng(0).normal(size=(40, 2))
LABELS = np.arange(40) // 4


def lone(X, k):
    return [0] * len(X)


lone.__name__ = NASTY
CELL = PublishedCell("IL", NASTY, 3, printed="47.92")


@pytest.fixture(scope="module")
def shown():
    tree = {"illness": {"distance": "hierarchical", "tree": TREE}}
    privacy = {"k": 3, "t": 0.9, "repair": "merge", "confidential": tree}
    release = aggopt.mask(FRAME, Job(roles=ROLES, privacy=privacy))
    certificate = release.certificates[NASTY]
    return {
        "release": release,
        "job": release.job,
        "audit": release.audit,
        "measures": release.measures,
        "certificate": certificate,
        "aggregation": mean(X, LABELS),
        "partition": Partition(LABELS, certificate),
        "repaired": closeness(X, X[:, 0], LABELS, k=4, t=0.5),
        "experiment": aggopt.experiment(
            {NASTY: FRAME}, {"k": [3, 99]}, roles=ROLES, on_error="row"
        ),
        "row": Row(NASTY, "optimal", 3.0, note="not <i>installed</i>"),
        "point": SweepPoint(0.5, 0.1, 0.2, 1, 9.0, 8.0, 7.0, None, 6.0, None, NASTY),
        "recommended": Recommendation("mdav", NASTY, {"ending": "<b>"}),
        "outcome": Outcome(Status.LOCAL, None, NASTY, 0.1),
        "verdict": next(report(lone)),
        "encoded": aggopt.encode(FRAME[[NASTY, "illness"]]),
        "reproduced": Reproduced(
            PublishedTable("2", NASTY, "", "p3m", (), (CELL,)), CELL, ours=0.123456
        ),
    }


CONSTANT = {  # attributes of tags, in which nothing of a table may be
    "div": [("tabindex", "0"), ("style", "max-width: 100%; overflow-x: auto")],
    "th": [("scope", "col")],
}


class Nesting(HTMLParser):
    """Tags that are open, and those that were there."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        assert tag == "p" or attrs in ([], CONSTANT.get(tag))  # the seal has a colour
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


TAGS = {
    *("div", "strong", "table", "tr", "th", "td", "pre", "ul", "li"),
    *("details", "summary", "p"),
}


NAMES = (
    *("release", "job", "audit", "measures", "certificate"),
    *("aggregation", "partition", "repaired", "experiment", "row", "point"),
    *("recommended", "outcome", "verdict", "encoded", "reproduced"),
)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_notebook_shows_is_well_formed_and_escaped(shown, name):
    text = shown[name]._repr_html_()
    read = Nesting()
    read.feed(text)
    assert not read.open
    assert read.seen <= TAGS, "a name became a tag"
    assert len(text) < 8000


@pytest.mark.parametrize("name", NAMES)
def test_no_value_of_a_record_is_shown(shown, name):
    values = [f"{v:.6g}" for v in shown["release"].masked.matrix()[:, 1]]
    values += [f"{v:.6g}" for v in FRAME["income"]] + ["987654", "Person 1"]
    values += [f"{v:.6g}" for v in shown["aggregation"].centroids.ravel()]
    text = shown[name]._repr_html_() + repr(shown[name])
    words = set(re.split(r"[^\w.+-]", text))
    assert not words & set(values)


def test_a_release_shows_what_there_is_to_know(shown):
    text = html.unescape(shown["release"]._repr_html_())
    for part in (NASTY, "k = 3 holds", "closed form", "optimal", "gap", "[privacy]"):
        assert part in text
    assert str(shown["measures"]) in text


def test_a_release_prints_its_verdict_and_a_table_of_certificates(shown):
    release = shown["release"]
    text = str(release)
    assert text == repr(release)
    assert text.startswith("k = 3 holds")
    table = text[text.index("status") :].split("\n")
    assert table[0].split() == [
        *("status", "gap", "objective", "bound", "violation", "solver", "seconds")
    ]
    for name in (NASTY, "income"):
        assert any(line.startswith(name) for line in table)
    assert len(text) < 2000


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("row", ("Row", "optimal", "note", "not <i>installed</i>")),
        ("point", ("SweepPoint", "alpha", "0.5", NASTY)),
        ("recommended", ("Recommendation", "mdav", "{'ending': '<b>'}")),
        ("outcome", ("Outcome", "locally optimal", NASTY)),
        ("verdict", ("Verdict", "groups_have_k_records", NASTY)),
        ("encoded", ("Encoded: 30 records", NASTY, "numeric", "nominal")),
        ("reproduced", (NASTY, "in print", "47.92", "ours", "0.12")),
    ],
)
def test_rows_and_choices_show_what_they_have(shown, name, parts):
    text = html.unescape(shown[name]._repr_html_())
    for part in parts:
        assert part in text
    assert "<i>" not in shown[name]._repr_html_()
