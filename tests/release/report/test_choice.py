"""The points beside a release in its report are of the same quantity."""

import numpy as np
import pandas as pd
import pytest
from reading import Reader, table

import aggopt
from aggopt.release.report.release_report import collect_facts, render_report

CAPTION = "Share of records linked one to one, against information lost"


def town(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(n, 2)).round(2), columns=["a", "b"])
    frame["region"] = np.arange(n) % 3
    frame["sex"] = rng.choice(["f", "m"], n)
    return frame


def masked(frame: pd.DataFrame, **sections) -> aggopt.Release:
    roles = {"quasi-identifier": ["a", "b"], "stratum": ["region"], "other": ["sex"]}
    sections = {"roles": roles, "privacy": {"k": 5}, **sections}
    return aggopt.mask(frame, aggopt.Job(partition={"method": "mdav"}, **sections))


def page(release: aggopt.Release) -> str:
    return render_report(collect_facts(release, "masked.csv"))


def test_the_point_of_this_k_is_what_this_release_is() -> None:
    rows = table(page(masked(town())), CAPTION)
    (same,) = (row for row in rows[1:-1] if row[1] == "5")
    assert same[2:4] == rows[-1][2:4]  # loss and linkage, within strata


@pytest.mark.parametrize("what", ["categories", "weights"])
def test_no_other_k_is_shown_where_means_are_not_what_is_published(what) -> None:
    frame = town()
    roles = {"quasi-identifier": ["a", "b"], "identifier": ["sex", "region"]}
    if what == "categories":
        roles = {"quasi-identifier": ["a", "b", "sex"], "identifier": ["region"]}
    else:
        frame["weight"] = np.arange(len(frame)) % 7 + 1.0
        roles["weight"] = ["weight"]
    made = page(masked(frame, roles=roles))
    assert "no other k is tried here" in Reader(made).text
    assert CAPTION not in made
