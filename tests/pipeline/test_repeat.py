"""The same table, job and secret give the same bytes; or nothing is written."""

import json

import pytest
from refusals import refused
from tables import job, people, wide, wide_job

import aggopt
from aggopt.errors import AggoptError, JobError, RepeatError, TableError
from aggopt.release.files.staging import compute_sha256

WAYS = {
    "means": {},
    "p3m": {"aggregation": {"method": "p3m", "delta": 0.3, "importance": 0.5}},
    "satisfaction": {"aggregation": {"method": "satisfaction", "delta": 0.3}},
    "a seed": {"output": {"seed": 7}},
    "no shuffle": {"output": {"shuffle": False, "digits": "full"}},
    "a search": {"partition": {"method": "local_search"}},
    "left open": {"partition": {}},
}


@pytest.fixture
def written(tmp_path):
    files = aggopt.mask(people(), job()).write(tmp_path / "masked.csv")
    return tmp_path, files


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("way", "ending"), [*((way, "csv") for way in WAYS), ("means", "parquet")]
)
def test_a_release_is_repeated_byte_for_byte(tmp_path, way, ending) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    first = aggopt.mask(tmp_path / "people.csv", job(**WAYS[way]))
    files = first.write(tmp_path / f"masked.{ending}")
    (tmp_path / "keep").mkdir()
    again = aggopt.repeat(
        files.manifest,
        tmp_path / "people.csv",
        tmp_path / f"again.{ending}",
        private=tmp_path / "keep",
    )
    assert again.table.read_bytes() == files.table.read_bytes()
    assert again.private.read_bytes() == files.private.read_bytes()
    last = aggopt.repeat(
        again.manifest, tmp_path / "people.csv", tmp_path / f"last.{ending}"
    )
    assert last.table.read_bytes() == files.table.read_bytes()


