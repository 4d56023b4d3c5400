"""Values are recoded before anything is computed, as a person would by hand."""

import json
from fractions import Fraction
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn import examples
from folders import SECRET, put
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import aggopt
from aggopt import Job
from aggopt.data.parsing.recoding import recode_columns
from aggopt.data.table import Table
from aggopt.engine.storage.input_parts import InputFolder
from aggopt.errors import JobError, TableError
from aggopt.job import Roles
from aggopt.pipeline.review.review_release import assess_release

QUASI = ["age", "income", "craft", "code"]
ROLES = {"quasi-identifier": QUASI, "confidential": ["ill"]}
SECTIONS = {
    "age": {"cuts": [18, 25, 26, 65]},
    "income": {"bottom": 5000, "top": 40_000, "round": 1000},
    "craft": {"groups": {"metal": ["smith", "turner"], "care": ["nurse"]}},
    "code": {"kind": "nominal", "groups": {"1": ["1", 2], "9": [3]}},
}
CELLS = ["below 18", "18 to 24", "25", "26 to 64", "65 and more"]


def people(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    crafts = ["smith", "turner", "nurse", "clerk"]
    return pd.DataFrame(
        {
            "age": np.arange(n) * 37 % 90,
            "income": rng.gamma(2.0, 1e4, n).round(2),
            "craft": np.resize(crafts, n),
            "code": np.resize([1, 2, 3, 4], n),
            "ill": rng.choice(["flu", "none"], n),
        }
    )


def recoded_by_hand(table: pd.DataFrame) -> pd.DataFrame:
    """The oracle: each value by itself, in exact fractions."""

    def cell(age: int) -> str:
        low = sum(age >= cut for cut in (18, 25, 26, 65))
        return CELLS[low]

    def amount(income: float) -> float:
        thousands = round(Fraction(min(max(income, 5000), 40_000)) / 1000)
        return 1000.0 * thousands

    groups = {"smith": "metal", "turner": "metal", "nurse": "care", "clerk": "clerk"}
    return table.assign(
        age=table["age"].map(cell),
        income=table["income"].map(amount),
        craft=table["craft"].map(groups),
        code=table["code"].map({1: 1, 2: 1, 3: 9, 4: 4}),
    )


def by_hand_job(**sections) -> Job:
    """The job for a table that was recoded by hand."""
    types = {"age": {"order": CELLS}, "code": {"kind": "nominal"}}
    return Job(**{"roles": ROLES, "privacy": {"k": 3}, "attributes": types, **sections})


def recoding_job(**sections) -> Job:
    return by_hand_job(**{"attributes": SECTIONS, **sections})


MDAV = {"partition": {"method": "mdav"}}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "parquet"])
def test_a_recoded_table_is_masked_as_one_recoded_by_hand(kind, tmp_path) -> None:
    table = people()
    path = str(tmp_path / f"people.{kind}")
    if kind in ("csv", "parquet"):
        write = table.to_csv if kind == "csv" else table.to_parquet
        write(path, index=False)
    data = {
        "pandas": table,
        "polars": pl.from_pandas(table),
        "arrow": pa.Table.from_pandas(table),
    }.get(kind, path)
    release = aggopt.mask(data, recoding_job(**MDAV), secret=SECRET)
    expected = aggopt.mask(recoded_by_hand(table), by_hand_job(**MDAV), secret=SECRET)
    got = release.table
    got = got if isinstance(got, pd.DataFrame) else pd.DataFrame(got.to_pandas())
    pd.testing.assert_frame_equal(
        got.astype(expected.table.dtypes), expected.table, check_exact=True
    )
    assert sum("was recoded before masking" in note for note in release.notes) == 4
    assert set(release.table["age"].to_pandas() if kind == "arrow" else got["age"]) <= {
        *CELLS
    }


def test_a_folder_is_masked_as_one_recoded_by_hand(tmp_path) -> None:
    table = people(160)
    by_hand = recoded_by_hand(table)
    engine = {"name": "local", "block": 60}
    sections = {"roles": ROLES, "engine": engine}
    halves = [slice(0, 90), slice(90, None)]
    folders = [
        put(tmp_path / name, *(frame[half] for half in halves))
        for name, frame in (("raw", table), ("hand", by_hand))
    ]
    jobs = (recoding_job(**sections), by_hand_job(**sections))
    releases = [
        aggopt.mask(folder, job, out=tmp_path / f"out-{number}", secret=SECRET)
        for number, (folder, job) in enumerate(zip(folders, jobs, strict=True))
    ]
    one, other = (pd.read_parquet(release.path) for release in releases)
    pd.testing.assert_frame_equal(one, other)
    assert sum("was recoded" in note for note in releases[0].notes) == 4


