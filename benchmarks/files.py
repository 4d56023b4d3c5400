"""How long it takes to read and to write each kind of file, beside pandas alone.

Run:  python benchmarks/files.py
pandas makes none of the checks: it reads a CSV file whose quotes are never closed, and
codes that stand for what is missing as it comes.  Times are of the processor, least of
three runs, after one that imports what is needed.
"""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from aggopt.data.readers.read import read_file
from aggopt.job import Input
from aggopt.job.roles import Roles

RECORDS = {".csv": 500_000, ".parquet": 500_000, ".sav": 50_000, ".dta": 50_000}
RECORDS |= {".xlsx": 20_000}
RIVALS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".parquet": pd.read_parquet,
    ".sav": pd.read_spss,
    ".dta": pd.read_stata,
    ".xlsx": pd.read_excel,
}
NUMBERS = ("income", "debt", "height", "weight", "age")
ROLES = Roles(identifier=("person",), quasi_identifier=NUMBERS, other=("region",))


def people(n: int) -> pd.DataFrame:
    """Return n records of seven columns: a number of the record, text, numbers."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(100, 20, n).round(4) for name in NUMBERS[:-1]}
    region = rng.choice(["north", "south", "east"], n)
    age = rng.integers(18, 90, n)
    return pd.DataFrame({"person": range(n), "region": region, **numbers, "age": age})


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table by the ending of the path."""
    import pyreadstat

    writers: dict[str, Callable[[Path], object]] = {
        ".csv": lambda to: frame.to_csv(to, index=False),
        ".parquet": frame.to_parquet,
        ".sav": lambda to: pyreadstat.write_sav(frame, to),
        ".dta": lambda to: pyreadstat.write_dta(frame, to),
        ".xlsx": lambda to: frame.to_excel(to, index=False),
    }
    writers[path.suffix](path)


def seconds(call: Callable[[], object]) -> float:
    """Return the least seconds of three calls, after a first one."""
    call()
    found = []
    for _ in range(3):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    table = Table("file", "records", "seconds", "pandas", "ratio", title="Reading")
    with TemporaryDirectory() as folder:
        for ending, n in RECORDS.items():
            path = Path(folder) / f"people{ending}"
            write(people(n), path)
            ours = seconds(lambda path=path: read_file(path, ROLES, Input()))
            rival = seconds(lambda path=path, by=RIVALS[ending]: by(path))
            row = f"{n}", f"{ours:.2f}", f"{rival:.2f}", f"{ours / rival:.1f}"
            table.add_row(ending, *row)
    Console().print(table)


if __name__ == "__main__":
    main()
