"""Yearly waves by k: held-back records, and the loss compared to new groups.

Run:  python benchmarks/waves.py
The Census table is read from the folder that AGGOPT_DATA names; see docs/waves.md.

The first year has 960 of its 1080 records and four attributes.  Each later year, 2 % of
the persons leave, 60 others come, and one in ten of those who stay has other values of
AGI and FEDTAX, 3 % higher.  Each later year is masked in the groups of the year before
and counted against all earlier years.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import aggopt
from aggopt import datasets
from aggopt.errors import PrivacyError

QUASI = ["AGI", "EMCONTRB", "FEDTAX", "INTVAL"]
CHANGING = ["AGI", "FEDTAX"]
YEARS = (1, 2, 3)
NEW, LEAVING, CHANGED, RISE = 60, 0.02, 0.10, 1.03
SIZES = (3, 5, 10)


def years() -> list[pd.DataFrame]:
    """Return the table of each year, with the number of each person."""
    persons = datasets.census()[QUASI].astype(float)
    persons = persons.sample(frac=1.0, random_state=1).reset_index(drop=True)
    persons["person"] = persons.index
    rng = np.random.default_rng(1)
    first = len(persons) - 2 * NEW
    tables = [persons[:first]]
    for year in YEARS[1:]:
        leaving = rng.choice(len(tables[-1]), round(LEAVING * len(tables[-1])), False)
        table = tables[-1].drop(index=tables[-1].index[leaving])
        rows = rng.choice(table.index, round(CHANGED * len(table)), replace=False)
        table.loc[rows, CHANGING] *= RISE
        start = first + (year - 2) * NEW
        tables.append(pd.concat([table, persons[start : start + NEW]]))
    return tables


def masked(folder: Path, year: int, k: int, changes: str | None) -> aggopt.Release:
    """Return the release of a year, in the earlier groups or, by None, in new ones."""
    how: dict[str, Any] = {"method": "mdav"}
    if changes is not None:
        before = [each for each in YEARS if each < year]
        how = {
            "keep_groups": [str(folder / f"masked{y}.private.csv") for y in before],
            "earlier": [str(folder / f"year{y}.csv") for y in before],
            "person": "person",
            "changes": changes,
        }
    roles = {"identifier": ["person"], "quasi-identifier": QUASI}
    stated = {"roles": roles, "privacy": {"k": k}, "partition": how}
    return aggopt.mask(folder / f"year{year}.csv", aggopt.Job.model_validate(stated))


def lost(release: aggopt.Release) -> str:
    """Return the information loss of a release, in percent."""
    return f"{100 * release.measures.il:.1f}" if release.measures else ""


def held(folder: Path, year: int, k: int) -> str:
    """Return how many records "hold back" holds back."""
    try:
        release = masked(folder, year, k, "hold back")
    except PrivacyError:
        return "all"
    return str(release.wave.held if release.wave else 0)


def rows(k: int) -> list[tuple[str, ...]]:
    """Return the rows of one k: each later year, in the merged groups of the first."""
    found = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        for year, table in zip(YEARS, years(), strict=True):
            table.to_csv(folder / f"year{year}.csv", index=False)
            release = masked(folder, year, k, "merge" if year > 1 else None)
            release.write(folder / f"masked{year}.csv")
            if release.wave is None:
                continue
            fresh = masked(folder, year, k, None)
            proof = release.wave.certificate
            gap = "" if proof is None or proof.gap is None else f"{100 * proof.gap:.1f}"
            il = lost(release), lost(fresh)
            back = held(folder, year, k), str(release.wave.held)
            found.append((str(k), str(year), str(len(table)), *back, *il, gap))
    return found


def main() -> None:
    shown = Table(title="Later years of the Census table")
    headings = ("k", "year", "records", "hold back", "merge")
    for name in (*headings, "IL, merged %", "IL, new groups %", "gap %"):
        shown.add_column(name, justify="right")
    for k in SIZES:
        for row in rows(k):
            shown.add_row(*row)
    Console(width=100).print(shown)


if __name__ == "__main__":
    main()
