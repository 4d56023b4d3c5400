"""k households against k records, on testdata of sdcMicro.

Run:  python benchmarks/units.py
The table is read from the folder that AGGOPT_DATA names.

Expend, income and savings are those of the household, one value for all of its members,
as most surveys have them, or of each person; k = 5, group means.  Those of households
are masked once for each, those of persons in groups of k different households.
"""

import os
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

import aggopt
from aggopt.errors import JobError

QUASI, K, UNIT = ["expend", "income", "savings"], 5, "ori_hid"


def behind(released: pd.DataFrame, units: pd.Series, names: list[str]) -> pd.Series:
    """Return how many households share the combination of each record, (n,)."""
    by = [released[name] for name in names]
    return units.groupby(by).transform("nunique")


def row(
    frame: pd.DataFrame, quasi: list[str], role: str, units: pd.Series
) -> tuple[str, ...]:
    """Return what comes of a job in which the household has this role."""
    others = [name for name in frame.columns if name not in {*quasi, UNIT}]
    roles = {"quasi-identifier": quasi, "identifier": others, "unit": [UNIT]}
    if role == "identifier":
        roles |= {"identifier": [*others, UNIT], "unit": []}
    alike = (frame.groupby(UNIT)[quasi].nunique() == 1).all(axis=None)
    masked = {"units": {"attributes": quasi}} if alike and roles["unit"] else {}
    how = {"method": "local_search"}
    job = aggopt.Job(roles=roles, privacy={"k": K}, partition=how, **masked)
    try:
        release = aggopt.mask(frame, job)
    except JobError as error:
        return f"refused: {error.problem.split(':')[0]}", "", "", ""
    counts = behind(release.table, units, quasi)
    alone = f"{(counts == 1).sum()} of {len(frame)}"
    il = f"{100 * release.measures.il:.3f}"
    return str(release.audit.smallest), str(counts.min()), alone, il


def main() -> None:
    path = Path(os.environ["AGGOPT_DATA"]) / "testdata.csv"
    persons = pd.read_csv(path)[[UNIT, "age", *QUASI]]
    units = persons[UNIT]
    shared = persons.assign(**persons.groupby(units)[QUASI].transform("first"))
    nameless = shared.assign(**{UNIT: range(len(units))})
    shown = Table(title=f"testdata, {len(units)} persons, k = {K}")
    for heading in ("figures", "the household is", "audit: smallest"):
        shown.add_column(heading)
    for heading in ("households behind", "records of one alone", "IL %"):
        shown.add_column(heading, justify="right")
    of, role = "of households", "identifier"
    shown.add_row(of, "an identifier", *row(shared, QUASI, role, units))
    shown.add_row(of, "not in the table", *row(nameless, QUASI, role, units))
    shown.add_row(of, "a unit", *row(shared, QUASI, "unit", units))
    shown.add_row("of persons", "an identifier", *row(persons, QUASI, role, units))
    shown.add_row("of persons", "a unit", *row(persons, QUASI, "unit", units))
    Console(width=120).print(shown)


if __name__ == "__main__":
    main()
