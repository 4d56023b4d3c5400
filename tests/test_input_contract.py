"""The tables of `aggopt mask` in the input contract, row by row."""

import datetime as dt
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from contract_rows import OF_MASK, read_pages, read_rows
from tables import ROLES, job, people, smallest

import aggopt
from aggopt.core.plugins.loading import trust_files
from aggopt.errors import AggoptError, PrivacyError
from aggopt.job import Missing
from aggopt.privacy import t_closeness

Case = Callable[[Path], tuple[Any, Any]]

frame = people()
P3M = {"method": "p3m", "solver": "uno"}
SHIFTED = {"method": "p3m"}
VISITS = np.arange(40) % 8 * (np.arange(40) % 3 == 0) * 10
INCOME = {"attributes": {"income": {"lower": 0}}}
CORRELATED = {"method": "mean", "keep": "covariance"}
bills = np.random.default_rng(8).normal(300, 50, len(frame))


def keeping(method: str = "mean", **kept: Any) -> dict[str, Any]:
    return {"method": method, "keep": kept}


def with_column(name: str, values: Any, **sections: Any) -> Case:
    return lambda _: (frame.assign(**{name: values}), job(**sections))


def with_job(data: Any = frame, **sections: Any) -> Case:
    return lambda _: (data, job(**sections))


KEY = ["group,released_record", *(f"{i // 4},{i}" for i in range(40))]


def in_groups(lines: list[str], **more: str) -> Case:
    """Return a job that keeps the groups that a file has."""

    def case(folder: Path) -> tuple[Any, Any]:
        path = folder / "earlier.private.csv"
        path.write_text("\n".join([*lines, ""]))
        return frame, job(partition={"keep_groups": str(path), **more})

    return case


def in_waves(data: pd.DataFrame, **more: str) -> Case:
    """Return a wave, and a job that keeps the groups which the people had before."""

    def case(folder: Path) -> tuple[Any, Any]:
        frame.to_csv(folder / "earlier.csv", index=False)
        own = {"earlier": str(folder / "earlier.csv"), "person": "name", **more}
        return data, in_groups(KEY, **own)(folder)[1]

    return case


def with_risk(**asked: Any) -> Case:
    return lambda _: (frame, job(risk=asked))


EVEN = np.linspace(1.0, 2.0, 40)
AS_IS = {"published": "as is"}
UNTOLD = frame.assign(income=frame["income"].where(np.arange(40) > 0))


def surveyed(of_notes: Any, data: pd.DataFrame = frame, **sections: Any) -> Case:
    """Return a table and a job with sampling weights in the place of the notes."""
    roles = {**ROLES, "other": [], "weight": "note"}
    return lambda _: (data.assign(note=of_notes), job(roles=roles, **sections))


def bounded(*, lower: float = 0, **said: Any) -> Case:
    """Return visits, mostly none, in place of the income, with bounds of them."""
    sections = {n: said.pop(n) for n in ("aggregation", "output") if n in said}
    kept = {"attributes": {"income": {"lower": lower, **said}}}
    return lambda _: (frame.assign(income=VISITS), job(**sections, **kept))


def with_file(name: str, content: bytes | None, **sections: Any) -> Case:
    def case(folder: Path) -> tuple[Any, Any]:
        path = folder / name
        if content is not None:
            path.write_bytes(content)
        return path, job(**sections)

    return case


STRETCHED = {"method": "mean", "keep": "variance"}
WITHIN = {**ROLES, "other": [], "stratum": ["note"]}


def stratified(*sizes: int, spoiled: Any = ("note", 0, None), **sections: Any) -> Case:
    """Return strata of so many records and of what is left.

    `spoiled` is a column, and what its first records, so many, have in it.
    """
    of = np.repeat(np.arange(len(sizes) + 1), (*sizes, len(frame) - sum(sizes)))
    made = frame.assign(note=[f"s{j}" for j in of])
    name, count, value = spoiled
    made.loc[made.index < count, name] = value
    return lambda _: (made, job(roles=WITHIN, **sections))


OF_UNITS = {"attributes": ["age", "income"]}
UNITED = {**ROLES, "other": [], "unit": ["note"]}


def united(
    count: int, alike: int = 0, lacking: int = 0, holes: int = 0, **sections: Any
) -> Case:
    """Return records of so many units, the first of them `alike` within each."""
    of = np.arange(len(frame)) % count
    of[0] = 1  # a unit of one record, and one of three
    made = frame.assign(note=[f"u{j}" for j in of])
    same = made.index < alike
    made.loc[same, OF_UNITS["attributes"]] = made.loc[
        of[same], OF_UNITS["attributes"]
    ].to_numpy()
    made.loc[made.index < lacking, "note"] = None
    made.loc[made.index < holes, "income"] = np.nan
    return lambda _: (made, job(**{"roles": UNITED, **sections}))


CODE = """
def split(X, k, *, size=40):
    step = 40 // size
    return [i // step for i in range(size)]
"""


def with_code(name: str, *, trusted: bool = True, **settings: Any) -> Case:
    """Return a job that names code in a file."""

    def case(folder: Path) -> tuple[Any, Any]:
        path = folder / "mine.py"
        path.write_text(CODE)
        asked = job(partition={"method": f"{folder}/{name}", **settings})
        with trust_files([path] if trusted else []):
            return frame, asked.load_code()

    return case


MODEL = """
def capped(x, labels, sizes, *, cap=1.0):
    return None
"""


def with_model(name: str, **settings: Any) -> Case:
    """Return a job that names a model in a file."""

    def case(folder: Path) -> tuple[Any, Any]:
        path = folder / "mine.py"
        path.write_text(MODEL)
        asked = job(aggregation={"model": f"{folder}/{name}", **settings})
        with trust_files([path]):
            return frame, asked.load_code()

    return case


