"""A second look reads the original as the job says, and finds all that it asks for."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.errors import TableError
from aggopt.pipeline.review import review_release as reassess
from aggopt.pipeline.review.review_release import (
    read_original_and_release,
    review_release,
)

FRAME = pd.DataFrame(
    {
        "code": ["007", "7", "007", "7"] * 3 + ["7"],
        "a": np.arange(13.0),
        "region": [*"nnnnnnssssssw"],
    }
)
ROLES = {"quasi-identifier": ["code", "a"], "stratum": ["region"]}
SECTIONS = {
    "privacy": {"k": 2},
    "attributes": {"code": {"kind": "nominal"}},
    "strata": {"small": "drop"},
}
JOB = aggopt.Job(roles=ROLES, **SECTIONS)


@pytest.fixture
def files(tmp_path):
    """A table, and a release without the region of one record."""
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    FRAME[:12].to_csv(tmp_path / "masked.csv", index=False)
    return tmp_path / "people.csv", tmp_path / "masked.csv"


def test_the_original_is_read_with_its_types_and_without_small_strata(files) -> None:
    first, second = read_original_and_release(*files, JOB)
    assert len(first.frame) == len(second.frame) == 12
    for table in (first, second):
        assert table.frame["code"].to_list() == ["007", "7"] * 6
        assert list(table.domains) == ["code"]


def test_a_release_in_the_place_of_its_original_is_refused(files) -> None:
    original, released = files
    digest = aggopt.release.files.staging.sha256_of_file(original)
    manifest = f'{{"input": {{"sha256": "{digest}"}}}}'
    released.with_name("masked.manifest.json").write_text(manifest)
    read_original_and_release(original, released, JOB)
    with pytest.raises(TableError, match=r"masked\.csv is the release, made from peo"):
        read_original_and_release(released, original, JOB)


def test_weights_that_were_to_be_dropped_are_found_whatever_is_measured(
    files, monkeypatch
) -> None:
    def refuse(*of):
        raise TableError("There is nothing to measure.", fix="none.")

    monkeypatch.setattr(reassess, "measure_if_varying", refuse)
    for path in files:
        pd.read_csv(path, dtype=str).assign(w=1.0).to_csv(path, index=False)
    weights = {"roles": {**ROLES, "weight": "w"}, "weights": {"published": "drop"}}
    job = aggopt.Job(**SECTIONS, **weights)
    found = review_release(*files, job, same_order=True)
    assert found.audit.identifiers == ("w",)
    assert (found.measures, found.same_order) == (None, True)
    assert found.warning == (
        "Nothing but equal records was measured. There is nothing to measure."
    )


def test_what_was_written_is_recounted_as_the_job_says(files, monkeypatch) -> None:
    heard = {}

    def overhear(name):
        work = getattr(reassess, name)

        def heeded(*given, **named):
            heard[name] = given, named
            return work(*given, **named)

        monkeypatch.setattr(reassess, name, heeded)

    for name in ("audit_release", "compare_originals", "read_requests"):
        overhear(name)
    for path in files:
        columns = pd.read_csv(path, dtype={"code": str})
        columns.to_csv(path, index=False, sep=";", decimal=",")
    read = {"separator": ";", "decimal": ","}
    asked = {"policy": "patterns", "report_compatible": True}
    job = aggopt.Job(roles=ROLES, **SECTIONS, input=read, missing=asked)
    review_release(*files, job, same_order=True)
    first, whole, _ = heard["read_requests"][0]
    assert whole.tolist() == first.matrix().tolist()
    X, released, output, original = heard["compare_originals"][0]
    assert X.tolist() == released.tolist() == whole.tolist()
    assert (output, original) == (job.output, first)
    named = heard["audit_release"][1]
    assert (named["decimal"], named["compatible"]) == (",", True)


def test_own_measures_and_risks_are_those_that_the_job_asks_for(
    files, monkeypatch
) -> None:
    heard = []

    def told(*of):
        heard.append(of)
        return (
            SimpleNamespace(il=0.5, types=None, linkage=None)
            if len(of) == 4
            else "risks"
        )

    monkeypatch.setattr(reassess, "measure_if_varying", told)
    monkeypatch.setattr(reassess, "measure_risks", told)
    monkeypatch.setattr(
        reassess, "replace_counted_risks", lambda measures, audit: measures
    )
    found = review_release(*files, JOB, same_order=True)
    (first, beside, asked, own), of_risks = heard
    assert first.matrix()[:, 1].tolist() == beside.matrix()[:, 1].tolist()
    assert (asked, own) == ({}, JOB.measures.own)
    assert of_risks == (first, beside, JOB)
    assert (found.measures.il, found.risks) == (0.5, "risks")
