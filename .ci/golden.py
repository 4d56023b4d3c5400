"""Record what releases contain, to the byte, and compare it after a change.

Usage: python .ci/golden.py record FILE
       python .ci/golden.py check FILE

record: run every job below and write the SHA-256 of its files, its certificates, its
audit and its measures to FILE
check: run them again, and name each job of which something differs

All is called through the public names of aggopt, so that a change may move and rename
the rest.  A digest is of one machine and of one set of dependencies: record it with the
old code before a change, and keep FILE out of the repository.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import aggopt

SECRET = "0123456789abcdef" * 2
QUASI = ["age", "height", "income"]
UNTIMED = ("seconds", "version", "versions", "created", "python", "platform", "sha256")


def persons(n: int = 150, seed: int = 0) -> pd.DataFrame:
    """Return persons in clusters, with attributes of every kind."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 3, n)
    born = np.datetime64("1950-01-01") + rng.integers(0, 18000, n)
    return pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "height": np.round(160 + 10 * cluster + rng.normal(size=n), 2),
            "income": np.round(np.exp(8 + cluster + rng.normal(size=n)), 2),
            "illness": rng.choice(["flu", "none", "asthma", "gout"], n),
            "cost": np.round(rng.gamma(2.0, 1e3, n), 1),
            "job": rng.choice(["smith", "baker", "nurse", "clerk"], n),
            "school": rng.choice(["low", "middle", "high"], n),
            "born": born.astype("datetime64[s]"),
            "region": rng.choice(["north", "south", "west"], n),
            "house": np.arange(n) // 3,
            "weight": np.round(1 + rng.gamma(2.0, 10.0, n), 2),
            "note": rng.choice(["a", "b"], n),
        }
    )


def with_holes(n: int = 150) -> pd.DataFrame:
    """Return persons with missing numbers."""
    table = persons(n, 1)
    rng = np.random.default_rng(2)
    for name in ("height", "income"):
        table.loc[rng.random(n) < 0.15, name] = np.nan
    return table


def job(*columns: str, **sections: Any) -> Mapping[str, Any]:
    """Return the sections of a job that masks these columns of `persons`."""
    roles: dict[str, Any] = {
        "identifier": ["name"],
        "quasi-identifier": list(columns or QUASI),
        "confidential": ["illness"],
        **sections.pop("roles", {}),
    }
    taken = {
        name for each in roles.values() for name in ([each], each)[type(each) is list]
    }
    roles["other"] = [c for c in persons(3).columns if c not in taken]
    return {
        "roles": roles,
        "privacy": {"k": 4, **sections.pop("privacy", {})},
        "partition": {"method": "mdav", **sections.pop("partition", {})},
        "output": {"seed": 1},  # of the order in which a table is written
        **sections,
    }


TREE = {"hand": ["smith", "baker"], "office": ["nurse", "clerk"]}
TYPED = {
    "job": {"kind": "hierarchical", "tree": TREE},
    "school": {"kind": "ordinal", "order": ["low", "middle", "high"]},
}
WEIGHTS = {"roles": {"weight": "weight"}}
UNITS = {"roles": {"unit": ["house"]}}
STRATA = {"roles": {"stratum": ["region"]}}
COSTLY = {"roles": {"confidential": ["cost"]}}
FOLDERS = {
    "engine": {"name": "local", "block": 60},
    "partition": {"method": "blocked"},
    "output": {},  # the secret decides the order
}
P3M = {"aggregation": {"method": "p3m", "delta": 0.1}}
COVARIANCE = {"aggregation": {"method": "mean", "keep": "covariance"}}

