"""Tables of categories with columns that are published as they are, of every file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused

import aggopt
from aggopt.aggregate.categories.kept_combinations import read_cross_table_values
from aggopt.data.readers.read import read_as_text, read_file
from aggopt.data.table import Table
from aggopt.errors import JobError, TableError
from aggopt.inspection.collect_errors import find_refusal
from aggopt.pipeline.prepare.job_settings import read_cross_table_columns

N = 60
DRAWN = np.random.default_rng(1)
THERE = DRAWN.random(N) < 0.8
TURN = DRAWN.permutation(N)


def persons(oth: Any) -> pd.DataFrame:
    """Return persons with a category, a number and what is published as it is."""
    rng = np.random.default_rng(0)
    drawn = {"c": rng.choice(list("abc"), N), "x": rng.normal(size=N).round(3)}
    return pd.DataFrame({**drawn, "oth": oth})


def asked(decimal: str = ".", **sections: Any) -> aggopt.Job:
    kept = {"method": "frequencies", "price": 1.0, "with": ["oth"]}
    plain = {
        "roles": {"quasi-identifier": ["c", "x"], "other": ["oth"]},
        "privacy": {"k": 4},
        "partition": {"method": "mdav"},
        "attributes": {"x": {"weight": 1e4}},  # so that it alone makes the groups
        "input": {"decimal": decimal, "separator": ";"},
        "aggregation": {"method": "mean", "categories": kept},
    }
    return aggopt.Job(**{**plain, **sections})


def sources(frame: pd.DataFrame, folder: Path, decimal: str) -> Iterator[Any]:
    """Yield a table in memory and in files."""
    yield frame
    yield frame.set_index(np.arange(N) + 7)
    yield pl.from_pandas(frame)
    yield pa.Table.from_pandas(frame)
    frame.to_csv(folder / "a.csv", index=False, sep=";", decimal=decimal)
    yield folder / "a.csv"
    frame.to_parquet(folder / "a.parquet")
    yield folder / "a.parquet"


FEW = np.random.default_rng(2).integers(0, 20, N)
FIFTHS = TURN // 12
DAYS = pd.date_range("2020", periods=N)[TURN]
COLUMNS = {
    "whole numbers": (FEW, ".", None),
    "numbers": (TURN * 1.37 - 9.5, ".", FIFTHS),
    "numbers with a comma": (TURN * 1.37 - 9.5, ",", FIFTHS),
    "numbers with holes": (pd.Series(TURN * 1.5).where(THERE), ",", None),
    "text with holes": (
        pd.Series([str(j % 7) for j in TURN], dtype=object).where(THERE, None),
        ".",
        None,
    ),
    "text that spells numbers": ([str(j) for j in TURN], ".", FIFTHS),
    "more digits than floats": ([10**17 + int(j) for j in TURN], ".", FIFTHS),
    "dates": (DAYS, ".", FIFTHS),
    "dates with holes": (
        pd.date_range("2020", periods=N)[TURN].where(THERE),
        ".",
        None,
    ),
    "words": (np.array(["low", "high", "7", "8", "9", "10"])[FEW % 6], ".", FEW % 6),
    "truth values": (FEW % 2 == 0, ".", FEW % 2 == 0),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_a_file_has_the_levels_of_the_table_in_memory(what, tmp_path) -> None:
    column, decimal, levels = COLUMNS[what]
    job, codes = asked(decimal), []
    for source in sources(persons(column), tmp_path, decimal):
        if isinstance(source, Path):
            source = read_file(source, job.roles, job.input, job.attributes)
        beside = read_cross_table_columns(
            Table.of(source, job.roles, job.attributes), job
        )
        assert beside.columns == ["oth"]
        codes += read_cross_table_values(beside.to_native(), N)
    expected = codes[0] if levels is None else pd.factorize(levels)[0]
    for code in codes:
        pairs = set(zip(code.tolist(), expected.tolist(), strict=True))
        assert len(pairs) == len(set(code)) == len(set(expected))


def test_a_file_gives_the_certificate_of_the_table_in_memory(tmp_path) -> None:
    objectives = [
        aggopt.mask(source, asked(), secret="0" * 32).certificates["c"].objective
        for source in sources(persons(FEW), tmp_path, ".")
    ]
    assert len(set(objectives)) == 1
    kept = {"method": "frequencies", "price": 1.0}
    job = asked(aggregation={"method": "mean", "categories": kept})
    alone = aggopt.mask(persons(FEW), job, secret="0" * 32).certificates["c"]
    assert alone.objective != objectives[0]


@pytest.mark.parametrize(
    ("column", "error"),
    [
        ([f"a{j}" for j in TURN], JobError),
        ([*"ab", *map(str, range(58))], JobError),
        ([f"2020-02-{j}" for j in TURN], JobError),
        ([""] * N, TableError),
    ],
)
def test_columns_without_levels_are_refused_before_work(
    column, error, tmp_path
) -> None:
    for source in sources(persons(column), tmp_path, "."):
        begun: list[str] = []
        with refused(error):
            aggopt.mask(source, asked(), progress=lambda s, _, b=begun: b.append(s))
        assert set(begun) == {"read"}
    path = tmp_path / "a.csv"
    table = read_as_text(path, asked().input)
    assert isinstance(find_refusal(path, table, asked()), error)


def test_levels_are_of_the_records_that_have_the_category() -> None:
    frame = persons([f"a{j % 20}" for j in range(N)])
    job = asked(missing={"policy": "patterns"})
    half = frame.assign(c=frame["c"].where(frame.index >= 20))  # 20 words of 40 records
    assert aggopt.mask(half, job).audit.smallest >= 4
    fewer = frame.assign(c=frame["c"].where(frame.index >= 21))
    begun: list[str] = []
    with refused(JobError, "'oth'", "20", "39"):
        aggopt.mask(fewer, job, progress=lambda step, _: begun.append(step))
    assert set(begun) == {"read"}
    numbers = frame.assign(x=frame["x"].where(frame.index >= 21))
    assert aggopt.mask(numbers, job).audit.smallest >= 4


def test_a_column_that_is_named_twice_is_refused() -> None:
    kept = {"method": "frequencies", "with": ["oth", "oth"]}
    job = asked(aggregation={"method": "mean", "categories": kept})
    with refused(JobError, "'oth'"):
        aggopt.mask(persons(FEW), job)
