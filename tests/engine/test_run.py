"""A folder becomes an audited folder: the same as one table would."""

import json

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, ROLES, digest, job, linked, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt import Job
from aggopt.engine import run
from aggopt.errors import InfeasibleInputError, JobError, PrivacyError, TableError
from aggopt.partition import _blocked_search as improve


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three parts of different sizes, one of them empty."""
    tables = persons(230), persons(0), persons(170, seed=1)
    return put(tmp_path_factory.mktemp("engine") / "in", *tables)


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder."""
    return masked(folder, job(), tmp_path_factory.mktemp("released") / "out")


def test_k_records_share_each_published_combination(folder, release):
    written = read(release.path)
    sizes = written.groupby(QUASI).size()
    assert sizes.min() == release.audit.combination >= 4
    assert len(sizes) == release.audit.groups
    assert len(written) == release.audit.records == len(read(folder))
    assert list(written) == [*QUASI, "ill", "note"]


def test_means_are_kept_and_loss_is_that_of_the_written_values(folder, release):
    before, after = linked(folder, release)
    spread = before[QUASI].std(ddof=0)
    assert (after[QUASI].mean() - before[QUASI].mean()).abs().max() < 1e-4
    lost = ((after[QUASI] - before[QUASI]) / spread) ** 2
    expected = 100 * lost.to_numpy().mean()
    assert release.measures["information loss"] == pytest.approx(expected, rel=1e-9)
    of_groups = release.certificates["groups"].objective
    assert of_groups == pytest.approx(lost.to_numpy().sum(), rel=1e-4)


def test_a_block_is_searched_as_one_region(folder, release, tmp_path, monkeypatch):
    monkeypatch.setattr(improve, "REGION", 20)
    monkeypatch.setattr(improve, "REGIONS", 1000)
    found = masked(folder, job(), tmp_path / "small regions")
    assert read(found.path).equals(read(release.path))


def test_what_is_not_masked_stays_with_its_record(folder, release):
    before, after = linked(folder, release)
    assert (before[["ill", "note"]] == after[["ill", "note"]]).all(axis=None)


def test_groups_of_the_key_are_the_published_combinations(folder, release):
    _, after = linked(folder, release)
    groups = after.groupby(read(release.private)["group"].to_numpy())[QUASI]
    assert (groups.nunique() == 1).all(axis=None)
    assert groups.ngroups == release.audit.groups


def test_the_order_says_nothing_of_the_input(folder, release):
    key = read(release.private)
    place = np.arange(len(key))
    numbers = key["input_record"] + 230 * (key["input_file"] == "in-2.parquet")
    assert abs(np.corrcoef(place, numbers)[0, 1]) < 0.2


def test_the_manifest_is_private_and_says_what_was_written(release):
    stated = json.loads((release.private / "manifest.json").read_bytes())
    assert stated == json.loads(json.dumps(release.manifest))
    (file,) = stated["output"]["files"]
    assert (file["file"], file["records"]) == ("part-00000.parquet", 400)
    assert stated["audit"]["holds"] is True
    assert stated["input"]["records"] == 400
    assert release.notes[-1] == "Groups were made in 4 blocks of about 100 records."
    modes = [path.stat().st_mode & 0o777 for path in release.private.iterdir()]
    assert set(modes) == {0o600}
    assert release.private.stat().st_mode & 0o777 == 0o700
    assert (release.path / file["file"]).stat().st_mode & 0o077 != 0


def test_nothing_is_left_beside_the_two_folders(release):
    assert {path.name for path in release.path.parent.iterdir()} == {
        "out",
        "out.private",
    }


def test_a_release_prints_its_verdict_and_certificates(release):
    assert repr(release).startswith(
        "k = 4 holds on the masked attributes, but 40 of 400 records"
    )
    assert "local search in blocks" in repr(release)
    assert "<table" in release._repr_html_()


