"""The same table, job and secret give the same bytes; or nothing is written."""

import json

import pytest
from tables import job, people, wide, wide_job

import aggopt
from aggopt.errors import JobError, RepeatError, TableError
from aggopt.output.staging import sha256

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


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("way", WAYS)
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


def test_blocks_are_repeated(tmp_path) -> None:
    release = aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))
    files = release.write(tmp_path / "masked.csv")
    again = aggopt.repeat(files.manifest, wide(), tmp_path / "again.csv")
    assert sha256(again.table) == sha256(files.table)


@pytest.mark.parametrize("column", ["age", "illness", "name", "note"])
def test_another_table_is_refused_before_any_work(written, column) -> None:
    folder, files = written
    other = people()
    other[column] = other[column].to_numpy()[::-1]
    with pytest.raises(RepeatError, match=r"not the one that masked\.manifest"):
        aggopt.repeat(files.manifest, other, folder / "again.csv", progress=refuse)


def refuse(step, share):
    raise AssertionError(f"{step} was begun")


def test_another_ending_is_refused(written) -> None:
    folder, files = written
    with pytest.raises(RepeatError, match=r"again.parquet is to repeat a .csv file"):
        aggopt.repeat(files.manifest, people(), folder / "again.parquet")


def test_other_bytes_are_not_written_and_versions_that_differ_are_named(
    written,
) -> None:
    folder, files = written
    stated = json.loads(files.manifest.read_text())
    stated["output"]["sha256"] = "0" * 64
    files.manifest.write_text(json.dumps(stated))
    before = names(folder)
    with pytest.raises(RepeatError, match="All versions are the same"):
        aggopt.repeat(files.manifest, people(), folder / "again.csv")
    stated["versions"]["numpy"] = "1.0"
    files.manifest.write_text(json.dumps(stated))
    with pytest.raises(RepeatError, match=r"made with numpy 1.0 \(now "):
        aggopt.repeat(files.manifest, people(), folder / "again.csv")
    assert names(folder) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"output": {}}', "\x00"])
def test_what_is_no_manifest_is_refused(tmp_path, text) -> None:
    (tmp_path / "m.manifest.json").write_text(text)
    with pytest.raises(JobError, match="not the manifest of a written release"):
        aggopt.repeat(tmp_path / "m.manifest.json", people(), tmp_path / "again.csv")
    with pytest.raises(TableError, match="cannot be read"):
        aggopt.repeat(tmp_path / "none.json", people(), tmp_path / "again.csv")


@pytest.mark.parametrize("secret", [3, "", "7" * 31, "x" * 32])
def test_a_secret_is_128_bits(secret) -> None:
    with pytest.raises(JobError, match="32 hexadecimal digits"):
        aggopt.mask(people(), job(), secret=secret)