Table = Callable[[], pd.DataFrame]
MEMORY: dict[str, tuple[Table, Mapping[str, Any]]] = {
    **{
        f"partition {name}": (persons, job(partition={"method": name}))
        for name in (
            "mdav",
            "vmdav",
            "cbfs",
            "mhm",
            "local_search",
            "blocked",
        )
    },
    "partition univariate": (
        persons,
        job("income", partition={"method": "univariate"}),
    ),
    "partition optimal": (
        lambda: persons(40),
        job("age", "height", partition={"method": "optimal"}),
    ),
    "partition individual_ranking": (
        persons,
        job(partition={"method": "individual_ranking"}, privacy={"scope": "blocks"}),
    ),
    "partition one by one": (
        persons,
        job(partition={"attributes": "one by one"}, privacy={"scope": "blocks"}),
    ),
    "diverse": (persons, job(privacy={"l": 2, "repair": "merge"})),
    "close, merged": (
        persons,
        job(privacy={"t": 0.4, "distance": "equal", "repair": "merge"}),
    ),
    "close, searched": (
        persons,
        job(privacy={"t": 0.4, "distance": "equal", "repair": "search"}),
    ),
    "close, swapped": (
        persons,
        job(**COSTLY, privacy={"t": 0.3, "repair": "swap"}),
    ),
    "closeness first": (
        persons,
        job(
            **COSTLY,
            privacy={"t": 0.3},
            partition={"method": "closeness_first"},
        ),
    ),
    "searched with t": (
        persons,
        job(
            privacy={"t": 0.4, "distance": "equal"},
            partition={"method": "local_search"},
        ),
    ),
    "mean": (persons, job(aggregation={"method": "mean"})),
    "median": (persons, job(aggregation={"method": "median"})),
    "mean, variance": (
        persons,
        job(aggregation={"method": "mean", "keep": "variance"}),
    ),
    "mean, covariance": (persons, job(**COVARIANCE)),
    "p3m": (persons, job(**P3M)),
    "p3m, covariance": (
        persons,
        job(aggregation={"method": "p3m", "delta": 0.1, "keep": "covariance"}),
    ),
    "p3m onesided": (
        persons,
        job(aggregation={"method": "p3m_onesided", "delta": 0.1}),
    ),
    "bounds": (
        persons,
        job(
            attributes={"income": {"lower": 0.0}, "age": {"integer": True}},
            aggregation={"method": "mean", "keep": "variance"},
        ),
    ),
    "categories": (persons, job(*QUASI, "job", "school", attributes=TYPED)),
    "frequencies": (
        persons,
        job(
            *QUASI,
            "job",
            attributes={"job": TYPED["job"]},
            aggregation={"method": "mean", "categories": {"method": "frequencies"}},
        ),
    ),
    "dates": (persons, job(*QUASI, "born", attributes={"born": {"kind": "date"}})),
    "missing, patterns": (with_holes, job(missing={"policy": "patterns"})),
    "missing, filled": (with_holes, job(missing={"policy": "fill"})),
    "missing, p3m": (with_holes, job(missing={"policy": "patterns"}, **P3M)),
    "strata": (persons, job(**STRATA)),
    "strata, p3m": (persons, job(**STRATA, **P3M)),
    "units": (persons, job(**UNITS)),
    "weights": (persons, job(**WEIGHTS)),
    "weights, covariance": (persons, job(**WEIGHTS, **COVARIANCE)),
    "weights, units": (
        persons,
        job(
            roles={**UNITS["roles"], **WEIGHTS["roles"]}, aggregation={"method": "mean"}
        ),
    ),
}
FOLDER: dict[str, tuple[Table, Mapping[str, Any]]] = {
    "plain": (persons, job(**FOLDERS)),
    "diverse": (persons, job(**FOLDERS, privacy={"l": 2, "repair": "merge"})),
    "p3m": (persons, job(**FOLDERS, **P3M)),
    "covariance": (persons, job(**FOLDERS, **COVARIANCE)),
    "strata": (persons, job(**FOLDERS, **STRATA)),
    "weights": (persons, job(**FOLDERS, **WEIGHTS)),
    "missing": (with_holes, job(**FOLDERS, missing={"policy": "patterns"})),
    "categories": (persons, job(*QUASI, "job", "school", attributes=TYPED, **FOLDERS)),
    "dates": (
        persons,
        job(*QUASI, "born", attributes={"born": {"kind": "date"}}, **FOLDERS),
    ),
}


