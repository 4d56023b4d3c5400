"""Renew the lock: each package that `make` installs, with its version and hashes.

Usage: python .ci/lock.py

One resolution serves every platform and Python 3.11 to 3.13.  `all.txt` has what every
machine can install, and a file of its own each solver that not every machine can.
`oldest.txt` has the lowest versions that pyproject.toml allows, for Python 3.11 and
this platform.  No file holds the address of an index.
"""

import re
import subprocess
import sys
from pathlib import Path

LOCK = Path(".ci/lock")
HEAD = "# Written by `make lock`.\n"
EVERYWHERE = ("app", "dask", "data", "excel", "polars", "stats")
APART = {  # an extra with a package that not every machine can install
    "ipopt": "cyipopt",
    "pounce": "pounce-solver",
    "ripopt": "pyomo-ripopt",
    "scip": "pyscipopt",
}
FIRST = {"uv": "uv"}  # installed before the others, and by pip


def compiled(extras: list[str], groups: list[str], *how: str) -> dict[str, str]:
    """Return the lines that lock each package, by its name."""
    wanted = [f"--extra={each}" for each in extras]
    wanted += [f"--group={each}" for each in groups]
    words = ("--no-config", "--quiet", "--generate-hashes", "--no-header")
    words += ("--no-annotate", "--no-emit-index-url", "--no-emit-find-links")
    words += ("--upgrade", "--python-version=3.11")
    uv = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml"]
    ended = subprocess.run(
        [*uv, *words, *how, *wanted], stdout=subprocess.PIPE, text=True, check=True
    )
    if "://" in ended.stdout or re.search(r"^-", ended.stdout, re.MULTILINE):
        sys.exit("The lock would hold an address or an option: nothing is written.")
    found: dict[str, str] = {}
    for block in re.split(r"^(?=\w)", ended.stdout, flags=re.MULTILINE)[1:]:
        name = block.partition("==")[0]
        found[name] = found.get(name, "") + block  # a version for each Python
    return found


def write(file: str, blocks: list[str]) -> None:
    """Write one file of the lock."""
    (LOCK / f"{file}.txt").write_text(HEAD + "".join(blocks), encoding="utf-8")


def main() -> None:
    """Write every file of the lock."""
    LOCK.mkdir(exist_ok=True)
    blocks = compiled([*EVERYWHERE, *APART], ["build", "dev", "docs"], "--universal")
    for file, name in {**APART, **FIRST}.items():
        write(file, [blocks.pop(name)])
    write("all", [*blocks.values()])
    lowest = ("--resolution=lowest-direct", "--only-binary=:all:")
    extras = [*EVERYWHERE, *(APART.keys() - {"ipopt"})]
    write("oldest", [*compiled(extras, ["test"], *lowest).values()])


if __name__ == "__main__":
    main()