def test_a_tree_of_a_file_is_repeated_without_the_file(tmp_path) -> None:
    """The manifest has the tree itself, and no path of the machine it was made on."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "ill.csv").write_text("flu;lung;*\nasthma;lung;*\nnone;well;*\n")
    (here / "job.toml").write_text(
        '[roles]\nidentifier = ["name", "note"]\nother = ["income"]\n'
        'quasi-identifier = ["age", "illness"]\n[privacy]\nk = 3\n'
        '[attributes.illness]\ntree = "ill.csv"\npublish = "ancestor"\n'
    )
    release = aggopt.mask(people(), here / "job.toml")
    (note,) = [note for note in release.notes if "branch" in note]
    assert note == (
        "'illness': 1 branch of the tree has one value only: look whether a name is "
        "spelled in two ways."
    )
    files = release.write(there / "masked.csv")
    assert str(here) not in files.manifest.read_text()
    tree = json.loads(files.manifest.read_text())["job"]["attributes"]["illness"]
    assert tree["tree"][0] == ["flu", "lung", "*"]
    (here / "ill.csv").unlink()
    again = aggopt.repeat(files.manifest, people(), there / "again.csv")
    assert compute_sha256(again.table) == compute_sha256(files.table)


def test_a_tree_that_is_not_there_names_its_column(tmp_path) -> None:
    (tmp_path / "job.toml").write_text(
        '[roles]\nidentifier = ["name", "note"]\nother = ["income"]\n'
        'quasi-identifier = ["age", "illness"]\n[privacy]\nk = 3\n'
        '[attributes.illness]\ntree = "ill.csv"\n'
    )
    with refused(TableError, "'illness'", "ill.csv"):
        aggopt.mask(people(), tmp_path / "job.toml")


def test_blocks_are_repeated(tmp_path) -> None:
    release = aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, wide(), tmp_path / "again.csv")
    assert compute_sha256(again.table) == compute_sha256(files.table)


@pytest.mark.parametrize("column", ["age", "illness", "name", "note"])
def test_another_table_is_refused_before_any_work(written, column) -> None:
    folder, files = written
    other = people()
    other[column] = other[column].to_numpy()[::-1]
    with refused(RepeatError):
        aggopt.repeat(files.manifest, other, folder / "again.csv", progress=refuse)


def refuse(step, share):
    raise AssertionError(f"{step} was begun")


def test_another_ending_is_refused(written) -> None:
    folder, files = written
    with refused(RepeatError, "again.parquet"):
        aggopt.repeat(files.manifest, people(), folder / "again.parquet")


def test_other_bytes_are_not_written_and_versions_that_differ_are_named(
    written,
) -> None:
    folder, files = written
    stated = json.loads(files.manifest.read_text())
    stated["output"]["sha256"] = "0" * 64
    files.manifest.write_text(json.dumps(stated))
    before = names(folder)
    with refused(RepeatError):
        aggopt.repeat(files.manifest, people(), folder / "again.csv")
    stated["versions"]["numpy"] = "1.0"
    files.manifest.write_text(json.dumps(stated))
    with pytest.raises(RepeatError, match=r"numpy 1\.0"):
        aggopt.repeat(files.manifest, people(), folder / "again.csv")
    assert names(folder) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"output": {}}', "\x00"])
def test_what_is_no_manifest_is_refused(tmp_path, text) -> None:
    (tmp_path / "m.manifest.json").write_text(text)
    with refused(JobError):
        aggopt.repeat(tmp_path / "m.manifest.json", people(), tmp_path / "again.csv")
    with refused(TableError, "none.json"):
        aggopt.repeat(tmp_path / "none.json", people(), tmp_path / "again.csv")


def test_a_manifest_that_may_not_be_read_is_refused(written, monkeypatch) -> None:
    folder, files = written

    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(files.manifest), "open", forbidden)
    with refused(TableError):
        aggopt.repeat(files.manifest, people(), folder / "again.csv")


DEEP = "[" * 100_000 + "]" * 100_000
ODD = {
    "output seed": [float("inf"), "x", -1, None, 1.5, True],
    "output secret": ["../../x", None, 3, "7" * 31],
    "output file": [3, None, "x.txt", []],
    "output sha256": [5, "0" * 63, None],
    "input fingerprint": ["x", None],
    "versions": [[[1, 2]], {"": "3"}, {"a": [1]}, {"../x": "1"}, None],
}


@pytest.mark.parametrize("where", ODD)
def test_what_no_release_writes_into_its_manifest_is_refused(written, where) -> None:
    folder, files = written
    stated = json.loads(files.manifest.read_text())
    before = names(folder)
    *sections, key = where.split()
    for odd in ODD[where]:
        edited = {**stated, **{s: dict(stated[s]) for s in sections}}
        (edited[sections[0]] if sections else edited)[key] = odd
        files.manifest.write_text(json.dumps(edited))
        with pytest.raises(JobError, match=f"states no {where} that a release writes"):
            aggopt.repeat(files.manifest, people(), folder / "n.csv", progress=refuse)
    assert names(folder) == before


@pytest.mark.parametrize("text", [DEEP, "7", '{"job": []}', '{"job": 3}'])
def test_a_file_that_is_deep_or_of_another_kind_is_no_manifest(written, text) -> None:
    folder, files = written
    files.manifest.write_text(text)
    with refused(JobError):
        aggopt.repeat(files.manifest, people(), folder / "again.csv")


def test_a_release_in_the_order_of_the_input_states_no_seed(tmp_path) -> None:
    files = aggopt.mask(people(), job(output={"shuffle": False})).write(
        tmp_path / "masked.csv"
    )
    stated = json.loads(files.manifest.read_text())
    stated["output"]["seed"] = 7
    files.manifest.write_text(json.dumps(stated))
    with refused(JobError):
        aggopt.repeat(files.manifest, people(), tmp_path / "again.csv")


def test_a_repetition_is_refused_early_where_it_could_not_be_written(written) -> None:
    folder, files = written
    again = files.manifest, people(), folder / "again.csv"
    with refused(TableError):
        aggopt.repeat(*again, private=folder / "keep", progress=refuse)
    (folder / "again.csv").touch()
    with refused(TableError, "again.csv"):
        aggopt.repeat(*again, progress=refuse)


def test_a_repetition_is_not_written_over_its_table_nor_its_manifest(written) -> None:
    folder, files = written
    table = folder / "people.csv"
    table.touch()
    for data, to, lost in (
        (table, table, "people.csv"),
        (people(), files.table, files.manifest.name),
    ):
        with refused(AggoptError, lost):
            aggopt.repeat(files.manifest, data, to, overwrite=True, progress=refuse)


def test_a_repetition_overwrites_if_allowed_and_keeps_private_what_is(written) -> None:
    folder, files = written
    (folder / "keep").mkdir()
    steps = []
    for text in ("", "an old one"):
        (folder / "again.csv").write_text(text)
        made = aggopt.repeat(
            files.manifest,
            people(),
            folder / "again.csv",
            private=folder / "keep",
            overwrite=True,
            progress=lambda step, share: steps.append(step),
        )
        assert made.table.read_bytes() == files.table.read_bytes()
    assert names(folder / "keep") == {"again.manifest.json", "again.private.csv"}
    assert made.private.parent == folder / "keep"
    assert {"group", "audit", "measure"} <= set(steps)


def test_a_seed_of_zero_is_one(tmp_path) -> None:
    seeded = aggopt.mask(people(), job(output={"seed": 0}))
    files = seeded.write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, people(), tmp_path / "again.csv")
    assert again.table.read_bytes() == files.table.read_bytes()


@pytest.mark.parametrize("secret", [3, "", "7" * 31, "x" * 32])
def test_a_secret_is_128_bits(secret) -> None:
    with refused(JobError, "32"):
        aggopt.mask(people(), job(), secret=secret)
