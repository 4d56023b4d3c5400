"""The whole way: from a table to an audited release, in memory and on disk."""

import json
import os
import pickle
import stat
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused
from tables import ROLES, job, people, put_partitioner, smallest

import aggopt
from aggopt.aggregate import AGGREGATORS
from aggopt.data.readers.read import read_as_text
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    PrivacyError,
    SolverError,
    TableError,
    UnknownNameError,
)
from aggopt.job import Input
from aggopt.pipeline.finish import notes
from aggopt.release import release as release_module
from aggopt.release.audit.audit import audit_release
from aggopt.solvers import Certificate, Status

METHODS = [
    {"method": "mean"},
    {"method": "mean", "keep": "variance"},
    {"method": "median"},
    {"method": "p3m", "solver": "uno"},
]


@pytest.mark.parametrize("aggregation", METHODS)
@pytest.mark.parametrize("method", ["mdav", "cbfs"])
@pytest.mark.parametrize("k", [2, 5, 12])
def test_every_released_combination_stands_in_k_records(method, aggregation, k):
    release = aggopt.mask(
        people(), job(k, partition={"method": method}, aggregation=aggregation)
    )
    assert smallest(release.table) >= k
    assert release.audit.smallest == smallest(release.table)
    assert release.audit.holds


FULL = {"digits": "full"}


@pytest.mark.parametrize("seed", range(3))
def test_rounding_keeps_groups_identical(seed):
    frame = people(seed=seed).astype({"income": int})
    rounded = job(4, output={"round_integers": True})
    release = aggopt.mask(frame, rounded)
    assert smallest(release.table) >= 4
    assert release.table.dtypes["income"] == frame.dtypes["income"]


def test_the_python_functions_give_what_the_job_gives():
    frame = people()
    X = frame[["age", "income"]].to_numpy(float)
    labels = aggopt.partition.mdav(X, k=3)
    masked = aggopt.aggregate.p3m(X, labels, delta=0.2, solver="uno")
    how = {"method": "p3m", "delta": 0.2, "solver": "uno", "margin": 0}
    release = aggopt.mask(frame, job(aggregation=how, output=FULL))
    assert (release.table[["age", "income"]].to_numpy() == masked.values).all()
    assert (release.labels == labels).all()
    again = aggopt.measure.assess(X, masked.values, delta=0.2)
    for measure in ("il", "dld", "sdid", "pil", "si", "sl"):
        assert getattr(release.measures, measure) == pytest.approx(
            getattr(again, measure)
        )


def test_roles_decide_what_is_released():
    frame = people()
    table = aggopt.mask(frame, job()).table
    assert list(table.columns) == ["age", "illness", "income", "note"]
    assert table["illness"].equals(frame["illness"])
    assert table["note"].equals(frame["note"])
    assert table.index.equals(frame.index)


def test_certificates_are_named_by_attribute():
    certificates = aggopt.mask(people(), job()).certificates
    assert list(certificates) == ["age", "income"]
    assert all(c.gap == 0 for c in certificates.values())


def test_fewer_records_than_k_are_refused():
    with refused(InfeasibleInputError, "k = 5"):
        aggopt.mask(people(4), job(5))


def test_fewer_than_2k_records_are_one_group_and_the_release_says_so():
    release = aggopt.mask(people(9), job(5))
    assert release.audit.groups == 1
    assert any("form one group" in note for note in release.notes)


def test_a_constant_attribute_is_kept_and_noted():
    release = aggopt.mask(people().assign(age=44), job())
    assert (release.table["age"] == 44).all()
    assert "'age' has one value only: kept as it is, weight zero." in release.notes


