"""What an office of statistics needs, by the benchmarks of its parts.

Run:  python benchmarks/statistics.py
The tables are read from the folder that AGGOPT_DATA names.

Weights, strata, units, and risk, one after the other, as each prints it by itself; then
how long one-to-one linkage takes of 1500 records, which 2 seconds are allowed for.

What lies beside this file and imports the standard library's `statistics` finds that
one: Python looks into the folder of a script first.
"""

import importlib.util
import os
import runpy
import sys
import time
from pathlib import Path

PARTS = ("weights", "strata", "units", "risk")
RECORDS, ALLOWED = 1500, 2.0  # seconds


def stand_back() -> None:
    """Leave the name of this module to the standard library's."""
    path = Path(os.__file__).with_name("statistics.py")
    spec = importlib.util.spec_from_file_location("statistics", path)
    if spec is None or spec.loader is None:
        raise ImportError("The standard library's statistics is not there.")
    standard = importlib.util.module_from_spec(spec)
    sys.modules["statistics"] = standard
    spec.loader.exec_module(standard)


def linked() -> None:
    """Print how long it takes to assign records one to one."""
    import numpy as np

    from aggopt.measure import linkage

    rng = np.random.default_rng(0)
    X = rng.normal(size=(RECORDS, 4))
    Y = X + 0.3 * rng.normal(size=X.shape)
    started = time.perf_counter()
    found = linkage(X, Y)
    spent = time.perf_counter() - started
    print(
        f"linkage of {RECORDS} records: {100 * found.share:.1f} %, {spent:.2f} s "
        f"({ALLOWED:g} allowed)"
    )


def main() -> None:
    """Run the parts and print what they print."""
    for part in PARTS:
        runpy.run_path(str(Path(__file__).with_name(f"{part}.py")), run_name="__main__")
    linked()


if __name__ == "statistics":
    stand_back()
elif __name__ == "__main__":
    main()