@pytest.mark.parametrize("keep", ["variance", "covariance"])
def test_moments_are_kept_with_a_certificate(folder, tmp_path, keep):
    asked = job(aggregation={"method": "mean", "keep": keep}, output={"digits": "full"})
    found = masked(folder, asked, tmp_path / "out")
    before, after = (read(at)[QUASI].to_numpy() for at in (folder, found.path))
    assert after.mean(axis=0) == pytest.approx(before.mean(axis=0), rel=1e-12)
    of_all = np.cov(before.T), np.cov(after.T)
    if keep == "variance":
        of_all = tuple(map(np.diag, of_all))
    assert of_all[1] == pytest.approx(of_all[0], rel=1e-9)
    del found.certificates["groups"]
    for certificate in found.certificates.values():
        assert certificate.status == "optimal"
        assert certificate.gap <= 1e-9
        assert certificate.violation < 1e-12


def test_a_covariance_costs_no_less_than_the_same_groups_in_memory(folder, tmp_path):
    asked = job(
        aggregation={"method": "mean", "keep": "covariance"}, output={"digits": "full"}
    )
    found = masked(folder, asked, tmp_path / "out")
    before, _ = linked(folder, found)
    labels = pd.factorize(read(found.private)["group"])[0]
    whole = aggopt.aggregate.mean(before[QUASI], labels, keep="covariance")
    ours = found.certificates[", ".join(QUASI)]
    assert ours.objective == pytest.approx(whole.certificates[0].objective, rel=1e-8)


def test_medians_are_those_of_the_groups(folder, tmp_path):
    asked = job(aggregation={"method": "median"}, output={"digits": "full"})
    found = masked(folder, asked, tmp_path / "out")
    before, after = linked(folder, found)
    group = read(found.private)["group"].to_numpy()
    means = before[QUASI] - before[QUASI].groupby(group).transform("mean")
    lost = float(((means / before[QUASI].std(ddof=0)) ** 2).to_numpy().sum())
    assert found.certificates["groups"].objective == pytest.approx(lost)
    expected = before[QUASI].groupby(group).transform("median")
    assert after[QUASI].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-9)


def test_the_same_secret_gives_the_same_bytes_and_another_does_not(folder, tmp_path):
    first = masked(folder, job(), tmp_path / "a")
    second = masked(folder, job(), tmp_path / "b")
    other = aggopt.mask(folder, job(), out=tmp_path / "c")
    assert digest(first.path) == digest(second.path) != digest(other.path)
    sort = {"by": [*QUASI, "ill", "note"], "ignore_index": True}
    assert (
        read(first.path)
        .sort_values(**sort)
        .equals(read(other.path).sort_values(**sort))
    )


def test_an_engine_named_in_the_call_goes_before_the_job(folder, tmp_path):
    asked = Job(roles=ROLES, privacy={"k": 4})
    found = aggopt.mask(folder, asked, out=tmp_path / "out", engine="local")
    assert found.manifest["job"]["engine"]["name"] == "local"
    assert found.manifest["blocks"] == 1


def test_ties_and_constants_are_masked(tmp_path):
    table = persons(300).assign(height=0.0, age=7)
    table.loc[::2, "income"] = 0.0
    found = masked(put(tmp_path / "in", table), job(), tmp_path / "out")
    written = read(found.path)
    assert (written["height"] == 0).all()
    assert (written["age"] == 7).all()
    assert written.groupby(QUASI).size().min() >= 4


def test_l_is_kept_by_merging_and_checked_on_what_is_written(tmp_path):
    folder = put(tmp_path / "in", persons(200))
    asked = job(privacy={"l": 2, "repair": "merge"})
    found = masked(folder, asked, tmp_path / "out")
    shared = read(found.path).groupby(QUASI)["ill"].nunique()
    (check,) = found.audit.promises
    assert check.found == shared.min() >= 2
    assert check.groups == len(shared)