def test_duplicate_records_and_index_labels_are_no_obstacle():
    frame = pd.concat([people(10)] * 3)
    release = aggopt.mask(frame, job())
    assert len(release.table) == 30
    assert release.table.index.equals(frame.index)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(unit):
    frame = people()
    scaled = frame.assign(income=frame["income"] * unit)
    one, other = (aggopt.mask(f, job()) for f in (frame, scaled))
    assert (one.labels == other.labels).all()
    assert other.table["income"].to_numpy() == pytest.approx(
        one.table["income"].to_numpy() * unit
    )
    assert other.measures.il == pytest.approx(one.measures.il)


def test_values_far_from_zero_keep_their_digits():
    x = 1e9 + np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    release = aggopt.mask(
        pd.DataFrame({"x": x}),
        aggopt.Job(roles={"quasi-identifier": ["x"]}, privacy={"k": 3}),
    )
    assert release.table["x"].tolist() == x.tolist()
    assert release.measures.il == 0


def test_an_other_attribute_that_tells_all_records_apart_is_pointed_out():
    release = aggopt.mask(people().assign(note=np.arange(40)), job())
    assert "'note' (other) differs in every record: is it an identifier?" in (
        release.notes
    )


def test_progress_names_the_steps():
    steps = []
    aggopt.mask(people(), job(), progress=lambda step, share: steps.append(step))
    assert list(dict.fromkeys(steps)) == [
        "read",
        "group",
        "bound",
        "aggregate",
        "audit",
        "measure",
    ]


def test_progress_of_an_aggregation_is_told_under_its_name():
    shares = [
        share
        for step, share in _told(aggregation={"method": "p3m", "delta": 0.2})
        if step == "aggregate"
    ]
    assert shares[0] == 0.0
    assert max(shares) == 1.0


def _told(**sections):
    told = []
    aggopt.mask(people(), job(**sections), progress=lambda *step: told.append(step))
    return told


def test_the_audit_looks_at_the_originals_too():
    assert aggopt.mask(people(), job()).audit.unchanged is not None


def test_what_roundingis_a_note():
    notes = aggopt.mask(people(), job(output={"digits": 2})).notes
    assert sum("Published values are rounded (2 digits" in note for note in notes) == 1


def test_progress_begins_each_step_with_nothing_done():
    said = []
    aggopt.mask(people(), job(), progress=lambda *step: said.append(step))
    first = dict(reversed(said))  # of each step, what was said first
    assert {first[step] for step in ("aggregate", "audit", "measure")} == {0.0}
    assert all(0.0 <= share <= 1.0 for _, share in said)


def test_a_broken_partitioner_is_caught_on_the_values(monkeypatch):
    def lonely(X, k, **_):
        labels = np.arange(len(X)) // k
        labels[-1] = labels.max() + 1
        return labels

    put_partitioner(monkeypatch, "mdav", lonely)
    with refused(PrivacyError, "k = 3"):
        aggopt.mask(people(42), job())


def test_a_failed_solve_releases_nothing(monkeypatch):
    method = AGGREGATORS["p3m"]

    def failing(*data, **settings):
        masked = method.function(*data, **settings)
        failed = Certificate(Status.FAILED, 1.0, None, 0.0, "cvxpy:uno", 0.0)
        return replace(masked, certificates=(masked.certificates[0], failed))

    broken = replace(method, function=failing)
    monkeypatch.setitem(AGGREGATORS._methods, "p3m", broken)
    with refused(SolverError, "'income'"):
        aggopt.mask(people(), job(aggregation={"method": "p3m", "solver": "uno"}))


def test_a_solve_stopped_at_a_limit_is_noted():
    stopped = {"method": "p3m", "solver": "uno", "options": {"max_iterations": 1}}
    release = aggopt.mask(people(), job(aggregation=stopped))
    note = "'age': cvxpy:uno ended without a better point, renormalised means kept."
    assert note in release.notes


def test_a_gap_that_was_asked_for_and_reached_is_noted():
    how = {"method": "optimal", "gap_tol": 0.9}
    release = aggopt.mask(people(), job(partition=how))
    (note,) = [n for n in release.notes if "the gap asked for" in n]
    assert note.endswith("stopped at the gap asked for, best point kept.")