def with_object(name: str) -> Case:
    def made(X: Any, k: int) -> Any:
        return [0] * len(X)

    made.__name__ = name
    return lambda _: (frame, job(partition={"method": made}))


def directory(folder: Path) -> tuple[Any, Any]:
    path = folder / "people.csv"
    path.mkdir()
    return path, job()


def pipe(folder: Path) -> tuple[Any, Any]:
    path = folder / "people.csv"
    os.mkfifo(path)
    return path, job()


WRITERS = {
    ".sav": pyreadstat.write_sav,
    ".dta": pyreadstat.write_dta,
    ".xpt": pyreadstat.write_xport,
}


def with_table(
    ending: str,
    data: pd.DataFrame = frame,
    *,
    sections: dict[str, Any] | None = None,
    **how: Any,
) -> Case:
    """Return a table as a file of SPSS, Stata or SAS, which says this of it."""

    def case(folder: Path) -> tuple[Any, Any]:
        WRITERS[ending](data, folder / f"people{ending}", **how)
        return folder / f"people{ending}", job(**(sections or {}))

    return case


def two_data_sets(folder: Path) -> tuple[Any, Any]:
    path = folder / "people.xpt"
    pyreadstat.write_xport(frame, path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[whole.index(b"HEADER RECORD*******MEMB") :])
    return path, job()


def ends_early(folder: Path) -> tuple[Any, Any]:
    path = folder / "people.xpt"
    pyreadstat.write_xport(frame, path)
    path.write_bytes(path.read_bytes()[:-160])
    return path, job()


def one_long_word(folder: Path) -> tuple[Any, Any]:
    """Return a Parquet file of some kB: each of 40 records has a word of 8 MB."""
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 40), ["x" * 2**23])
    table = pa.table({**frame.drop(columns="note").to_dict("list"), "note": word})
    how = {"compression": "zstd", "dictionary_pagesize_limit": 2**24}
    pq.write_table(table, folder / "people.parquet", **how)
    return folder / "people.parquet", job()


def with_sheet(
    data: pd.DataFrame = frame, spoilt: Callable[[Any], object] | None = None
) -> Case:
    """Return a table as an Excel file, in which something is then wrong."""

    def case(folder: Path) -> tuple[Any, Any]:
        path = folder / "people.xlsx"
        data.to_excel(path, index=False)
        if spoilt is not None:
            book = openpyxl.load_workbook(path)
            spoilt(book.active)
            book.save(path)
        return path, job()

    return case


def spelled(yes: str, no: str) -> bytes:
    return frame.assign(age=np.where(flags, yes, no)).to_csv(index=False).encode()


def holed(name: str, hole: Any, rows: list[int]) -> Case:
    values = frame[name].astype(object if hole is None else float)
    values.iloc[rows] = hole
    if hole is None:
        values = values.astype("Int64")
    return with_column(name, values)


DATES = pd.date_range("2020", periods=40)
SECONDS = pd.to_timedelta(np.arange(40), unit="s")
BEYOND = pd.Timestamp(np.datetime64("12000-01-01", "s"))
ISO = "%Y-%m-%d"
HEADER = b"name,age,illness,income,note\n"
roles_twice = {**ROLES, "other": ["note", "age"]}
flags = np.arange(40) % 3 == 0
UNASKED = frame.assign(age=frame["age"].where(frame.index > 1, -9))
CODED = frame.assign(age=[1, 2, 3, 1] * 10)
TEXTS = {1: "low", 2: "middle", 3: "high", 9: "none has it"}
SOME_TEXTS: dict[str, Any] = {
    "data": frame.assign(age=[98, 99, 99, *range(18, 55)]),
    "variable_value_labels": {"age": {98: "refused", 99: "unknown"}},
}
rounding = {"output": {"round_integers": True}}

blockwise = {"privacy": {"k": 3, "scope": "blocks"}}
ranking = {"partition": {"method": "individual_ranking"}}
age_alone = {
    "roles": {**ROLES, "quasi-identifier": ["age"], "other": ["note", "income"]}
}


def grouped(attributes: Any, **sections: Any) -> Case:
    how = {"method": "mdav", "attributes": attributes}
    return lambda _: (frame, job(partition=how, **sections))


nothing_confidential = {**ROLES, "confidential": [], "other": ["note", "illness"]}
days = pd.date_range("2020", periods=4).repeat(10)
holed_illness = frame["illness"].mask(frame.index < 2)


def promised(*, k: int = 3, illness: Any = frame["illness"], **privacy: Any) -> Case:
    return lambda _: (frame.assign(illness=illness), job(privacy={"k": k, **privacy}))


def kept(**privacy: Any) -> Case:
    own = {key: privacy.pop(key) for key in {"order", "tree", "missing"} & {*privacy}}
    about = {"confidential": {"illness": own}} if own else {}
    return promised(**privacy, **about, repair="merge")


def several(values: Any) -> bool:
    return len(set(values)) > 1


PATTERNS, FILLING = {"policy": "patterns"}, {"policy": "fill"}


def patterned(name: str, count: int, missing: dict[str, str] = PATTERNS) -> Case:
    values = frame[name].mask(frame.index < count)
    return with_column(name, values, missing=missing)


LEVELS = ["low", "middle", "high", "low"] * 10
GAPS = [None] * 3 + ["low"] * 37
HOLED = [None, None, *LEVELS[2:]]
EMPTY = ["", "middle", "high", "low"] * 10
OCCURRING = {"method": "plurality", "occurring": True}
PRICED = {"method": "frequencies", "price": 1.0}
EXACT = {"method": "frequencies", "slack": "exact"}
KEPT = {"categories": {"method": "frequencies", "slack": 6}}
TREE = {"below": ["low", "middle"], "above": ["high"]}
ALIKE = [["low", "far", "south"], ["middle", "near", "south"], ["high", "far", "north"]]
WISHES = {"age": 0.1, "income": 0.1}


def typed(values: Any, **how: Any) -> Case:
    return with_column("age", values, attributes={"age": how})