def without_times(value: Any) -> Any:
    """Return facts of a manifest without those that differ from run to run."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in UNTIMED}
        return {key: without_times(each) for key, each in kept.items()}
    if isinstance(value, list):
        return [without_times(each) for each in value]
    return value


def digest(value: Any) -> str:
    """Return the SHA-256 of bytes, or of facts as JSON."""
    if not isinstance(value, bytes):
        value = json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.sha256(value).hexdigest()


def facts_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each part of a manifest that a change must keep."""
    parts = ("audit", "certificates", "measures")
    return {part: digest(without_times(manifest.get(part))) for part in parts}


def from_memory(table: pd.DataFrame, sections: Mapping[str, Any], folder: Path) -> Any:
    """Return the digests of a release of a table."""
    release = aggopt.mask(table, aggopt.Job(**sections), secret=SECRET)
    release.write(folder / "out.csv")
    manifest = json.loads((folder / "out.manifest.json").read_text("utf-8"))
    key = (folder / "out.private.csv").read_bytes()
    table_bytes = (folder / "out.csv").read_bytes()
    return {"table": digest(table_bytes), "key": digest(key), **facts_of(manifest)}


def from_folder(
    table: pd.DataFrame, sections: Mapping[str, Any], folder: Path, jobs: int
) -> Any:
    """Return the digests of a release of a folder of three files."""
    (folder / "in").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(folder / f"in/{number}.parquet", index=False)
    release = aggopt.mask(
        folder / "in",
        aggopt.Job(**sections),
        out=folder / "out",
        secret=SECRET,
        jobs=jobs,
    )
    files = [*sorted(release.path.glob("*.parquet"))]
    keys = [*sorted(release.private.glob("*.parquet"))]
    manifest = json.loads((release.private / "manifest.json").read_text("utf-8"))
    return {
        "table": digest(b"".join(file.read_bytes() for file in files)),
        "key": digest(b"".join(file.read_bytes() for file in keys)),
        **facts_of(manifest),
    }


def release_all() -> dict[str, Any]:
    """Return the digests of every job, or the error in its place."""
    runs: dict[str, Callable[[Path], Any]] = {}
    for name, (table, sections) in MEMORY.items():
        runs[f"memory: {name}"] = lambda f, t=table, s=sections: from_memory(t(), s, f)
    for jobs in (1, 2):
        for name, (table, sections) in FOLDER.items():
            runs[f"folder, {jobs} processes: {name}"] = (
                lambda f, t=table, s=sections, j=jobs: from_folder(t(), s, f, j)
            )
    results = {}
    for name, run in runs.items():
        with TemporaryDirectory() as folder:
            os.umask(0o077)
            try:
                results[name] = run(Path(folder))
            except aggopt.AggoptError as error:
                results[name] = {"refused": type(error).__name__}
        print(name, results[name].get("refused", ""), flush=True)
    return results


def main() -> None:
    """Record the digests, or compare them."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "check"):
        sys.exit(__doc__)
    file = Path(sys.argv[2])
    results = release_all()
    if sys.argv[1] == "record":
        refused = [name for name, parts in results.items() if "refused" in parts]
        if refused:
            sys.exit(f"Nothing is recorded: refused are {', '.join(refused)}.")
        file.write_text(json.dumps(results, indent=1), "utf-8")
        print(f"{len(results)} releases recorded in {file}.")
        return
    recorded = json.loads(file.read_text("utf-8"))
    changed = {
        name: [
            part
            for part, digest in parts.items()
            if results.get(name, {}).get(part) != digest
        ]
        for name, parts in recorded.items()
    }
    different = {name: parts for name, parts in changed.items() if parts}
    for name, parts in different.items():
        print(f"{name}: {', '.join(parts)} differ")
    print(f"{len(recorded) - len(different)} of {len(recorded)} releases are the same.")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