def test_a_promise_that_nothing_keeps_is_refused_before_work(tmp_path):
    folder = put(tmp_path / "in", persons(200))
    with refused(JobError, "l = 3", "[privacy]"):
        masked(folder, job(k=3, privacy={"l": 3}), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_part_that_changes_between_write_and_recount_is_found(
    folder, tmp_path, monkeypatch
):
    each = run._Run.each

    def meddled(self, step, count, config):
        found = each(self, step, count, config)
        if step == "write":
            part = config.part(0)
            table = pd.read_parquet(part)
            table.loc[0, "age"] = -1.0
            table.to_parquet(part, index=False)
        return found

    monkeypatch.setattr(run._Run, "each", meddled)
    with refused(PrivacyError, "in 1 record"):
        masked(folder, job(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_missing_and_infinite_values_are_refused_by_part_and_column(tmp_path):
    tables = persons(60), persons(60, seed=1).assign(income=np.inf)
    folder = put(tmp_path / "in", *tables)
    with refused(TableError, "in-1.parquet", "'income'", "60"):
        masked(folder, job(), tmp_path / "out")


@pytest.mark.parametrize("name", ["out", "out.private"])
def test_a_folder_that_is_there_is_never_overwritten(folder, tmp_path, name):
    (tmp_path / name).mkdir()
    with refused(TableError, str(tmp_path / name)):
        masked(folder, job(), tmp_path / "out")


def test_a_folder_that_is_called_like_a_file_is_refused(folder, tmp_path):
    out = tmp_path / "out.CSV"
    with refused(TableError, str(out)):
        masked(folder, job(), out)
    with refused(TableError, str(out)):
        aggopt.convert(folder / "in-0.parquet", out)


def test_too_few_records_are_refused(tmp_path):
    folder = put(tmp_path / "in", persons(3))
    with refused(InfeasibleInputError, "k = 4"):
        masked(folder, job(), tmp_path / "out")


def test_one_group_cannot_keep_the_variance(tmp_path):
    folder = put(tmp_path / "in", persons(5))
    asked = job(aggregation={"method": "mean", "keep": "variance"})
    with refused(InfeasibleInputError):
        masked(folder, asked, tmp_path / "out")


def test_a_folder_to_write_wants_a_folder_to_read(tmp_path):
    with refused(JobError):
        aggopt.mask(persons(5), job(), out=tmp_path / "out")


def test_that_files_are_looked_at_is_told_before_they_are(tmp_path):
    steps = []
    with pytest.raises(TableError):
        masked(tmp_path, job(), tmp_path / "out", progress=lambda *s: steps.append(s))
    assert steps == [("footers", 0.0)]


def test_an_engine_of_folders_wants_a_folder_to_write():
    with refused(JobError):
        aggopt.mask(persons(5), job(), engine="local")
    with refused(JobError):
        aggopt.mask(persons(5), job(), jobs=1, resume=False)


class Reached(Exception):
    """Has the section of an engine that is about to begin."""


@pytest.mark.parametrize(
    ("named", "section"),
    [
        ({"engine": "local", "jobs": 3, "resume": True}, {"jobs": 3, "resume": True}),
        ({"engine": "dask", "workers": 2}, {"workers": 2}),
        ({"engine": "dask", "scheduler": "tls://h:1"}, {"scheduler": "tls://h:1"}),
        ({"engine": "local", "resume": False}, {"resume": False}),
    ],
    ids=["local", "dask, workers", "dask, a scheduler", "not to be resumed"],
)
def test_options_of_the_command_are_arguments(tmp_path, monkeypatch, named, section):
    def reached(asked, *_):
        raise Reached(asked.engine)

    monkeypatch.setattr("aggopt.engine.mask._open_executor", reached)
    asked = Job(roles=ROLES, privacy={"k": 4})
    with pytest.raises(Reached) as found:
        aggopt.mask(tmp_path, asked, out=tmp_path / "out", **named)
    (engine,) = found.value.args
    assert engine.name == named["engine"]
    assert engine.model_dump().items() >= section.items()
    assert engine.model_fields_set == {"name", *section}


def test_memory_masks_no_folder(folder, tmp_path):
    asked = Job(roles=ROLES, privacy={"k": 4})
    with refused(JobError, "[engine]"):
        aggopt.mask(folder, asked, out=tmp_path / "out")


@pytest.mark.parametrize("keep", ["variance", "covariance"])
def test_a_table_that_does_not_vary_is_released_as_it_is(tmp_path, keep):
    same = persons(20).assign(age=30, height=170.0, income=-0.0)
    asked = job(aggregation={"method": "mean", "keep": keep})
    release = masked(put(tmp_path / "in", same), asked, tmp_path / "out")
    assert (read(release.path)[QUASI] == [30, 170.0, 0.0]).all(axis=None)
    assert release.certificates["groups"].objective == 0.0
