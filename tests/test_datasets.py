"""Reference tables: equal to their publisher's figures, or refused."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pooch
import pytest
import requests
from refusals import refused

from aggopt import datasets
from aggopt.errors import TableError

FOLDER = Path(
    os.environ.get("AGGOPT_DATA") or Path(__file__).parents[2] / "shared" / "data"
)
TABLES = {
    "census": (datasets.census, "CASCrefmicrodata.rda", (1080, 13)),
    "tarragona": (datasets.tarragona, "Tarragona.rda", (834, 13)),
    "eia": (datasets.eia, "EIA.rda", (4092, 15)),
}
every_table = pytest.mark.parametrize("name", TABLES)

Network = Callable[[str, Path, object], None]


@pytest.fixture
def published() -> Path:
    missing = [file for _, file, _ in TABLES.values() if not (FOLDER / file).exists()]
    if missing:
        pytest.skip(
            f"{', '.join(missing)} not found: set AGGOPT_DATA to a folder that holds "
            "the tables as sdcMicro ships them"
        )
    return FOLDER


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, with no folder of one's own before it."""
    monkeypatch.delenv("AGGOPT_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    return tmp_path / "aggopt"


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[[Network], None]:
    """Put a function in the place of the network."""

    def put(network: Network) -> None:
        monkeypatch.setattr(
            pooch.core, "choose_downloader", lambda url, progressbar: network
        )

    put(forbidden)
    return put


def forbidden(url: str, file: Path, _: object) -> None:
    raise AssertionError(f"{url} was asked for")


def down(url: str, file: Path, _: object) -> None:
    raise requests.exceptions.ConnectionError


def tampered(url: str, file: Path, _: object) -> None:
    Path(file).write_bytes(b"another table")


@pytest.mark.smoke
@every_table
@pytest.mark.usefixtures("connect")
def test_read_from_a_folder_of_one_s_own(
    name: str, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGGOPT_DATA", str(published))
    read, _, shape = TABLES[name]
    table = read()
    assert table.shape == shape
    assert table.notna().all(axis=None)
    text = [attribute for attribute in ("UTILNAME", "STATE") if attribute in table]
    assert (table.drop(columns=text).dtypes == "int64").all()


@every_table
def test_values_are_those_of_the_publisher(
    name: str, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGGOPT_DATA", str(published))
    figures = published / f"{name}.csv"
    if not figures.exists():
        pytest.skip(f"{figures} not found: put the table's figures there")
    read, _, _ = TABLES[name]
    pd.testing.assert_frame_equal(read(), pd.read_csv(figures))


def test_published_attributes_are_the_utility_and_all_from_the_sixth_on(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGGOPT_DATA", str(published))
    attributes = list(datasets.eia())
    assert ["UTILITYID", *attributes[5:]] == datasets.EIA_PUBLISHED


@pytest.mark.smoke
@every_table
@pytest.mark.parametrize("own_folder", ["unset", "without the file"])
def test_fetched_once_then_cached(
    name: str,
    own_folder: str,
    published: Path,
    cache: Path,
    connect: Callable[[Network], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if own_folder == "without the file":
        monkeypatch.setenv("AGGOPT_DATA", str(tmp_path))
    read, file, shape = TABLES[name]

    def publisher(url: str, path: Path, _: object) -> None:
        assert url.endswith(f"/cf3251017482bb215f0a9abf4a930f502399fb72/data/{file}")
        shutil.copy(published / file, path)

    connect(publisher)
    assert read().shape == shape
    assert (cache / file).is_file()

    connect(forbidden)
    assert read().shape == shape


@every_table
@pytest.mark.usefixtures("connect")
def test_another_file_of_the_same_name_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, file, _ = TABLES[name]
    (tmp_path / file).write_bytes(b"another table")
    monkeypatch.setenv("AGGOPT_DATA", str(tmp_path))
    with pytest.raises(TableError, match=r"its sha256 differs\.\nTo fix: replace it"):
        read()


@pytest.mark.usefixtures("connect")
def test_a_folder_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGGOPT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(TableError, match=r"not a folder\.\nTo fix: set it to the"):
        datasets.census()


def test_without_network_the_address_and_the_cache_are_named(
    cache: Path, connect: Callable[[Network], None]
) -> None:
    connect(down)
    with refused(TableError, "AGGOPT_DATA") as refusal:
        datasets.census()
    assert f"/data/CASCrefmicrodata.rda by hand into {cache}," in refusal.value.fix


def test_another_file_at_the_address_is_refused_and_not_kept(
    cache: Path, connect: Callable[[Network], None]
) -> None:
    connect(tampered)
    with refused(TableError):
        datasets.eia()
    assert not list(cache.iterdir())


@pytest.mark.parametrize("package", ["rdata", "pooch"])
def test_a_package_that_only_the_tables_need_is_named(package, monkeypatch, cache):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TableError, match=f"need the package {package}") as error:
        datasets._installed(package)
    assert "pip install 'aggopt[data]'" in error.value.fix
