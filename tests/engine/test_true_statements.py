"""True statements of a folder are those that memory publishes of equal groups."""

import numpy as np
import pandas as pd
import pytest
from folders import job, linked, masked, of_same_groups, persons, put, read
from refusals import refused

from aggopt.engine.folder_review import find_release
from aggopt.errors import JobError, TableError
from aggopt.pipeline.review.review_release import assess_source

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "height", "income", "ill", "note", "school", "code"],
}
ORDER = ["low", "middle", "high"]
STATED = {
    "age": {"publish": "interval", "cuts": [0, 30, 50, 70, 90]},
    "height": {"publish": "range"},
    "ill": {
        "tree": {"lung": ["flu", "asthma"], "well": ["none"]},
        "publish": "ancestor",
        "cost": "height",
    },
    "note": {"publish": "suppress"},
    "school": {"order": ORDER, "publish": "range"},
    "code": {"kind": "nominal", "publish": "suppress"},
}


def typed(n, seed=0):
    rng = np.random.default_rng(seed)
    table = persons(n, seed)
    table["height"] = table["height"].round(1)
    table["school"] = rng.choice(ORDER, n)
    table["code"] = rng.integers(1, 4, n)
    return table


def asked(**sections):
    given = {"roles": ROLES, "attributes": STATED, "engine": {"block": 40}}
    return job(**{**given, **sections})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return put(tmp_path_factory.mktemp("stated") / "in", typed(60), typed(50, 1))


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    return masked(folder, asked(), tmp_path_factory.mktemp("stated") / "out")


def test_values_certificates_and_loss_are_those_of_memory(folder, release) -> None:
    before, after = linked(folder, release)
    alone = of_same_groups(release, before, asked())
    assert release.manifest["blocks"] > 1
    for name in ROLES["quasi-identifier"]:
        if name != "income":
            assert (after[name] == alone.table[name]).all()
            one, other = release.certificates[name], alone.certificates[name]
            assert one.objective == pytest.approx(other.objective)
            assert one.bound == pytest.approx(other.bound)
    np.testing.assert_allclose(after["income"], alone.table["income"])
    loss = alone.measures.types["generalised_loss"]
    assert release.measures["generalised loss"] == pytest.approx(100 * loss)
    lost = alone.measures.il
    assert release.measures["information loss"] == pytest.approx(100 * lost)
    assert release.audit.unchanged.cells == alone.audit.unchanged.cells
    assert {*read(release.path)["note"]} <= {"a", "b", "*"}


def test_a_folder_is_assessed_and_reported(folder, release, tmp_path) -> None:
    source = find_release(folder, release.path, same_order=False, private=None)
    review = assess_source(source, asked())
    assert review.holds
    loss = 100 * review.measures.types["generalised_loss"]
    assert release.measures["generalised loss"] == pytest.approx(loss)
    page = release.report(tmp_path / "report.html", originals=folder)
    assert "which are those of two members" in page.read_text("utf-8")


def test_what_is_missing_is_published_as_missing(tmp_path) -> None:
    table = typed(80)
    table.loc[::5, "height"] = np.nan
    table.loc[::9, "note"] = None
    folder = put(tmp_path / "in", table[:40], table[40:])
    given = asked(missing={"policy": "patterns"})
    found = masked(folder, given, tmp_path / "out")
    before, after = linked(folder, found)
    for name in ("height", "note"):
        assert after[name].isna()[before[name].isna()].all()
        assert after[name].notna().any()
    assert after["height"].dropna().str.fullmatch(r"[0-9.]+|\[.+\]").all()


CASES = {
    "keep": {"aggregation": {"method": "mean", "keep": "variance"}},
    "fill": {"missing": {"policy": "fill"}},
    "generalising": {"partition": {"method": "generalising"}},
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_folder_cannot_publish_is_refused(folder, tmp_path, case) -> None:
    with refused(JobError, case):
        masked(folder, asked(**CASES[case]), tmp_path / "out")


def test_values_and_costs_that_do_not_fit_are_refused(folder, tmp_path) -> None:
    few = {**STATED, "age": {"publish": "interval", "cuts": [0, 30, 50]}}
    with refused(TableError, "'age'"):
        masked(folder, asked(attributes=few), tmp_path / "out")
    costs = {"lung": 0.5, "well": 0.1, "*": 0.3}
    falling = {**STATED, "ill": {**STATED["ill"], "cost": costs}}
    with refused(JobError, "ill", "fall"):
        masked(folder, asked(attributes=falling), tmp_path / "out")
    dated = typed(20).assign(age=pd.date_range("2020-01-01", periods=20))
    dates = put(tmp_path / "dates", dated)
    ranges = {**STATED, "age": {"publish": "range"}}
    with refused(JobError, "'range'"):
        masked(dates, asked(attributes=ranges), tmp_path / "out")
