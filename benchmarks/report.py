"""How long a report takes beyond masking, and how large its page is.

    python benchmarks/report.py

The rival is the masking itself.  Times are of the processor.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import aggopt
from aggopt.command.demo import JOB, load_patients

ROW = "{:>16} {:>10} {:>10} {:>8} {:>8} {:>12}"


def persons(n: int = 100_000, d: int = 20) -> pd.DataFrame:
    """Return records in clusters, and a number that goes with them."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(50, d))
    X = centres[rng.integers(0, 50, n)] + 0.4 * rng.normal(size=(n, d))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
    return frame.assign(y=X[:, 0] - X[:, 1] + rng.normal(size=n))


def large() -> aggopt.Job:
    names = [f"x{j}" for j in range(20)]
    roles: Any = {"quasi-identifier": names, "confidential": ["y"]}
    how: Any = {"method": "projection"}
    return aggopt.Job(roles=roles, privacy={"k": 5}, partition=how)


def seconds(what: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = what()
    return time.process_time() - began, found


def main() -> None:
    tables = [
        ("442 x 4", load_patients(), JOB, 3.0, 100),
        ("100,000 x 20", persons(), large(), 10.0, 400),
    ]
    head = ("table", "masking s", "report s", "ratio", "kB", "aims s, kB")
    print(ROW.format(*head))
    with tempfile.TemporaryDirectory() as folder:
        for name, table, job, limit, most in tables:
            aggopt.mask(table.iloc[:400], job).report(  # what is compiled once
                Path(folder) / "first.html", overwrite=True
            )
            masking, release = seconds(lambda t=table, j=job: aggopt.mask(t, j))
            page = Path(folder) / f"{len(table)}.html"
            report, _ = seconds(lambda r=release, p=page: r.report(p))
            size = page.stat().st_size / 1000
            ratio = f"{report / masking:.2f}"
            aim = f"{limit:g}, {most}"
            print(
                ROW.format(
                    *(name, f"{masking:.2f}", f"{report:.2f}", ratio),
                    *(f"{size:.0f}", aim),
                )
            )


if __name__ == "__main__":
    main()
