"""What a manifest says of how a release was made."""

import hashlib
import json
import platform
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tables import job, people

import aggopt
from aggopt.core.frame import compute_fingerprint
from aggopt.data.table import Table
from aggopt.release.manifest import list_versions, read_manifest_or_none

SECTIONS = (
    *("made", "versions", "job", "code", "input", "order", "strata"),
    *("partition", "audit"),
    *("measures", "measured", "rounding", "certificates", "notes"),
)


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(people().assign(age=44), job(output={"decimals": 1}))


def test_a_manifest_is_plain_json_and_has_all_sections(release) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    found = release.manifest()
    assert tuple(found) == SECTIONS
    assert tuple(json.loads(json.dumps(found, allow_nan=False))) == SECTIONS
    made = datetime.fromisoformat(found["made"])
    assert made.utcoffset() == timedelta(0)
    assert made.microsecond == 0
    assert before <= made <= datetime.now(UTC)


def test_a_manifest_states_what_the_release_holds(release) -> None:
    found = release.manifest()
    assert found["job"]["roles"]["quasi-identifier"] == ["age", "income"]
    assert aggopt.Job(**found["job"]) == release.job
    assert found["order"] == "shuffled"
    assert json.loads(json.dumps(found["job"])) == found["job"]
    assert found["audit"] == release.audit.to_dict()
    assert found["measures"] == release.measures.to_dict()
    assert found["rounding"]["income"]["step"] == release.drift["income"].step == 0.1
    assert found["certificates"]["age"] == release.certificates["age"].to_dict()
    assert found["notes"] == list(release.notes)
    source = release.source
    assert found["input"] == {
        "file": None,
        "sha256": None,
        "records": 40,
        "attributes": 5,
        "fingerprint": source.fingerprint,
    }
    (part,) = found["partition"]
    assert part["attributes"] == ["age", "income"]
    assert part["groups"] == release.blocks[0].groups
    assert part["certificate"] == release.blocks[0].certificate.to_dict()


def test_versions_are_of_what_ran_and_of_nothing_else(release) -> None:
    always = {"python", "aggopt", "numpy", "scipy", "pandas", "pyarrow", "narwhals"}
    plain = release.manifest()["versions"]
    assert set(plain) == always | {"numba"}
    assert list(plain)[1:] == sorted(list(plain)[1:])
    solved = job(aggregation={"method": "p3m", "solver": "uno"})
    versions = aggopt.mask(people(), solved).manifest()["versions"]
    assert set(versions) == always | {"numba", "cvxpy", "unopy"}
    assert versions["numpy"] == version("numpy")
    assert versions["python"] == platform.python_version()


def test_what_is_not_installed_has_no_version() -> None:
    assert list_versions(["nosuch"]) == {"nosuch": "not installed as a package"}


def test_metadata_of_an_older_installation_do_not_change_the_version(
    tmp_path, monkeypatch
) -> None:
    older = tmp_path / "aggopt-0.1.0.dist-info"
    older.mkdir()
    (older / "METADATA").write_text("Name: aggopt\nVersion: 0.1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert version("aggopt") == "0.1.0"
    assert list_versions(["aggopt"]) == {"aggopt": aggopt.__version__}


def test_what_a_manifest_does_not_state_is_none(tmp_path) -> None:
    path = tmp_path / "m.json"
    assert read_manifest_or_none(path, "order") is None
    path.write_text('{"name": "Aß", "output": {"seed": 0}}', "utf-8")
    assert read_manifest_or_none(path, "name") == "Aß"
    assert read_manifest_or_none(path, "output", "seed") == 0
    assert read_manifest_or_none(path, "output", "seed", "deeper") is None
    assert read_manifest_or_none(path, "input", "file") is None
    assert read_manifest_or_none(path) == {"name": "Aß", "output": {"seed": 0}}


# --- who knows the quasi-identifiers of all, and the seed, does not know the order


KNOWN = ["age", "income"]


def test_a_register_and_the_seed_do_not_undo_the_shuffle(tmp_path) -> None:
    frame = people(200)
    aggopt.mask(frame, job(output={"seed": 7})).write(tmp_path / "masked.csv")
    X = np.ascontiguousarray(frame[KNOWN].to_numpy(float))
    mixed = [7, int(hashlib.sha256(X.tobytes()).hexdigest(), 16)]
    published = pd.read_csv(tmp_path / "masked.csv")["illness"].to_numpy()
    for seed in (mixed, 7):
        place = np.random.default_rng(seed).permutation(200)
        right = (published[place] == frame["illness"].to_numpy()).mean()
        assert right < 0.5  # of three values, drawn alike


def made(frame) -> str:
    roles = {"identifier": ["name"], "quasi-identifier": KNOWN}
    roles |= {"confidential": ["illness"], "other": ["note"]}
    return compute_fingerprint(
        Table.of(frame, aggopt.Job(roles=roles, privacy={"k": 3}).roles).frame
    )


@pytest.mark.parametrize("name", ["name", "illness", "note", "age"])
def test_every_column_counts(name) -> None:
    frame = people()
    first = made(frame)
    assert first == made(people())
    frame.loc[3, name] = 20 if name == "age" else "another"
    assert made(frame) != first


def test_the_order_of_columns_and_of_records_counts() -> None:
    first = made(people())
    assert made(people()[["note", *people().columns[:-1]]]) != first
    assert made(people().iloc[::-1]) != first


def test_entries_are_not_taken_for_those_of_another_column() -> None:
    one = people().assign(illness="a", note="b")
    assert made(one) != made(one.assign(illness="b", note="a"))


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_every_kind_of_table_has_one(kind) -> None:
    frame = people()
    frame.loc[0, "note"] = None
    assert made(kind(frame)) == made(kind(frame))
    assert len(made(kind(frame))) == 64
