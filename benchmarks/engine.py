"""A folder masked by engines, beside the same table masked in memory.

Run:  python benchmarks/engine.py            all of it
      python benchmarks/engine.py bytes      60,000 records by every engine: same bytes
      python benchmarks/engine.py 1e6        a million records x 10, k = 5
      python benchmarks/engine.py 1e7        ten million, by two processes: not in "all"
      python benchmarks/engine.py needs      what `aggopt check` estimates, and peaks

Ten attributes, a mixture of twelve normals.  Each run is in processes of its own.
Processor seconds are those of all of them, "elsewhere" those of each record but for
grouping, memory is that of the process that asks and of the largest that it has begun:
these can be compared on a machine that others use.
"""

import json
import os
import resource
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import aggopt

D, K, PARTS, BLOCK = 10, 5, 8, 100_000
IN_PART = 125_000  # records at most
NAMES = [f"x{j}" for j in range(D)]
ENGINES: dict[str, dict[str, Any]] = {
    "local": {"name": "local"},
    "local, 2 processes": {"name": "local", "jobs": 2},
    "dask, 2 workers": {"name": "dask", "workers": 2},
}
IN_MEMORY = "blocked, in memory"
BOTH = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
NEEDS = [  # records, block, numbers, then the levels of each category
    [20_000, 10_000, 3, 50],
    [20_000, 10_000, 3, 500],
    [40_000, 40_000, 3, 500],
    [40_000, 20_000, 3, 50, 200],
    [40_000, 20_000, 0, 1000],
    [60_000, 600, 3, 500],
    [100_000, 50_000, 10],
]
SECRET = "00112233445566778899aabbccddeeff"


