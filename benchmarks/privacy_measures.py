"""k, l and t beside what pycanon finds: agreement, and time.

    python benchmarks/privacy_measures.py [PYTHON_WITH_PYCANON]

pycanon is kept out of the environment of aggopt.  If no Python is named, pip installs
pycanon into a new environment, which is removed at the end.  Compared are k, distinct
l, entropy l and t, on Census (MDAV; confidential FICA and FEDTAX) and on random tables
with numbers and with names.  Recursive diversity is left out: pycanon takes
the least frequent value for r_1.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
import pandas as pd

from aggopt import aggregate, datasets, partition, privacy

THEIRS = """
import json, sys, time, warnings
import pandas as pd
from pycanon import anonymity
warnings.simplefilter("ignore")
found = {}
for name, (file, quasi, held) in json.loads(sys.stdin.read()).items():
    table = pd.read_csv(file)
    start = time.perf_counter()
    found[name] = {
        "k": int(anonymity.k_anonymity(table, quasi)),
        "l": int(anonymity.l_diversity(table, quasi, held)),
        "entropy": int(anonymity.entropy_l_diversity(table, quasi, held)),
        "t": float(anonymity.t_closeness(table, quasi, held)),
        "seconds": time.perf_counter() - start,
    }
print(json.dumps(found))
"""


def tables() -> dict[str, tuple[pd.DataFrame, list[str], list[str], str]]:
    made = {}
    census = datasets.census()
    X = census[["TAXINC", "POTHVAL"]].to_numpy(float)
    for k in (5, 10):
        Y = aggregate.mean(X, partition.mdav(X, k)).values
        frame = census[["FICA", "FEDTAX"]].assign(TAXINC=Y[:, 0], POTHVAL=Y[:, 1])
        held = ["FICA", "FEDTAX"]
        made[f"Census, k = {k}"] = (frame, ["TAXINC", "POTHVAL"], held, "ordered")
    for seed in range(60):
        made[f"random {seed}"] = random_table(seed)
    return made


def random_table(seed: int) -> tuple[pd.DataFrame, list[str], list[str], str]:
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(6, 200), rng.integers(1, 4), rng.integers(2, 6)
    X = rng.normal(size=(n, d))
    quasi, held = [f"q{j}" for j in range(d)], ["s", "u"][: 1 + seed % 2]
    frame = pd.DataFrame(aggregate.mean(X, partition.mdav(X, k)).values, columns=quasi)
    named = seed % 3 == 0
    for name in held:
        codes = np.append(rng.integers(0, rng.integers(2, 12), n - 1), 12)
        frame[name] = [f"v{code}" for code in codes] if named else codes
    return frame, quasi, held, "equal" if named else "ordered"


def ours(frame: pd.DataFrame, quasi: list[str], held: list[str], way: str) -> dict:
    start = time.perf_counter()
    groups, values = frame[quasi], frame[held]
    found = {
        "k": privacy.k_anonymity(groups),
        "l": privacy.distinct_l(groups, values),
        "entropy": privacy.entropy_l(groups, values),
        "t": privacy.t_closeness(groups, values, distance=way),
    }
    return found | {"seconds": time.perf_counter() - start}


def install_pycanon(folder: Path) -> str:
    """Return the Python of a new environment that has pycanon."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "pycanon"], check=True)
    return python


def main(python: str | None) -> None:
    made = tables()
    privacy.t_closeness([0, 0, 1], [1, 2, 3])  # compiles
    with tempfile.TemporaryDirectory() as folder:
        asked = {}
        for number, (name, (frame, quasi, held, _)) in enumerate(made.items()):
            file = Path(folder) / f"{number}.csv"
            frame.to_csv(file, index=False)
            asked[name] = (str(file), quasi, held)
        ran = [python or install_pycanon(Path(folder) / "env"), "-c", THEIRS]
        printed = subprocess.run(
            ran, input=json.dumps(asked), capture_output=True, text=True, check=True
        )
    theirs = json.loads(printed.stdout)
    found = {name: ours(*of) for name, of in made.items()}
    report(found, theirs)


def report(found: dict, theirs: dict) -> None:
    for name in ("k", "l"):
        same = sum(found[table][name] == theirs[table][name] for table in found)
        print(f"{name:<8} equal in {same} of {len(found)} tables")
    pairs = [(found[table]["entropy"], theirs[table]["entropy"]) for table in found]
    same = sum(math.floor(one) == other for one, other in pairs)
    cut = sum(one == other + 1 for one, other in pairs)
    print(
        f"entropy  equal, rounded down, in {same} of {len(found)} tables; in {cut} it"
    )
    print("         is exactly the whole number that pycanon just misses")
    apart = max(abs(found[table]["t"] - theirs[table]["t"]) for table in found)
    print(f"t        largest difference {apart:.1e}")
    for table in list(found)[:2]:
        us, them = found[table]["seconds"], theirs[table]["seconds"]
        print(f"{table:<16} aggopt {us:.4f} s, pycanon {them:.2f} s: {them / us:.0f}x")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    main(*[*sys.argv[1:], None][:1])