def typed_so(**how: Any) -> Case:
    return lambda _: (frame, job(attributes={"age": how}))


def levels_alone(into: Any, out: pd.DataFrame) -> bool:
    before = pd.read_csv(into, dtype=str) if isinstance(into, Path) else into
    after = out.to_pandas() if isinstance(into, Path) else out
    kept = set(after["age"].dropna()) <= set(before["age"].dropna())
    return kept and (
        isinstance(into, Path) or after["age"].dtype == before["age"].dtype
    )


CASES: dict[str, Case] = {
    "table without records": with_job(people(0)),
    "fewer records than k": with_job(k=50),
    "k to 2k - 1 records": with_job(k=21),
    "k not a whole number": lambda _: (frame, job(3.5)),
    "k below 1": lambda _: (frame, job(0)),
    "l not a whole number": kept(l=2.0),
    "k = 1": lambda _: (frame, job(1)),
    "NaN in a quasi-identifier": holed("income", np.nan, [3, 9]),
    "NaN in a quasi-identifier, policy patterns": patterned("income", 2),
    "NaN in a quasi-identifier, policy fill": patterned("income", 2, FILLING),
    "a quasi-identifier with one present value, policy patterns": patterned(
        "income", 39
    ),
    "compatible records reported without patterns": lambda _: (
        frame,
        job(missing={"report_compatible": True}),
    ),
    "None in a quasi-identifier": holed("age", None, [3]),
    "infinity in a quasi-identifier": holed("income", np.inf, [3]),
    "text in a quasi-identifier": with_column("age", LEVELS),
    "text in a quasi-identifier of a CSV file": with_file(
        "people.csv", frame.assign(age=LEVELS).to_csv(index=False).encode()
    ),
    "words among numbers in a CSV file": with_file(
        "people.csv",
        frame.assign(age=["unknown"] * 3 + [1] * 37).to_csv(index=False).encode(),
    ),
    "numbers with a decimal comma among decimal points": with_file(
        "people.csv", frame.assign(age=["0,5", "1,0"] * 20).to_csv(index=False).encode()
    ),
    "text that is unique in most records": with_column("age", frame["name"]),
    "empty text among names": with_column("age", EMPTY),
    "empty text among names, policy patterns": with_column(
        "age", [None] * 9 + EMPTY[9:], missing=PATTERNS
    ),
    "empty entries in a CSV file": with_file(
        "people.csv", frame.assign(age=EMPTY).to_csv(index=False).encode()
    ),
    "missing text in a quasi-identifier": with_column("age", HOLED),
    "missing text, a value of its own": with_column(
        "age", HOLED, attributes={"age": {"missing": "own value"}}
    ),
    "missing text, policy fill": with_column("age", GAPS, missing=FILLING),
    "missing text, policy patterns": with_column("age", GAPS, missing=PATTERNS),
    "whole numbers that are codes": typed([1, 2, 4, 1] * 10, kind="nominal"),
    "codes beyond 64 bits": typed(
        pd.Series([2**64, 2**64 + 1] * 20, dtype=object), kind="nominal"
    ),
    "entries that span lines, not from a CSV file": with_column("note", "two\nlines"),
    "an order": typed(LEVELS, order=["low", "middle", "high"]),
    "a value that is not in the order": typed(LEVELS, order=["low", "high"]),
    "a tree, leaves published": typed(LEVELS, tree=TREE),
    "a tree, ancestors published": typed(LEVELS, tree=TREE, publish="ancestor"),
    "a tree that calls a value as its root": typed(
        LEVELS, tree={**TREE, "other": ["*"]}
    ),
    "an order and a tree": typed_so(order=["low", "middle", "high"], tree=TREE),
    "nodes published of a tree that calls two alike": typed(
        LEVELS, tree=ALIKE, publish="node"
    ),
    "cells of numbers": typed_so(cuts=[30, 60]),
    "cells of whole numbers, a number between them": typed(
        [24.5, 30.0] * 20, cuts=[30, 60]
    ),
    "merged labels": typed(LEVELS, groups={"below": ["low", "middle"]}),
    "merged labels, one in no record": typed(
        LEVELS, groups={"below": ["low", "least"]}
    ),
    "nodes published without a tree": typed_so(publish="node"),
    "a type for a column that is not a quasi-identifier": lambda _: (
        frame,
        job(attributes={"note": {"kind": "nominal"}}),
    ),
    "a category that P3M is to move": with_column(
        "age", LEVELS, aggregation={"method": "p3m", "delta": {"attributes": WISHES}}
    ),
    "a method of numbers, only categories": with_column(
        "age", LEVELS, **age_alone, aggregation=P3M
    ),
    "a method of categories, only numbers": lambda _: (
        frame,
        job(aggregation={"method": "mean", "categories": {}}),
    ),
    "a method of numbers named for categories": lambda _: (
        frame,
        job(aggregation={"categories": {"method": "mean"}}),
    ),
    "a method of categories named for numbers": lambda _: (
        frame,
        job(aggregation={"method": "frequencies"}),
    ),
    "frequencies of categories kept": with_column("age", LEVELS, aggregation=KEPT),
    "exact counts, a level of fewer than k records": with_column(
        "age", ["rare", *LEVELS[1:]], aggregation={"categories": EXACT}
    ),
    "a slack that no groups of k keep": with_column(
        "age",
        ["rare", "rare", *LEVELS[2:]],
        k=5,
        aggregation={"categories": {"method": "frequencies", "slack": 1}},
    ),
    "tables of categories kept with an unmasked column": with_column(
        "age", LEVELS, aggregation={"categories": {**PRICED, "with": ["illness"]}}
    ),
    "a table kept with a masked column": with_column(
        "age", LEVELS, aggregation={"categories": {**PRICED, "with": ["income"]}}
    ),
    "a table kept with text that hardly two records share": lambda _: (
        frame.assign(age=LEVELS, note=frame["name"]),
        job(aggregation={"categories": {**PRICED, "with": ["note"]}}),
    ),
    "a category crossed with a number": with_column(
        "age",
        LEVELS,
        aggregation={"categories": {**PRICED, "cross": [["age", "income"]]}},
    ),
    "combinations of categories that occur": with_column(
        "age", LEVELS, aggregation={"categories": OCCURRING}
    ),
    "nodes of a tree, combinations that occur": with_column(
        "age",
        LEVELS,
        attributes={"age": {"tree": TREE, "publish": "node"}},
        aggregation={"categories": OCCURRING},
    ),
    "a category with requested distances": with_column(
        "age", LEVELS, aggregation={"categories": {"method": "wish", "budget": 1.5}}
    ),
    "a category with equal requested distances, without a budget": with_column(
        "age", LEVELS, aggregation={"categories": {"method": "wish"}}
    ),
    "a distance that no two levels have": with_column(
        "age", LEVELS, aggregation={"categories": {"method": "wish", "delta": 2.0}}
    ),
    "a category with one level": with_column("age", "same"),
    "a category in individual ranking": with_column(
        "age", LEVELS, privacy={"k": 3, "scope": "blocks"}, **ranking
    ),
    "dates in a quasi-identifier": with_column("age", DATES),
    "times, to the second": with_column("age", DATES + SECONDS),
    "instants of a time zone": with_column("age", DATES.tz_localize("Europe/Paris")),
    "durations": with_column("age", DATES - pd.Timestamp("2019-12-31 23:00")),
    "times of day": with_column("age", [dt.time(i % 24, i) for i in range(40)]),
    'text that spells dates, kind = "date"': typed(DATES.strftime(ISO), kind="date"),
    "text that spells dates, without kind": with_column(
        "age", DATES[:4].strftime(ISO).repeat(10)
    ),
    'text of kind = "date" that spells other things': typed(
        [*DATES[1:].strftime(ISO), "2021-02-29"], kind="date"
    ),
    'text that spells dates, format = "%d.%m.%Y"': typed(
        DATES.strftime("%d.%m.%Y"), format="%d.%m.%Y"
    ),
    'text that does not fit format = "%d.%m.%Y"': typed(
        [*DATES[1:].strftime("%d.%m.%Y"), "29.02.2021"], format="%d.%m.%Y"
    ),
    'numbers of kind = "date"': typed(range(40), kind="date"),
    "dates among times in one column": with_column(
        "age", pd.Series([dt.date(2020, 1, 1), dt.datetime(2020, 1, 2)] * 20, dtype="O")
    ),
    "a date that is missing": with_column("age", DATES.insert(40, pd.NaT)[1:]),
    "dates after the year 9999": with_column(
        "age", DATES.astype("datetime64[s]").insert(40, BEYOND)[1:]
    ),
    "more digits of a second than a float has": with_column(
        "age",
        pd.Timestamp(0) + pd.to_timedelta([0, 1, 2**58, 2**58 + 1] * 10, unit="ns"),
    ),
    "categories in a quasi-identifier": with_column(
        "age", pd.Categorical(["low", "high"] * 20)
    ),
    "missing entries in another role": with_column("note", None),
    "a decimal that is a signalling NaN": with_column(
        "note", pd.Series([Decimal("sNaN"), Decimal(2)] * 20, dtype=object)
    ),
    "text that is not Unicode": with_column(
        "note", pd.Series(["a\ud800b"] * 40, dtype=object)
    ),
    "booleans in a quasi-identifier": with_column("age", flags),
    "booleans as numbers": typed(flags, kind="numeric"),
    "booleans as numbers, with round_integers": with_column(
        "age", flags, attributes={"age": {"kind": "numeric"}}, **rounding
    ),
    "whole numbers": with_job(),
    "whole numbers, with round_integers": with_column(
        "income", frame["income"].astype(int), **rounding
    ),
    "bounds of a quasi-identifier": bounded(aggregation=SHIFTED),
    "bounds, stretched means": bounded(aggregation=CORRELATED | {"keep": "variance"}),
    "whole numbers, with integer = true": bounded(integer=True, aggregation=SHIFTED),
    "originals beyond a bound": with_job(attributes={"age": {"lower": 30}}),
    "a lower bound above the upper": bounded(lower=9, upper=1),
    "bounds of a category": with_column("income", "a", **INCOME),
    "bounds of an order": bounded(order=[0, 1]),
    "bounds with no published value between": bounded(
        lower=-1, upper=700, output={"decimals": -3}
    ),
    "bounds within which no groups keep the variance": with_column(
        "income", [0] * 39 + [1], aggregation=SHIFTED, **INCOME
    ),
    "bounds, a solver that keeps none": bounded(
        aggregation={**SHIFTED, "keep": "covariance", "solver": "stiefel"}
    ),
    "a constant attribute": with_column("age", 44),
    "all quasi-identifiers constant": lambda _: (
        frame.assign(age=1, income=2.0),
        job(),
    ),
    "duplicate records": with_job(pd.concat([frame] * 2, ignore_index=True)),
    "duplicate index labels": with_job(frame.set_index(np.arange(40) // 2)),
    "duplicate column names": with_job(pd.concat([frame, frame[["age"]]], axis=1)),
    "column names that differ in a blank": with_job(
        frame.rename(columns={"note": "age "}), roles={**ROLES, "other": ["age "]}
    ),
    "column names that differ in case": with_job(
        frame.rename(columns={"note": "Age"}), roles={**ROLES, "other": ["Age"]}
    ),
    "duplicate column names in a CSV file": with_file(
        "people.csv", b"name,age,age,illness,income,note\na,1,2,b,3,c\n"
    ),
    "a column in no role": with_column("extra", 1),
    "a column in two roles": with_job(roles=roles_twice),
    "a role for a column that is not there": with_job(frame.drop(columns="note")),
    "values about 1e9, spread 1": with_column(
        "income", 1e9 + np.where(np.arange(40) % 2, 1, -1)
    ),
    "values about 1e-12": with_column("income", frame["income"] * 1e-12),
    "values about 1e12": with_column("income", frame["income"] * 1e12),
    "numbers beyond 1e150, whose squares no float can add up": with_column(
        "income", np.where(np.arange(40) % 2, 1.7e308, -1.7e308)
    ),
    "a file that does not exist": with_file("none.csv", None),
    "a directory": directory,
    "an unknown ending": with_file("people.ods", b""),
    "a CSV file with lines of unequal length": with_file(
        "people.csv", HEADER + b"a,1,b,2,c\na,1,b,2\n"
    ),
    "a file that is not UTF-8": with_file("people.csv", HEADER + b"\xff,1,b,2,c\n"),
    'a file of cp1252, encoding = "cp1252"': with_file(
        "people.csv",
        frame.assign(note="é").to_csv(index=False).encode("cp1252"),
        input={"encoding": "cp1252"},
    ),
    'a file of UTF-8, encoding = "cp1252"': with_file(
        "people.csv",
        frame.assign(note="é").to_csv(index=False).encode(),
        input={"encoding": "cp1252"},
    ),
    "a CSV file with a quote that is never closed": with_file(
        "people.csv", HEADER + b'a,1,b,2,"c\nd,1,b,2,c\n'
    ),
    "a CSV file without a header line": with_file(
        "people.csv", b"a,1,b,2,c\nd,1,b,2,c\n"
    ),
    "a damaged Parquet file": with_file("people.parquet", b"PAR1 no"),
    "a Parquet file with a word of 8 MB in each record": one_long_word,
    "an empty file": with_file("people.csv", b""),
    "a header line alone, without its line end": with_file("people.csv", HEADER[:-1]),
    "a table without columns": with_job(pd.DataFrame(index=range(40))),
    "a named pipe in place of a file": pipe,
    "an SPSS file": with_table(".sav"),
    "an SPSS file with codes that are missing": with_table(
        ".sav", UNASKED, missing_ranges={"age": [-9]}
    ),
    "an SPSS file with codes that are missing, policy fill": with_table(
        ".sav", UNASKED, missing_ranges={"age": [-9]}, sections={"missing": FILLING}
    ),
    "an SPSS file with a text for each code": with_table(
        ".sav", CODED, variable_value_labels={"age": TEXTS}
    ),
    "an SPSS file with a text for some codes": with_table(".sav", **SOME_TEXTS),
    "an SPSS file with a text for some codes, declared as numbers": with_table(
        ".sav", **SOME_TEXTS, sections={"attributes": {"age": {"kind": "numeric"}}}
    ),
    "an SPSS file with a text for some codes, declared as names": with_table(
        ".sav",
        frame.assign(age=[1, 2, 3, 4] * 10),
        variable_value_labels={"age": {1: "low", 2: "high"}},
        sections={"attributes": {"age": {"kind": "nominal"}}},
    ),
    "an SPSS file with one text for two codes, declared as names": with_table(
        ".sav",
        frame.assign(age=[1, 2, 3, 4] * 10),
        variable_value_labels={"age": {1: "low", 2: "low"}},
        sections={"attributes": {"age": {"kind": "nominal"}}},
    ),
    "an SPSS file with times of a day and more": with_table(
        ".sav",
        frame.assign(note=np.arange(1.0, 41) * 86_399),
        variable_format={"note": "TIME8"},
    ),
    "an SPSS file that is encrypted": with_file(
        "people.sav", b"ENCRYPTEDSAV" + bytes(99)
    ),
    "a damaged SPSS file": with_file("people.sav", b"$FL2 no"),
    "a Stata file": with_table(".dta"),
    "a SAS transport file": with_table(".xpt"),
    "a SAS transport file of two data sets": two_data_sets,
    "a SAS transport file that ends early": ends_early,
    "an Excel file": with_sheet(),
    "an Excel file with formulas": with_sheet(frame.assign(note="=1+1")),
    "an Excel file with merged cells": with_sheet(
        spoilt=lambda sheet: sheet.merge_cells("A2:B3")
    ),
    "an Excel file with several sheets": with_sheet(
        spoilt=lambda sheet: sheet.parent.create_sheet("more").append([1, 2])
    ),
    "an Excel file with a column of several types": with_sheet(
        frame.assign(age=["unknown"] * 3 + [1] * 37)
    ),
    "an Excel file with an error in a cell": with_sheet(
        spoilt=lambda sheet: sheet.cell(3, 2, "#DIV/0!")
    ),
    "an Excel file that is encrypted": with_file(
        "people.xlsx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(99)
    ),
    "a damaged Excel file": with_file("people.xlsx", b"PK no"),
    "truth values spelled TRUE and FALSE in a CSV file": with_file(
        "people.csv", spelled("TRUE", "FALSE")
    ),
    "truth values spelled T and F in a CSV file": with_file(
        "people.csv", spelled("T", "F")
    ),
    "a stratum of fewer than k records": stratified(2, 18),
    "a stratum of fewer than k records, small = merge": stratified(
        2, 18, strata={"small": "merge"}
    ),
    "a stratum of fewer than k records, small = drop": stratified(
        2, 18, strata={"small": "drop"}
    ),
    "a stratum with a missing value": stratified(20, spoiled=("note", 1, None)),
    "strata that groups would have to be made across": stratified(
        20, spoiled=("illness", 20, "none"), privacy={"k": 3, "l": 2, "repair": "merge"}
    ),
    "a method of all records within strata": stratified(
        20, partition={"method": "diverse_vmdav"}, privacy={"k": 3, "l": 2}
    ),
    "holes within strata": stratified(
        20, spoiled=("income", 2, np.nan), missing={"policy": "patterns"}
    ),
    "strata with too few values to fill holes by": stratified(
        20, spoiled=("income", 18, np.nan), missing={"policy": "fill"}
    ),
    "strata of one group, the variance of each kept": stratified(
        5, aggregation=STRETCHED
    ),
    "strata of one group, the variance of all kept": stratified(
        5, aggregation=STRETCHED, strata={"keep": "overall"}
    ),
    "settings of strata without strata": with_job(strata={"small": "drop"}),
    "a weight of a stratum": stratified(
        20, strata={"small": "merge"}, attributes={"note": {"weight": 2.0}}
    ),
    "units, groups of records of k of them": united(20),
    "units, their attributes masked": united(20, alike=40, units=OF_UNITS),
    "an attribute of units that varies within one": united(
        20, alike=36, units=OF_UNITS
    ),
    "a record without a unit": united(20, lacking=1),
    "holes of records to be filled, and k counts units": united(
        20, holes=4, missing=FILLING
    ),
    "fewer units than k": united(2),
    "some attributes of units": united(20, units={"attributes": ["age"]}),
    "attributes of units and of records, k of each kind": united(
        20, alike=40, units={"attributes": ["age"]}, privacy={"k": 3, "scope": "blocks"}
    ),
    "pseudonyms of units of different numbers of records": united(
        20, alike=40, units={**OF_UNITS, "published": "pseudonym"}
    ),
    "pseudonyms of units whose records are masked": united(
        20, units={"published": "pseudonym"}
    ),
    "settings of units without units": with_job(units=OF_UNITS),
    "units that nothing names, alike in all quasi-identifiers": united(
        20, alike=40, roles=ROLES
    ),
    "a column of the role wish that nothing reads": with_column(
        "far", 0.1, roles={**ROLES, "wish": ["far"]}, aggregation=P3M
    ),
    "a distance that no release can keep": with_job(aggregation={**P3M, "delta": 1e6}),
    "progress that cannot be called": lambda _: (frame, job(), 3),
    "an object that is not a table": with_job([1, 2]),
    "an unknown key in the job": lambda _: (frame, job(agregation={})),
    "an unknown solver": with_job(aggregation={"method": "p3m", "solver": "unno"}),
    "P3M with one group": with_job(k=21, aggregation=P3M),
    "renormalised means with one group": with_job(
        k=21, aggregation={"method": "mean", "keep": "variance"}
    ),
    "means that keep the covariance": with_job(aggregation=CORRELATED),
    "P3M that keeps the covariance": with_job(
        aggregation={**CORRELATED, "method": "p3m"}
    ),
    "the covariance, fewer groups than it needs": with_job(
        k=14, aggregation=CORRELATED
    ),
    "the covariance of attributes in blocks": with_job(
        **ranking, **blockwise, aggregation=CORRELATED
    ),
    "the covariance of one attribute": lambda _: (
        frame,
        job(**age_alone, aggregation=CORRELATED),
    ),
    "the covariance of attributes that determine each other": with_column(
        "income", 2.0 * frame["age"], aggregation=CORRELATED
    ),
    "the covariance with medians": lambda _: (
        frame,
        job(aggregation={**CORRELATED, "method": "median"}),
    ),
    "an unknown statistic to keep": lambda _: (
        frame,
        job(aggregation={"method": "p3m", "keep": "correlation"}),
    ),
    "keep as a table": lambda _: (
        frame,
        job(aggregation=keeping(covariance=["age"], mean=["income"])),
    ),
    "keep as a table, a name that is not a number": lambda _: (
        frame,
        job(aggregation=keeping(covariance=["age", "incom"])),
    ),
    "keep as a table, a name left out": lambda _: (
        frame,
        job(aggregation=keeping(covariance=["age"])),
    ),
    "keep as a table, a name twice": lambda _: (
        frame,
        job(aggregation=keeping(covariance=["age", "income"], variance=["age"])),
    ),
    "keep as a table, of attributes in two blocks": lambda _: (
        frame,
        job(**ranking, **blockwise, aggregation=keeping(covariance=["age", "income"])),
    ),
    "a regression that is kept": lambda _: (
        frame.assign(illness=bills),
        job(aggregation=keeping(regression="illness ~ age + income")),
    ),
    "a regression on a missing column": lambda _: (
        frame.assign(illness=bills),
        job(aggregation=keeping(regression="illness ~ age + wealth")),
    ),
    "a regression of a missing column": lambda _: (
        frame,
        job(aggregation=keeping(regression="cost ~ age + income")),
    ),
    "a regression of text": lambda _: (
        frame,
        job(aggregation=keeping(regression="illness ~ age + income")),
    ),
    "a regression kept by P3M": lambda _: (
        frame.assign(illness=bills),
        job(aggregation=keeping("p3m", regression="illness ~ age + income")),
    ),
    "means that keep nothing": lambda _: (
        frame,
        job(aggregation={"method": "mean", "keep": "nothing"}),
    ),
    "P3M that keeps the mean alone": lambda _: (
        frame,
        job(aggregation={"method": "p3m", "keep": "mean"}),
    ),
    "one-sided P3M that keeps the covariance": lambda _: (
        frame,
        job(aggregation={"method": "p3m_onesided", "keep": "covariance"}),
    ),
    "satisfaction that keeps the covariance": lambda _: (
        frame,
        job(aggregation={"method": "satisfaction", "keep": "covariance"}),
    ),
    "demands that no values meet which keep the covariance": lambda _: (
        frame,
        job(
            aggregation={
                "method": "p3m_onesided",
                "keep": "covariance",
                "delta": 3.6,
                "importance": 1.0,
                "margin": 0.0,
            }
        ),
    ),
    "the covariance of categories": lambda _: (
        frame,
        job(aggregation={"categories": {"method": "plurality", "keep": "covariance"}}),
    ),
    "a constant attribute, in blocks": with_column("age", 44, **ranking, **blockwise),
    "k to 2k - 1 records, in blocks": with_job(
        **ranking, privacy={"k": 21, "scope": "blocks"}
    ),
    "individual ranking, k on the combination required": with_job(**ranking),
    "individual ranking, k in each block required": with_job(**ranking, **blockwise),
    "individual ranking of one quasi-identifier": with_job(**ranking, **age_alone),
    "a weight beyond floats": typed_so(weight=1e308),
    "a weight of an attribute that is grouped by itself": with_job(
        **age_alone, attributes={"age": {"weight": 2.0}}
    ),
    "blocks, k on the combination required": grouped([["age"], ["income"]]),
    "blocks, k in each block required": grouped([["age"], ["income"]], **blockwise),
    "correlated attributes, all in one block": grouped({"correlation": 0.0}),
    "correlated attributes, in several blocks": grouped({"correlation": 1.0}),
    "univariate for several attributes together": with_job(
        partition={"method": "univariate"}
    ),
    "blocks that leave a quasi-identifier out": grouped([["age"]]),
    "blocks that name a quasi-identifier twice": grouped([["age"], ["age", "income"]]),
    "blocks that name another column": grouped([["age", "income"], ["illness"]]),
    "an unknown way to group attributes": grouped("one by won"),
    "an unknown solver for the partition": with_job(
        partition={**ranking["partition"], "solver": "dinamic"}
    ),
    "code of a file that is not trusted": with_code("mine.py:split", trusted=False),
    "an object that its file does not have": with_code("mine.py:spilt"),
    "an unknown setting of code": with_code("mine.py:split", sizes=1),
    "code that returns wrong shapes": with_code("mine.py:split", size=39),
    "code that fails": with_code("mine.py:split", size=0),
    "a model that lacks names": with_model("mine.py"),
    "a model and a method": with_job(aggregation={"model": "m.py", "method": "mean"}),
    "a model of this package by its name": with_job(aggregation={"model": "p3m"}),
    "an unknown setting of a model": with_model("mine.py:capped", capp=1.0),
    "a solver that its language has not": with_job(
        aggregation={"method": "p3m", "solver": "cvxpy:OSPQ"}
    ),
    "code with the name of a method": with_object("mdav"),
    "a privacy model of yours, kept by merging": kept(own=several),
    "a privacy model of yours that nothing keeps": promised(own=several),
    "a privacy model of yours that returns a number": kept(own=lambda values: 1),
    "an unknown name of a privacy model of yours": kept(own="sevral"),
    "a requirement of l that the partition does not guarantee": promised(l=2),
    "a requirement of t that the partition does not guarantee": promised(t=0.2),
    "l and t, kept by merging": kept(l=2, t=0.2, distance="equal"),
    "l and no confidential attribute": with_job(
        privacy={"k": 3, "l": 2}, roles=nothing_confidential
    ),
    "t of 0": kept(t=0.0),
    "t of 1": kept(t=1.0),
    "l above the distinct confidential values": kept(l=4),
    "l in each block": kept(l=2, scope="blocks"),
    "t of text without an order": kept(t=0.2),
    "t of text with an order": kept(t=0.2, order=["none", "flu", "asthma"]),
    "t of text, equal distance": kept(t=0.2, distance="equal"),
    "t of text, a value not in the tree": kept(
        t=0.2, distance="hierarchical", tree={"well": ["none"], "ill": ["flu"]}
    ),
    "a truth value in an order, values that are truth values": kept(
        illness=flags, t=0.2, order=[False, True]
    ),
    "an order with a name that is not a value": kept(
        t=0.2, order=["flu", float("nan")]
    ),
    "an order with a name for missing values": kept(t=0.2, order=["flu", "NA"]),
    "a name in a tree that is not a plain value": kept(
        t=0.2, distance="hierarchical", tree={"ill": [pd.Timestamp(0)]}
    ),
    "dates, t by the ordered distance": kept(illness=days, t=0.2),
    "dates, t by the equal distance": kept(illness=days, t=0.2, distance="equal"),
    "confidential values of several types, l required": kept(
        illness=[1, "flu"] * 20, l=2
    ),
    "text that may mean a missing value, l required": kept(
        illness=["unknown", "-"] * 20, l=2
    ),
    "missing confidential values, l or t required": kept(illness=holed_illness, l=2),
    "missing confidential values, a value of their own": kept(
        illness=holed_illness, l=2, t=0.2, distance="equal", missing="own value"
    ),
    "a constant confidential attribute, t required": kept(
        illness="flu", t=0.2, distance="equal"
    ),
    "a constant confidential attribute, l required": kept(illness="flu", l=2),
    "an unknown confidential attribute under [privacy]": with_job(
        privacy={"k": 3, "l": 2, "confidential": {"ilness": {}}}
    ),
    "fewer than 2k records, t required": kept(k=21, t=0.2, distance="equal"),
    "a largest risk below that of one group": with_job(privacy={"k": 3, "risk": 0.02}),
    "a largest, an average risk and a linkage that hold": with_job(
        privacy={"k": 3, "risk": 0.34, "average_risk": 0.34, "linkage": 0.34}
    ),
    "a linkage to be limited, values missing": with_job(
        UNTOLD, privacy={"k": 3, "linkage": 0.5}, missing={"policy": "fill"}
    ),
    "a largest risk, and weights": with_job(
        privacy={"k": 3, "risk": 0.34}, risk={"weight": "note"}
    ),
    "sampling weights of zero": with_column(
        "note", [0, 0, *[1] * 38], risk={"weight": "note"}
    ),
    "sampling weights that are missing": with_column(
        "note", [np.nan, *[1] * 39], risk={"weight": "note"}
    ),
    "sampling weights that are masked": with_risk(weight="income"),
    "the role weight": surveyed(EVEN),
    "the role weight, dropped": surveyed(EVEN, weights={"published": "drop"}),
    "the role weight, published unchanged": surveyed(
        np.resize([1.0, 2.0], 40), weights=AS_IS
    ),
    "the role weight, published unchanged, of too few records each": surveyed(
        EVEN, weights=AS_IS
    ),
    "weights below zero": surveyed(np.where(np.arange(40) < 24, -1.0, 1.0)),
    "a weight of zero": surveyed(np.where(np.arange(40) < 1, 0.0, 1.0)),
    "weights that are missing": surveyed(np.where(np.arange(40) < 2, np.nan, 1.0)),
    "weights that are infinite": surveyed(np.where(np.arange(40) < 2, np.inf, 1.0)),
    "weights that are text": surveyed(["much"] * 40),
    "two columns of weights": with_job(
        roles={**ROLES, "other": [], "weight": ["note", "w"]}
    ),
    "one record with most of the weight": surveyed(
        np.where(np.arange(40) < 1, 1e3, 1.0)
    ),
    "settings of weights without weights": with_job(weights=AS_IS),
    "weights, values of quasi-identifiers missing": surveyed(
        EVEN, UNTOLD, missing={"policy": "fill"}
    ),
    "weights, a category among the quasi-identifiers": surveyed(
        EVEN, frame.assign(age=np.where(frame["age"] > 50, "old", "new"))
    ),
    "weights, attributes in blocks": surveyed(
        EVEN,
        partition={"method": "mdav", "attributes": "one by one"},
        privacy={"k": 3, "scope": "blocks"},
    ),
    "weights, attributes in blocks, dropped": surveyed(
        EVEN,
        partition={"method": "mdav", "attributes": "one by one"},
        privacy={"k": 3, "scope": "blocks"},
        weights={"published": "drop"},
    ),
    "a target of attribution that is not published": with_risk(target=["name"]),
    "the groups of an earlier release": in_groups(KEY),
    "the groups of a release of other records": in_groups([*KEY[:1], *KEY[-3:]]),
    "the groups of a file that is not a private key": in_groups(["age", "3"]),
    "the groups of a release that left records out": in_groups([*KEY[:39], ",", ","]),
    "a wave without one record": in_waves(frame.iloc[1:]),
    "a wave with one new record": in_waves(
        pd.concat([frame, frame.tail(1).assign(name="New")])
    ),
    "a wave with one changed value": in_waves(
        frame.assign(income=frame["income"].where(np.arange(40) > 0, 1.0))
    ),
    "a wave without one record, others held back": in_waves(
        frame.iloc[1:], changes="hold back"
    ),
    "a person key that is published, in the groups of an earlier release": in_groups(
        KEY, earlier="people.csv", person="note"
    ),
}


TABLE = read_rows(read_pages(OF_MASK))


def test_the_document_and_the_tests_list_the_same_inputs() -> None:
    assert list(TABLE) == list(CASES)


def masked(name: str, folder: Path) -> None:
    data, asked, *progress = CASES[name](folder)
    aggopt.mask(data, asked, progress=progress[0] if progress else None)


@pytest.mark.parametrize("name", [n for n in CASES if TABLE[n][0] == "refused"])
def test_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(AggoptError) as refusal:
        masked(name, tmp_path)
    of_waves = name.startswith("a wave ")  # which are counted before they are written
    assert isinstance(refusal.value, PrivacyError) == of_waves
    assert TABLE[name][1] in str(refusal.value)
    assert refusal.value.fix


@pytest.mark.filterwarnings("ignore:.*one value only")
@pytest.mark.parametrize("name", [n for n in CASES if TABLE[n][0] != "refused"])
def test_masked(name: str, tmp_path: Path) -> None:
    data, asked = CASES[name](tmp_path)
    release = aggopt.mask(data, asked)
    names = asked.roles.quasi_identifier
    by_block = TABLE[name][0] == "masked, k in each block"
    for block in [(name,) for name in names] if by_block else [names]:
        there = release.table
        as_is = isinstance(data, Path) or asked.missing == Missing()
        spelled = there if as_is else there.astype(str)
        assert smallest(spelled, block) >= asked.privacy.k
    assert TABLE[name][1] in "\n".join([*release.notes, str(release.audit)])
    assert HOLDS.get(TABLE[name][0], lambda *_: True)(data, release.table)


HOLDS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], bool]] = {
    "masked, with fewer records": lambda into, out: len(out) < len(into),
    "masked, as shares": lambda _, out: out["age"].dtype == float,
    "masked, holes filled": lambda _, out: out["income"].notna().all(),
    "masked, holes kept": lambda into, out: (
        out["income"].isna()[into["income"].isna()].all()
    ),
    "masked, as booleans": lambda _, out: out["age"].dtype == bool,
    "masked, spelling kept": levels_alone,
    "masked, as floats": lambda _, out: out["age"].dtype == float,
    "masked, as dates": lambda into, out: (
        out["age"].dtype == into["age"].dtype
        and {*map(type, out["age"])} == {*map(type, into["age"])}
    ),
    "masked, as whole numbers": lambda into, out: out["age"].dtype == into["age"].dtype,
    "masked, unchanged": lambda into, out: out["age"].tolist() == into["age"].tolist(),
    "masked, k in each block": lambda _, out: smallest(out) < 3,
    "masked, l and t": lambda into, out: (
        smallest(out) >= 3
        and t_closeness(
            out[["age", "income"]],
            out["illness"],
            distance="equal",
            missing="own value",
        )
        <= 0.35
    ),
    "masked, within bounds": lambda _, out: out["income"].min() == 0,
    "masked, whole within bounds": lambda into, out: (
        out["income"].dtype == into["income"].dtype and out["income"].min() >= 0
    ),
    "masked, without its column": lambda _, out: "note" not in out,
    "masked, index kept": lambda into, out: out.index.equals(into.index),
}


def test_every_outcome_is_checked() -> None:
    outcomes = {outcome for outcome, _ in TABLE.values()}
    assert outcomes - {"refused", "masked"} == set(HOLDS)
