"""What is read of each release that is compared: its manifest, figures and columns."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from refusals import refused

import aggopt
from aggopt.errors import TableError
from aggopt.pipeline.review import compare_with_keys as steps
from aggopt.pipeline.review.compare_with_keys import (
    _keys,
    _manifest,
    _require_one_table,
    _units,
    compare_releases,
    job_of_manifest,
    release_figures,
)
from aggopt.pipeline.review.comparison import ReleaseFigures

PRIVACY = {"k": 3, "scope": "blocks"}
WHOLE = {"job": {"privacy": PRIVACY}, "input": {}, "audit": {}, "certificates": {}}


def test_of_a_job_that_is_kept_which_says_how_tables_are_read_and_counted() -> None:
    stated = {
        "roles": {
            "quasi-identifier": ["a", "s"],
            "stratum": ["region"],
            "weight": ["w"],
        },
        "weights": {"published": "drop"},
        "strata": {"small": "merge"},
        "attributes": {"s": {"kind": "nominal"}},
        "missing": {"policy": "fill"},
        "input": {"separator": ";", "decimal": ","},
        "output": {"digits": 3},
    }
    private = {"privacy": {**PRIVACY, "l": 2}, "partition": {"method": "nobody's"}}
    assert job_of_manifest({**stated, **private}) == aggopt.Job(
        **stated, privacy=PRIVACY
    )
    roles = {"roles": {"quasi-identifier": ["a"]}}
    assert job_of_manifest({**roles, **private}) == aggopt.Job(**roles, privacy=PRIVACY)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"input": []},
        {"audit": 3},
        {"certificates": None},
        {"job": {"privacy": {"k": 3}}},
        {"job": {"privacy": {"scope": "blocks"}}},
    ],
)
def test_a_manifest_states_k_and_its_scope_and_has_each_section(
    tmp_path, change
) -> None:
    path = tmp_path / "a.manifest.json"
    path.write_text(json.dumps({**WHOLE, **change}))
    if not change:
        assert _manifest(path) == WHOLE
        return
    with refused(
        f"{path} is not the manifest of a release, or cannot be read.",
        "name the NAME.manifest.json that aggopt mask wrote.",
        TableError,
    ):
        _manifest(path)


@pytest.mark.parametrize("key", ["sha256", "records"])
def test_releases_of_one_table_state_the_same_file_and_as_many_records(key) -> None:
    tables = [SimpleNamespace(name="a.csv"), SimpleNamespace(name="b.csv")]
    one = {"sha256": "0", "records": 9, "file": "x"}
    _require_one_table(tables, [{"input": one}, {"input": {**one, "file": "y"}}])
    with pytest.raises(TableError, match=r"^a\.csv, b\.csv are releases of different"):
        _require_one_table(tables, [{"input": one}, {"input": {**one, key: 1}}])


def figures(certificates=(), partition=(), ratio=None, **stated):
    proofs = dict(enumerate({"gap": gap} for gap in certificates))
    parts = [{"certificate": {"gap": gap}} for gap in partition]
    of = {
        "job": {"privacy": PRIVACY},
        "audit": {"smallest": 4},
        "certificates": proofs,
        "partition": parts,
        **stated,
    }
    propensity = None if ratio is None else SimpleNamespace(ratio=ratio)
    found = SimpleNamespace(propensity=propensity, tree=0.25)
    return release_figures(SimpleNamespace(name="a.csv"), of, found)


def test_figures_are_those_that_are_stated_and_found() -> None:
    measures = {"il": 0.5, "linkage": 0.125}
    whole = figures([0.1, 0.2], [0.3, 0.0], ratio=1.5, measures=measures)
    assert whole == ReleaseFigures("a.csv", 3, 4, 0.5, 0.125, 1.5, 0.25, 0.3)
    none = ReleaseFigures("a.csv", 3, 4, None, None, None, 0.25, None)
    assert figures() == figures(measures=None) == none
    assert figures([0.1], [None]) == figures([None], [0.1]) == none
    bare = {"job": {"privacy": PRIVACY}, "audit": {"smallest": 4}}
    unseen = {**bare, "certificates": {}, "partition": []}
    table = SimpleNamespace(name="a.csv")
    assert release_figures(table, unseen, None) == replace(none, pmse_tree=None)


def test_keys_are_columns_that_all_publish_and_that_tell_records_apart() -> None:
    def keys(*frames, other=("q", "p")):
        roles = SimpleNamespace(confidential=["c"], other=other)
        jobs = [SimpleNamespace(roles=roles) for _ in frames]
        jobs[-1].roles = SimpleNamespace(confidential=["c", "q"], other=["p"])
        return _keys([nw.from_native(frame) for frame in frames], jobs)

    two = pd.DataFrame({"p": [1, 2], "a": [1, 2], "q": ["u", "v"], "c": [5, 5]})
    three = pd.DataFrame({"q": [1, 1, 1], "c": [1, 2, 3], "p": [1, 2, 2]})
    assert keys(two, three) == ("p", "q")
    assert keys(three, two) == ("c",)
    assert keys(two, three, other=("q",)) == ("q",)
    assert keys(two[:1], three) == ()


TABLES = [Path("a.csv"), Path("b.csv")]
MANIFESTS = [Path("a.manifest.json"), Path("b.manifest.json")]
ALONE = SimpleNamespace(
    privacy=SimpleNamespace(k=2),
    combination=["x"],
    roles=SimpleNamespace(unit=()),
    released_input=None,
)


@pytest.fixture
def compared(monkeypatch):
    """Compare releases whose groups are given, with steps that note what they hear."""
    said = {}

    def noting(name, made):
        def step(*of, **_):
            said.setdefault(name, []).append(of)
            return made(*of) if callable(made) else made

        monkeypatch.setattr(steps, name, step)

    def compare(*groups, person=None, originals=Path("in.csv")):
        left = iter(map(np.array, groups))
        noting("read_manifests", [{"job": name} for name in "ab"])
        noting("job_of_manifest", ALONE)
        noting("_require_one_table", None)
        noting("read_release_as_text", pa.table({"x": [1]}))
        noting("_groups", lambda *of: next(left))
        noting("measure_utility", lambda *of: ("useful", *of))
        noting("release_figures", lambda table, *_: table.name)
        noting("_units", [None])
        noting("_keys", ("key",))
        linked = SimpleNamespace(united=lambda of: of[::-1], units=lambda *_: None)
        noting("LinkedTables", linked)
        return compare_releases(TABLES, originals, MANIFESTS, person=person), said

    return compare


def test_figures_of_each_release_are_of_its_own_files(compared) -> None:
    found, said = compared([0, 0, 1, 1], [1, 1, 0, 0])
    before = Path("in.csv")
    assert said["release_figures"] == [
        (table, {"job": name}, ("useful", before, table, ALONE))
        for table, name in zip(TABLES, "ab", strict=True)
    ]
    assert said["_units"] == [([before] * 2, TABLES, [ALONE] * 2)]
    assert (found.figures, found.keys, found.k) == (("a.csv", "b.csv"), ("key",), 2)
    assert (found.partly, found.common, found.together.rarest) == (0, None, 2)


def test_records_that_some_releases_leave_out_are_counted_apart(compared) -> None:
    found, _ = compared([0, 0, 1, 1, 1], [0, 0, 0, -1, -1])
    assert (found.partly, found.common.total, found.common.rarest) == (2, 3, 1)
    nobody, _ = compared([0, 0, -1, -1], [-1, -1, 0, 0])
    assert (nobody.partly, nobody.common, nobody.together.rarest) == (4, None, 2)


def test_units_are_read_once_for_each_role(monkeypatch) -> None:
    monkeypatch.setattr(steps, "read_original_and_release", lambda *of: (of, None))
    monkeypatch.setattr(steps, "read_units", lambda of: of)
    jobs = [SimpleNamespace(roles=SimpleNamespace(unit=n)) for n in ("h", "h", "m")]
    found = _units(["o"] * 3, ["a", "b", "c"], jobs)
    assert found == [("o", "b", jobs[1]), ("o", "c", jobs[2])]