def never(X, k, **_):
    raise AssertionError("work began")


def test_an_unknown_solver_is_refused_before_any_work(monkeypatch):
    put_partitioner(monkeypatch, "mdav", never)
    with refused(UnknownNameError, "solver"):
        aggopt.mask(people(), job(aggregation={"method": "p3m", "solver": "unno"}))


@pytest.mark.parametrize("asked", [{"privacy": {"k": 3}}, None, 3])
def test_what_is_no_job_is_refused(asked):
    with refused(JobError):
        aggopt.mask(people(), asked)


@pytest.mark.parametrize("show", [repr, str])
def test_printing_a_release_shows_no_record(show):
    shown = show(aggopt.mask(people(), job()))
    assert "array" not in shown
    assert "asthma" not in shown


def test_a_pickled_release_holds_no_original():
    frame = people().assign(age=np.random.default_rng(5).uniform(20, 80, 40))
    release = aggopt.mask(frame, job())
    pickled = pickle.dumps(release)
    again = pickle.loads(pickled)
    assert again == release
    assert again.original.value is None
    originals = [np.float64(v).tobytes() for v in frame["age"]]
    assert not any(value in pickled for value in originals)
    assert b"Person 7" not in pickled


def test_a_release_keeps_the_original_quasi_identifiers_as_they_came():
    frame = people()
    release = aggopt.mask(frame, job())
    before = frame.copy()
    frame["age"] = 0
    kept = release.original.value
    assert list(kept.frame.columns) == ["age", "income"]
    assert kept.numbers("age").tolist() == before["age"].tolist()


# --- written to disk


@pytest.fixture
def release():
    return aggopt.mask(people(), job(aggregation={"method": "p3m", "solver": "uno"}))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", [lambda f: f, pl.from_pandas])
def test_what_is_written_is_what_was_released(tmp_path, ending, kind):
    release = aggopt.mask(kind(people()), job())
    files = release.write(tmp_path / f"masked.{ending}")
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    text = {"dtype": {"note": str}} if ending == "csv" else {}
    written = read(files.table, **text)
    place = pd.read_csv(files.private)["released_record"].to_numpy()
    back = written.iloc[place].reset_index(drop=True)
    expected = release.table
    expected = expected.to_pandas() if isinstance(expected, pl.DataFrame) else expected
    pd.testing.assert_frame_equal(back, expected, check_dtype=False)
    assert smallest(written) >= 3


def test_records_are_shuffled_and_the_key_undoes_it(tmp_path, release):
    orders = []
    for name in ("a.csv", "b.csv"):
        files = release.write(tmp_path / name)
        orders.append(pd.read_csv(files.private)["released_record"].tolist())
    assert sorted(orders[0]) == list(range(40))
    assert orders[0] != orders[1]
    assert orders[0] != list(range(40))


def test_a_seed_fixes_the_order_of_one_release(tmp_path):
    seeded = aggopt.mask(people(), job(output={"seed": 7}))
    one, two = (seeded.write(tmp_path / f"{name}.csv") for name in "ab")
    assert one.table.read_bytes() == two.table.read_bytes()
    other = aggopt.mask(people(), job(output={"seed": 7})).write(tmp_path / "c.csv")
    assert other.table.read_bytes() != one.table.read_bytes()


def test_secret_and_seed_are_kept_for_the_owner_and_for_nobody_else(tmp_path, release):
    files = release.write(tmp_path / "m.csv")
    stated = json.loads(files.manifest.read_text())["output"]
    assert stated["secret"] == release.secret
    assert len(release.secret) == 32
    assert isinstance(stated["seed"], int)
    assert release.secret not in repr(release)
    assert release.secret not in json.dumps(release.manifest())
    assert release.secret.encode() not in files.table.read_bytes()


