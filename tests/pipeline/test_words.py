"""What is said of releases that cannot be repeated, or not be read again."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.errors import AggoptError
from aggopt.pipeline.review.review_release import Review, assess_release


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Texts of a release and its table, which each test spoils in its own way."""
    folder = tmp_path_factory.mktemp("first")
    people().to_csv(folder / "people.csv", index=False)
    aggopt.mask(folder / "people.csv", job()).write(folder / "masked.csv")
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path, first):
    for name, text in first.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def edit(folder, section, **entries):
    path = folder / "masked.manifest.json"
    stated = json.loads(path.read_text())
    stated[section] |= entries
    path.write_text(json.dumps(stated))


def repeated(folder, data=None, to="again.csv"):
    table = folder / "people.csv" if data is None else data
    aggopt.repeat(folder / "masked.manifest.json", table, folder / to)


def looked(folder, **how):
    assess_release(folder / "people.csv", folder / "masked.csv", job(), **how)


def spoil(folder, case, monkeypatch):
    """Do what is refused in this folder."""
    manifest = folder / "masked.manifest.json"
    if case == "a manifest that may not be read":

        def forbidden(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", forbidden)
        repeated(folder)
    if case == "no manifest":
        manifest.write_text("{}")
        repeated(folder)
    if case == "an edited manifest":
        edit(folder, "output", seed=-1)
        repeated(folder)
    if case == "another ending":
        repeated(folder, to="again.parquet")
    if case == "another table":
        repeated(folder, people(39))
    if case.startswith("other bytes"):
        edit(folder, "output", sha256="0" * 64)
        if case.endswith("versions"):
            edit(folder, "versions", numpy="1.0", nosuch="2")
        repeated(folder)
    if case.startswith("another order"):
        if case.endswith("key"):
            manifest.unlink()
        looked(folder, same_order=True)
    if case == "another original":
        people(seed=1).to_csv(folder / "people.csv", index=False)
        looked(folder)


CASES = [
    "a manifest that may not be read",
    "no manifest",
    "an edited manifest",
    "another ending",
    "another table",
    "other bytes",
    "other bytes, other versions",
    "another order, by the manifest",
    "another order, by the key",
    "another original",
]


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_belong_together_is_refused(folder, monkeypatch, case) -> None:
    before = {path.name for path in folder.iterdir()}
    with refused(AggoptError):
        spoil(folder, case, monkeypatch)
    assert {path.name for path in folder.iterdir()} <= before


def test_orders_are_doubted_above_the_whole_variance_only() -> None:
    def seen(il, same_order=True):
        return Review(None, SimpleNamespace(il=il, types=None), same_order).warning

    assert seen(1.0) is None
    assert seen(2.0, same_order=False) is None
    assert seen(1.25) == (
        "The loss is 125 % of the variance, as of records in different orders: if "
        "these are, no measure here but the counts of equal records means anything."
    )