def put(folder: Path, n: int) -> None:
    """Write n records in parts."""
    rng = np.random.default_rng(0)
    middle = 4 * rng.normal(size=(12, D))
    parts = max(PARTS, n // IN_PART)
    for part in range(parts):
        rows = n // parts
        X = middle[rng.integers(0, 12, rows)] + rng.normal(size=(rows, D))
        table = pd.DataFrame(X, columns=NAMES)
        table["ill"] = rng.integers(0, 8, rows).astype(np.int8)
        table["other"] = np.arange(rows)
        table.to_parquet(folder / f"{part}.parquet", index=False)


def job(block: int, **engine: Any) -> aggopt.Job:
    """Return what is asked of each engine."""
    roles = {"quasi-identifier": NAMES, "confidential": ["ill"], "other": ["other"]}
    return aggopt.Job(
        roles=roles,
        privacy={"k": K},
        partition={"method": "blocked", "effort": "fast"},
        aggregation={"method": "mean", "keep": "covariance"},
        engine={"block": block, **engine},
    )


def run(folder: Path, way: str, block: int) -> dict[str, Any]:
    """Return loss, gap and digest of one way, in this process and its children."""
    began, used = time.perf_counter(), Used()
    if way == IN_MEMORY:
        found = grouped(folder)
    else:
        out = folder.with_name("out")
        asked = job(block, **ENGINES[way])
        made = aggopt.mask(folder, asked, out=out, secret=SECRET, progress=used)
        proof = made.certificates[", ".join(NAMES)]
        n = made.audit.records
        found = {
            "loss": 100 * made.certificates["groups"].objective / (n * D),
            "gap": proof.gap,
            "digest": digest(out),
        }
        if ENGINES[way] == {"name": "local"}:
            found["elsewhere"] = 1e6 * used.elsewhere() / n
    most = [resource.getrusage(who).ru_maxrss / 1024 for who in BOTH]
    wall = time.perf_counter() - began
    return found | {"cpu": seconds(), "MiB": most[0], "most": most[1], "wall": wall}


def seconds() -> float:
    """Return the processor seconds of this process, and of those that it has begun."""
    used = [resource.getrusage(who) for who in BOTH]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Used:
    """Listens to progress, and notes the processor seconds of each step."""

    def __init__(self) -> None:
        self.now, self.began, self.steps = "before", seconds(), dict[str, float]()

    def __call__(self, step: str, share: float) -> None:
        """Hear of a step."""
        if step != self.now:
            self._end()
            self.now = step

    def _end(self) -> None:
        now = seconds()
        self.steps[self.now] = self.steps.get(self.now, 0.0) + now - self.began
        self.began = now

    def elsewhere(self) -> float:
        """Return the seconds of all steps but those that group."""
        self._end()
        return sum(s for step, s in self.steps.items() if step != "group")


def grouped(folder: Path) -> dict[str, Any]:
    """Return the loss of groups of the whole table."""
    parts = [pd.read_parquet(path, columns=NAMES) for path in sorted(folder.iterdir())]
    X = pd.concat(parts).to_numpy()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found = aggopt.partition.blocked(Z, K, scale="none", effort="fast", jobs=1)
    return {"loss": 100 * found.certificate.objective / Z.size}


def digest(folder: Path) -> str:
    """Return the beginning of the SHA-256 of all parts."""
    whole = sha256()
    for path in sorted(folder.glob("*.parquet")):
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def alone(folder: Path, way: str, block: int) -> dict[str, Any]:
    """Return what `run` does in a process of its own."""
    words = [sys.executable, __file__, "one", str(folder), way, str(block)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def table(n: int, block: int, ways: list[str]) -> Table:
    """Return what each way takes, and leaves."""
    shown = Table(title=f"{n} x {D}, k = {K}, blocks of about {block}")
    headings = ["", "IL % of groups", "gap", "CPU s", "elsewhere us", "wall s"]
    for heading in [*headings, "MiB", "MiB begun", "digest"]:
        shown.add_column(heading, justify="left" if not heading else "right")
    for way in ways:
        with TemporaryDirectory() as folder:
            at = Path(folder) / "in"
            at.mkdir()
            put(at, n)
            found = alone(at, way, block)
        gap = f"{found['gap']:.1e}" if "gap" in found else ""
        beside = f"{found['elsewhere']:.1f}" if "elsewhere" in found else ""
        times = f"{found['cpu']:.1f}", beside, f"{found['wall']:.1f}"
        sizes = f"{found['MiB']:.0f}", f"{found['most']:.0f}"
        row = (way, f"{found['loss']:.4f}", gap, *times, *sizes)
        shown.add_row(*row, found.get("digest", ""))
    return shown


def put_levels(folder: Path, n: int, d: int, levels: list[int]) -> list[str]:
    """Write n records of d numbers and a category of each number of levels."""
    rng = np.random.default_rng(0)
    for part in range(4):
        middle = rng.integers(0, 12, n // 4)
        columns = {f"x{j}": middle + rng.normal(size=n // 4) for j in range(d)}
        for place, count in enumerate(levels):
            share = np.arange(1, count + 1) ** -0.5
            names = rng.choice(count, n // 4, p=share / share.sum())
            columns[f"c{place}"] = np.char.add("L", names.astype(str))
        pd.DataFrame(columns).to_parquet(folder / f"{part}.parquet", index=False)
    return list(columns)


def run_levels(case: list[int]) -> dict[str, Any]:
    """Return the estimate and the peak of a run, in this process alone."""
    from aggopt.engine.resource_check import RunNeeds
    from aggopt.engine.run import set_block_partition
    from aggopt.engine.steps.attribute_values import iterate_folder_levels
    from aggopt.engine.storage.input_parts import InputFolder

    n, block, d, *levels = case
    with TemporaryDirectory() as folder:
        at = Path(folder) / "in"
        at.mkdir()
        asked = aggopt.Job(
            roles={"quasi-identifier": put_levels(at, n, d, levels)},
            privacy={"k": K},
            partition={"method": "blocked", "effort": "fast"},
            engine={"name": "local", "block": block},
        )
        before, parts = seconds(), InputFolder.of(at)
        known = dict(iterate_folder_levels(parts, asked))
        needs = RunNeeds.of(parts, set_block_partition(asked), known)  # type: ignore[arg-type]
        aggopt.mask(at, asked, out=Path(folder) / "out")
    return {
        "estimate": needs.process / 2**20,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "seconds": needs.seconds,
        "cpu": seconds() - before,
    }


def table_of_needs() -> Table:
    """Return what runs were estimated to take, and what they took."""
    shown = Table(title="Estimated and measured, one process")
    headings = ["records", "block", "numbers", "levels", "MiB", "peak", "CPU s", "took"]
    for heading in headings:
        shown.add_column(heading, justify="right")
    for case in NEEDS:
        words = [sys.executable, __file__, "levels", *map(str, case)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        n, block, d, *levels = case
        sizes = f"{found['estimate']:.0f}", f"{found['peak']:.0f}"
        times = f"{found['seconds']:.1f}", f"{found['cpu']:.1f}"
        named = ", ".join(map(str, levels))
        shown.add_row(str(n), str(block), str(d), named, *sizes, *times)
    return shown


def main(asked: list[str]) -> None:
    out = Console(width=130)
    if "bytes" in asked or not asked:
        out.print(table(60_000, 7_500, [*ENGINES]))
    if "1e6" in asked or not asked:
        ways = [IN_MEMORY, "local", "local, 2 processes"]
        out.print(table(1_000_000, BLOCK, ways))
    if "needs" in asked or not asked:
        out.print(table_of_needs())
    if "1e7" in asked:
        out.print(table(10_000_000, BLOCK, ["local, 2 processes"]))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if sys.argv[1:2] == ["levels"]:
        print(json.dumps(run_levels([int(word) for word in sys.argv[2:]])))
    elif sys.argv[1:2] == ["one"]:
        print(json.dumps(run(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
    else:
        main(sys.argv[1:])