def test_the_order_is_kept_when_asked(tmp_path):
    kept = aggopt.mask(people(), job(output={"shuffle": False}))
    files = kept.write(tmp_path / "masked.csv")
    assert pd.read_csv(files.table)["illness"].tolist() == people()["illness"].tolist()
    assert json.loads(files.manifest.read_text())["order"] == "as in the input"


def test_csv_text_is_repeated_letter_by_letter(tmp_path):
    table = tmp_path / "people.csv"
    people().to_csv(table, index=False, sep=";", decimal=",")
    how = {"separator": ";", "decimal": ","}
    release = aggopt.mask(table, job(input=how, output={"shuffle": False}))
    files = release.write(tmp_path / "masked.csv")
    original, written = (read_as_text(p, Input(**how)) for p in (table, files.table))
    for name in ("note", "illness"):
        assert written[name].to_pylist() == original[name].to_pylist()
    assert "," in written["income"][0].as_py()


def test_identifiers_and_index_are_dropped(tmp_path):
    frame = people().set_index("name", drop=False)
    files = aggopt.mask(frame, job()).write(tmp_path / "masked.parquet")
    assert b"Person" not in files.table.read_bytes()
    assert pq.read_schema(files.table).names == ["age", "illness", "income", "note"]
    assert pq.read_schema(files.table).metadata is None


def test_modes(tmp_path, release):
    old = os.umask(0o022)
    try:
        files = release.write(tmp_path / "masked.csv")
    finally:
        os.umask(old)
    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes == {files.table: 0o644, files.manifest: 0o600, files.private: 0o600}


def test_the_manifest_says_how_and_from_what(tmp_path):
    table = tmp_path / "people.csv"
    people().to_csv(table, index=False)
    release = aggopt.mask(table, job(aggregation={"method": "p3m", "solver": "uno"}))
    files = release.write(tmp_path / "masked.csv")
    stated = json.loads(files.manifest.read_text())
    from hashlib import sha256

    assert stated["input"]["file"] == "people.csv"
    assert stated["input"]["sha256"] == sha256(table.read_bytes()).hexdigest()
    assert stated["input"]["records"] == 40
    assert stated["input"]["attributes"] == 5
    assert stated["output"]["sha256"] == sha256(files.table.read_bytes()).hexdigest()
    assert stated["output"]["recounted"]["holds"] is True
    promised = {"k": 3, "scope": "combination", "l": None, "t": None}
    assert promised.items() <= stated["job"]["privacy"].items()
    groups = int(release.labels.max()) + 1
    (block,) = stated["partition"]
    assert (block["attributes"], block["groups"]) == (["age", "income"], groups)
    proof = block["certificate"]
    assert (proof["status"], proof["solver"]) == (
        "heuristic, nothing else tried",
        "mdav",
    )
    X = people()[["age", "income"]].to_numpy(float)
    assert proof["bound"] == aggopt.partition.loss_bound(X, 3) < proof["objective"]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.stack([Z[release.labels == g].mean(axis=0) for g in range(groups)])
    lost = ((Z - means[release.labels]) ** 2).sum()
    assert proof["objective"] == pytest.approx(lost)
    assert {"python", "numpy", "cvxpy", "unopy"} <= set(stated["versions"])
    assert stated["certificates"]["age"]["solver"] == "cvxpy:uno"
    assert stated["measures"]["dld"] == release.measures.dld


def test_neither_manifest_nor_key_holds_a_value(tmp_path, release):
    files = release.write(tmp_path / "masked.csv")
    frame = people()
    texts = files.manifest.read_text() + files.private.read_text()
    values = [repr(v) for v in frame["income"].tolist()]
    values += [repr(v) for v in release.table["income"].tolist()]
    assert not any(value in texts for value in [*values, "Person", "asthma"])


def test_nothing_is_overwritten_unasked(tmp_path, release):
    release.write(tmp_path / "masked.csv")
    before = (tmp_path / "masked.csv").read_bytes()
    with refused(TableError, "would be overwritten"):
        release.write(tmp_path / "masked.csv")
    assert (tmp_path / "masked.csv").read_bytes() == before
    release.write(tmp_path / "masked.csv", overwrite=True)