def test_a_conversion_keeps_what_is_recoded_later(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    recoded = aggopt.convert(
        tmp_path / "people.csv", tmp_path / "parts", job=recoding_job()
    )
    (file,) = sorted(recoded.path.glob("*.parquet"))
    types = pq.read_schema(file)
    assert [str(types.field(name).type) for name in QUASI] == [
        "int64",
        "double",
        "string",
        "int64",
    ]


def test_losses_compare_with_the_numbers_before(tmp_path) -> None:
    roles = {"quasi-identifier": ["income"], "other": ["age", "craft", "code", "ill"]}
    table = people()
    asked = Job(
        roles=roles,
        privacy={"k": 3},
        attributes={"income": {"top": 30_000, "round": 500}},
        partition={"method": "univariate"},
    )
    files = tmp_path / "people.csv", tmp_path / "masked.csv"
    table.to_csv(files[0], index=False)
    release = aggopt.mask(files[0], asked, secret=SECRET)
    x, y = table["income"], release.table["income"].to_pandas()
    expected = aggopt.measure.il(x.to_frame(), y.to_frame())
    assert release.measures.il == pytest.approx(expected, rel=1e-12)
    assert y.max() <= 30_000
    release.write(files[1])
    review = assess_release(*files, asked)
    assert review.measures.il == pytest.approx(expected, rel=1e-9)
    manifest = tmp_path / "masked.manifest.json"
    said = "numbers above 30000 became 30000"
    page = release.report(tmp_path / "report.html")
    assert f"recoded before: {said}" in Path(page).read_text("utf-8")
    assert any(said in note for note in json.loads(manifest.read_text())["notes"])
    aggopt.repeat(manifest, files[0], tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == files[1].read_bytes()


NUMBERS = st.lists(
    st.one_of(
        st.integers(-20, 120).map(float),
        st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
        st.none(),
    ),
    min_size=2,
    max_size=12,
).filter(lambda xs: len({*xs} - {None}) > 0)
CUTS = st.lists(st.floats(-100, 100).map(lambda x: round(x, 1)), min_size=1, max_size=5)


@examples(60)
@given(numbers=NUMBERS, cuts=CUTS)
def test_the_label_of_a_cell_is_true_of_each_number(numbers, cuts) -> None:
    cuts = sorted(set(cuts))
    section = Job(
        roles={"quasi-identifier": ["x"]},
        privacy={"k": 2},
        attributes={"x": {"cuts": cuts}},
    ).attributes["x"]
    frame = pl.DataFrame({"x": pl.Series(numbers, dtype=pl.Float64)})
    missing = Job(
        roles={"quasi-identifier": ["x"]},
        privacy={"k": 2},
        missing={"policy": "patterns"},
    ).missing
    roles = Roles(**{"quasi-identifier": ("x",)})
    table = Table.of(frame, roles, {"x": section}, missing=missing)
    for number, label in zip(numbers, table.frame["x"].to_list(), strict=True):
        if number is None:
            assert label is None
            continue
        if label.startswith("below "):
            assert number < float(label.removeprefix("below "))
        elif label.endswith(" and more"):
            assert number >= float(label.removesuffix(" and more"))
        else:
            low, high = label.split(" to below ")
            assert float(low) <= number < float(high)


def test_bounds_become_labels_of_an_order_of_whole_numbers() -> None:
    table = people().assign(age=np.arange(60) + 40)
    section = {"kind": "ordinal", "bottom": 50, "top": 80, "round": 10}
    roles = {"quasi-identifier": ["age"], "other": ["income", "craft", "code", "ill"]}
    asked = Job(roles=roles, privacy={"k": 3}, attributes={"age": section})
    labels = asked.attributes["age"].cells
    assert labels == ("50 and less", "60", "70", "80 and more")
    released = aggopt.mask(table, asked).table["age"]
    assert set(released) == set(labels)


WRONG = [
    ({"cuts": [18, 18]}, "cuts do not increase"),
    ({"cuts": [18, 5]}, "cuts do not increase"),
    ({"cuts": []}, "cuts is empty"),
    ({"cuts": list(range(1001))}, "1001 cuts"),
    ({"cuts": [18], "top": 65}, "cuts and top"),
    ({"cuts": [18], "order": ["a"]}, "order"),
    ({"cuts": [18], "kind": "nominal"}, "'nominal'"),
    ({"cuts": [18], "upper": 3.0}, '"ordinal"'),
    ({"top": 5, "bottom": 5}, "bottom = 5"),
    ({"round": 0}, "round = 0"),
    ({"round": -1.5}, "round = -1.5"),
    ({"round": 10, "top": 85}, "top = 85"),
    ({"top": 85, "kind": "nominal"}, "top"),
    ({"top": 85, "kind": "ordinal"}, "top"),
    ({"top": 8500, "bottom": 0, "kind": "ordinal"}, "1000 levels"),
    ({"top": 85, "tree": {"a": ["b"]}}, "top"),
    ({"groups": {}}, "groups is empty"),
    ({"groups": {"a": []}}, "A group has no label"),
    ({"groups": {"a": ["x"], "b": ["x"]}}, "names a label twice"),
    ({"groups": {"a": ["x", "x"]}}, "names a label twice"),
    ({"groups": {"a": ["x"], "b": ["a"]}}, "'a'"),
    ({"groups": {"a": ["x"]}, "kind": "numeric"}, "'numeric'"),
    ({"groups": {"a": ["x"]}, "round": 5}, "groups"),
    ({"groups": {"a": ["x"]}, "order": ["x", "y"]}, "order names 1"),
]


@pytest.mark.parametrize(("section", "at_fault"), WRONG)
def test_contradictory_recodings_are_refused_with_the_job(section, at_fault) -> None:
    with refused(JobError, at_fault):
        Job(
            roles={"quasi-identifier": ["age"]},
            privacy={"k": 3},
            attributes={"age": section},
        )


UNFIT = [
    ({"age": {"cuts": [18, 65]}}, {"age": 24.5}, TableError, "'age'"),
    ({"age": {"cuts": [18, 65]}}, {"age": "x"}, JobError, "'age'"),
    ({"age": {"top": 65}}, {"age": np.inf}, TableError, "'age'"),
    ({"age": {"top": 65.5}}, {}, JobError, "'age'"),
    ({"age": {"top": 0.5}}, {"age": np.datetime64("2020-01-01")}, JobError, "'age'"),
    ({"craft": {"groups": {"metal": ["smith", "baker"]}}}, {}, JobError, "has 1 of"),
    ({"craft": {"groups": {"clerk": ["smith"]}}}, {}, JobError, "with the name"),
    ({"income": {"groups": {"a": ["1"]}}}, {}, JobError, "'income'"),
]


@pytest.mark.parametrize(("sections", "values", "error", "at_fault"), UNFIT)
@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_table_that_does_not_fit_its_recoding_is_refused(
    sections, values, error, at_fault, where, tmp_path
) -> None:
    table = people().assign(**values)
    asked = {"attributes": sections, "roles": ROLES}
    if where == "memory":
        with refused(error, at_fault):
            aggopt.mask(table, by_hand_job(**asked))
        return
    folder = put(tmp_path / "in", table[:30], table[30:])
    job = by_hand_job(**asked, engine={"name": "local", "block": 60})
    with refused(error, at_fault):
        aggopt.mask(folder, job, out=tmp_path / "out")


def test_merged_labels_of_an_ordered_column_need_an_order() -> None:
    table = people()
    table["craft"] = pd.Categorical(table["craft"], ordered=True)
    section = {"groups": {"metal": ["smith", "turner"]}}
    with refused(JobError, "'craft'"):
        aggopt.mask(table, by_hand_job(attributes={"craft": section}))
    order = ["clerk", "metal", "nurse"]
    asked = by_hand_job(attributes={"craft": {**section, "order": order}})
    assert set(aggopt.mask(table, asked).table["craft"]) <= set(order)


def test_waves_of_recoded_tables_are_refused(tmp_path) -> None:
    partition = {
        "keep_groups": str(tmp_path / "a.private.csv"),
        "earlier": str(tmp_path / "a.csv"),
    }
    with refused(JobError, "[attributes.age]", "earlier"):
        recoding_job(partition=partition)


def test_a_transformer_recodes_records_that_it_has_not_fitted() -> None:
    from aggopt.sklearn import Microaggregator

    table = people()[["age", "income"]]
    sections = {"age": {"cuts": [18, 65]}}
    fitted = Microaggregator(k=3, attributes=sections, unseen="nearest").fit(table)
    new = pd.DataFrame({"age": [17, 18, 90], "income": [10_000.5, 20_000.5, 30_000.5]})
    assert set(fitted.transform(new)["age"]) <= {"below 18", "18 to 64", "65 and more"}


@pytest.mark.parametrize("where", ["memory", "folder"])
@pytest.mark.parametrize(
    ("kind", "section", "expected"),
    [
        ("int8", {"round": 50}, [-150, 100, 150]),
        ("int8", {"bottom": 300}, [300] * 3),
        ("int8", {"kind": "nominal", "groups": {"900": [-128], "901": [127]}}, None),
        ("float32", {"round": 50}, [-150.0, 100.0, 150.0]),
    ],
)
def test_recoded_numbers_may_be_outside_the_range_of_their_type(
    kind, section, expected, where, tmp_path
) -> None:
    numbers = np.array([-128, 100, 127], kind)
    frame = pd.DataFrame({"x": numbers})
    job = Job(
        roles={"quasi-identifier": ["x"]}, privacy={"k": 2}, attributes={"x": section}
    )
    if where == "folder":
        folder = put(tmp_path / "in", frame[:1], frame[1:])
        recoded = InputFolder.of(folder).recode(job.attributes)
        got = [row["x"] for block in recoded.blocks() for row in block.to_pylist()]
    else:
        got = recode_columns(nw.from_native(frame), job.attributes)["x"].to_list()
    assert got == (expected or [900, 100, 901])


def test_a_32_bit_number_is_in_the_cell_of_its_printed_decimals() -> None:
    frame = pd.DataFrame({"x": np.array([0.1, 0.3, 0.7, np.nan], np.float32)})
    job = Job(
        roles={"quasi-identifier": ["x"]},
        privacy={"k": 2},
        attributes={"x": {"cuts": [0.1, 0.3, 0.7]}},
    )
    got = recode_columns(nw.from_native(frame), job.attributes)["x"].to_list()
    cells = ["0.1 to below 0.3", "0.3 to below 0.7", "0.7 and more"]
    assert got[:3] == cells
    assert pd.isna(got[3])