@pytest.mark.parametrize("name", ["masked.txt", "no/masked.csv"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, release, name):
    with refused(TableError):
        release.write(tmp_path / name)


def test_a_file_that_breaks_the_promise_is_never_there(tmp_path, release):
    values = release.masked.matrix()
    values[5] += 1e-9
    tampered = replace(release, masked=release.masked.with_values(values))
    with refused(PrivacyError):
        tampered.write(tmp_path / "masked.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_came_meanwhile_is_left_alone(tmp_path, release, monkeypatch):
    real = release_module.write_json

    def slow(to, stated):
        real(to, stated)
        (tmp_path / "masked.csv").write_text("theirs")

    monkeypatch.setattr(release_module, "write_json", slow)
    with refused(TableError, "masked.csv"):
        release.write(tmp_path / "masked.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["masked.csv"]
    assert (tmp_path / "masked.csv").read_text() == "theirs"


def test_links_and_folders_are_not_written_to(tmp_path, release):
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    (tmp_path / "d.manifest.json").mkdir()
    for name in ("link.csv", "d.csv"):
        with refused(TableError):
            release.write(tmp_path / name, overwrite=True)
    assert len(list(tmp_path.iterdir())) == 2


def test_categories_that_no_record_has_are_not_written(tmp_path):
    whole = people(80).assign(illness=["asthma"] * 40 + ["SECRET"] * 40)
    kinds = {
        "pandas": whole.astype({"illness": "category"}).iloc[:40],
        "polars": pl.from_pandas(whole.astype({"illness": "category"})).head(40),
    }
    order = pd.CategoricalDtype(["asthma", "SECRET"], ordered=True)
    kinds["ordered"] = whole.astype({"illness": order}).iloc[:40]
    kinds["enum"] = pl.from_pandas(whole.iloc[:40]).with_columns(
        pl.col("illness").cast(pl.Enum(["asthma", "SECRET"]))
    )
    arrow = pa.Table.from_pandas(whole, preserve_index=False)
    coded = arrow["illness"].dictionary_encode()
    kinds["arrow"] = arrow.set_column(2, "illness", coded).slice(0, 40)
    kinds["within"] = kinds["arrow"].to_pandas(types_mapper=pd.ArrowDtype)
    for kind, table in kinds.items():
        release = aggopt.mask(table, job())
        for ending in ("csv", "parquet"):
            files = release.write(tmp_path / f"{kind}.{ending}")
            assert b"SECRET" not in files.table.read_bytes()
            for path in tmp_path.iterdir():
                path.unlink()
        assert b"SECRET" not in pickle.dumps(release.table)


def test_text_with_bare_carriage_returns_survives(tmp_path):
    frame = people().assign(note="a\rb")
    files = aggopt.mask(frame, job()).write(tmp_path / "m.csv")
    assert set(
        read_as_text(files.table, Input(multiline=True))["note"].to_pylist()
    ) == {"a\rb"}


def test_columns_that_a_file_would_garble_are_refused(tmp_path):
    for note in ([[1, 2]] * 40, [b"x"] * 40):
        release = aggopt.mask(people().assign(note=pd.Series(note)), job())
        with refused(TableError, "'note'"):
            release.write(tmp_path / "m.csv")


def test_rounding_and_values_beyond_the_range_are_noted():
    whole = people().astype({"income": int}).assign(age=np.arange(40) % 2)
    release = aggopt.mask(
        whole,
        job(
            aggregation={"method": "p3m", "solver": "uno", "delta": 0.6},
            output={"round_integers": True},
        ),
    )
    assert any("'age' was rounded to its type" in note for note in release.notes)


def test_values_outside_the_original_range_are_counted():
    x = np.r_[np.zeros(20), np.linspace(5, 9, 20)]
    asked = aggopt.Job(
        roles={"quasi-identifier": ["x"]},
        privacy={"k": 4},
        aggregation={"method": "p3m", "solver": "uno", "delta": 0.5, "alpha": 0.9},
    )
    release = aggopt.mask(pd.DataFrame({"x": x}), asked)
    count = int((release.table["x"] < 0).sum() + (release.table["x"] > 9).sum())
    assert count
    beyond = release.notes[release.urgent - 1]
    assert beyond.startswith("Released values outside the range of the originals")
    assert f"'x' {count}" in beyond


@pytest.mark.parametrize("kind", ["arrow", "pandas-arrow", "polars", "pandas"])
def test_whole_numbers_too_large_for_floats_are_masked(kind):
    big = [2**53 + 1 + 4 * i for i in range(6)]
    frame = {
        "arrow": pa.table({"q": big}),
        "pandas-arrow": pd.DataFrame({"q": pd.array(big, dtype="int64[pyarrow]")}),
        "polars": pl.DataFrame({"q": big}),
        "pandas": pd.DataFrame({"q": big}),
    }[kind]
    asked = aggopt.Job(roles={"quasi-identifier": ["q"]}, privacy={"k": 3})
    assert aggopt.mask(frame, asked).audit.smallest >= 3


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_whole_numbers_that_floats_would_merge_are_refused(make):
    stamps = [1_700_000_000_000_000_000 + 9 * i for i in range(12)]
    asked = aggopt.Job(roles={"quasi-identifier": ["t"]}, privacy={"k": 3})
    with refused(TableError, "'t'"):
        aggopt.mask(make({"t": stamps}), asked)


def test_an_interrupted_write_leaves_nothing(tmp_path, release, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(release_module, "compute_sha256", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release.write(tmp_path / "masked.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_audit_finds_identifiers_and_rare_combinations():
    frame = people(6).assign(age=[1, 1, 1, 2, 2, 2], income=[5.0] * 5 + [6.0])
    found = audit_release(frame, job().roles, job().privacy)
    assert (found.groups, found.smallest, found.holds) == (3, 1, False)
    assert found.identifiers == ("name",)
    with refused(PrivacyError):
        found.require()
    with refused(PrivacyError, "rarest combination"):
        audit_release(frame.drop(columns="name"), job().roles, job().privacy).require()


def test_wishes_in_columns_are_heard_and_dropped():
    frame = people().assign(far=np.linspace(0, 0.6, 40), insists=0.5)
    asking = job(
        roles={**ROLES, "wish": ["far", "insists"]},
        aggregation={
            "method": "p3m",
            "solver": "uno",
            "margin": 0,
            "delta": {"attributes": {"age": {"column": "far"}, "income": 0.3}},
            "importance": {"column": "insists"},
        },
        output=FULL,
    )
    release = aggopt.mask(frame, asking)
    assert list(release.table.columns) == ["age", "illness", "income", "note"]
    X = frame[["age", "income"]].to_numpy(float)
    delta = np.column_stack([frame["far"], np.full(40, 0.3)])
    labels = aggopt.partition.mdav(X, 3)
    masked = aggopt.aggregate.p3m(X, labels, delta=delta, importance=0.5, solver="uno")
    assert (release.masked.matrix() == masked.values).all()
    assert release.measures.sl == aggopt.measure.sl(X, masked.values, delta=delta)


@pytest.mark.parametrize("delta", [{"column": "age"}, {"attributes": {"age": 0.1}}])
def test_wishes_that_cannot_be_read_are_refused(delta):
    with refused(JobError):
        aggopt.mask(people(), job(aggregation={"method": "p3m", "delta": delta}))


def test_wishes_out_of_range_are_refused_before_any_work(monkeypatch):
    put_partitioner(monkeypatch, "mdav", never)
    for wish, values, bounds in (
        ("delta", -0.5, "below 0"),
        ("importance", 1.5, "below 0 or above 1"),
    ):
        asking = job(
            roles={**ROLES, "wish": ["w"]},
            aggregation={"method": "p3m", wish: {"column": "w"}},
        )
        said = f"{wish} is {bounds} in 40 of 40 records"
        with pytest.raises(JobError, match=said):
            aggopt.mask(people().assign(w=values), asking)


def test_relative_wishes_follow_the_z_scores():
    relative = {"method": "p3m", "solver": "uno", "delta": {"relative": 0.2}}
    asked = job(aggregation={**relative, "margin": 0}, output=FULL)
    release = aggopt.mask(people(), asked)
    X = people()[["age", "income"]].to_numpy(float)
    masked = aggopt.aggregate.p3m(
        X, aggopt.partition.mdav(X, 3), delta={"relative": 0.2}, solver="uno"
    )
    assert release.masked.matrix() == pytest.approx(masked.values)


def test_roles_are_complete():
    assert {*ROLES, "drop", "stratum", "unit", "weight", "wish"} == {
        name for name, _ in job().roles
    }


def test_a_pandas_index_is_noted_as_kept():
    named = people().rename_axis("person")
    assert aggopt.mask(named, job()).notes[-1] == (
        "The index of the pandas table is kept in release.table, with all that it "
        "says of records; written files have none."
    )
    assert "index" not in " ".join(aggopt.mask(people(), job()).notes)


def test_what_is_solved_is_no_note():
    release = aggopt.mask(people(), job(aggregation={"method": "p3m", "solver": "uno"}))
    ended = {one.status for one in release.certificates.values()}
    assert not ended & {Status.LIMIT, Status.FALLBACK}
    assert not any("uno" in note for note in release.notes)


@pytest.mark.parametrize(("n", "noted"), [(9, True), (10, False)])
def test_one_group_is_noted_below_2k_records(n, noted):
    note = f"All {n} records form one group: there are fewer than 2k."
    assert (note in aggopt.mask(people(n), job(5)).notes) == noted


ONE_RARE = ["flu", "none"] + ["asthma"] * 38  # no two groups can have all three
EQUAL = {"illness": {"distance": "equal"}}
ALL_40 = "'age', 'income': all 40 records form one group."


@pytest.mark.parametrize(
    ("promise", "notes"),
    [
        (
            {"t": 0.001, "confidential": EQUAL},
            [
                "To keep t = 0.001, all records form one group. "
                "To fix: promise a larger t under [privacy]."
            ],
        ),
        ({"l": 3}, [ALL_40]),
        ({"t": 0.9, "confidential": EQUAL}, []),
    ],
)
def test_one_group_is_explained_by_the_promise_that_asks_for_it(promise, notes):
    kept = {"k": 3, "repair": "merge", **promise}
    release = aggopt.mask(people().assign(illness=ONE_RARE), job(privacy=kept))
    assert [note for note in release.notes if "one group" in note] == notes


def test_only_values_beyond_the_range_of_their_own_attribute_are_noted():
    X = np.array([[0.0, 10.0], [4.0, 20.0], [2.0, 15.0]])
    table = SimpleNamespace(clocks={}, spans={})
    given = SimpleNamespace(X=X, names=job().roles.quasi_identifier, table=table)

    def noted(*last):
        released = np.vstack([X[:2], last])  # the ends themselves are within
        return notes.describe_exceeded_ranges(given, released)

    said = "Released values outside the range of the originals, of 3 each:"
    assert noted(5.0, 9.5) == [f"{said} 'age' 1, 'income' 1."]
    assert noted(3.0, 20.5) == [f"{said} 'income' 1."]
    assert noted(3.0, 11.0) == []
    below = "Below 0, where no original is: 'age'; lower = 0 under [attributes.age]"
    assert below in noted(-1.0, 11.0)[0]
    assert "'income'; lower" not in noted(-1.0, 9.5)[0]
    given.table.clocks["age"] = None  # below its origin a date is a date
    assert "Below 0" not in noted(-1.0, 11.0)[0]
