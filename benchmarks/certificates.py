"""Certificates of small random tables beside what is known of them: lies, counted.

    python benchmarks/certificates.py [SEED] [COUNT]          120 tables if left out

Each table has 6 to 12 records, groups of 2 to 4 and 1 to 3 attributes, in turn normal,
with ties, with copies, with a constant column and on wide scales.  Groups are held
against every partition; published values against points sought at random.  A lie is an
objective that is another, a bound above what is reached (by more than 1e-9 of it), an
"optimal" that is not within 1e-6, or a violation that is larger.  Declared programs are
asked on every 12th table (cvxpy) or 60th (Pyomo, and repair by integer program), also
with a tolerance that is loose.  Beside each table `solve` is asked of one small program
that is no model's, some with tiny or huge numbers, worked out in fractions.  Ends with
1 where there is a lie.
"""

import sys
import time
import warnings
from collections import Counter

from _certificates_groups import groups, one_attribute, repairs
from _certificates_instances import instance
from _certificates_programs import programs
from _certificates_values import values
from rich.console import Console
from rich.table import Table

PARTS = (groups, one_attribute, repairs, values, programs)


def main(seed: int, count: int) -> int:
    """Print how many lies there are, method by method; return how many in all."""
    seen: Counter[str] = Counter()
    lies: Counter[str] = Counter()
    started, console = time.perf_counter(), Console(width=100)
    for number in range(seed, seed + count):
        table = instance(number)
        for part in PARTS:
            for found in part(table):
                seen[found.method] += 1
                lies[found.method] += bool(found.lies)
                for lie in found.lies:
                    console.print(f"seed {number}, {found.method}: {lie}")
    shown = Table(title=f"Seeds {seed} to {seed + count - 1}")
    for heading in ("method", "certificates", "lies"):
        shown.add_column(heading, justify="left" if heading == "method" else "right")
    for method in sorted(seen):
        shown.add_row(method, str(seen[method]), str(lies[method]))
    shown.add_row("all", str(seen.total()), str(lies.total()))
    console.print(shown)
    console.print(f"{time.perf_counter() - started:.0f} seconds")
    return lies.total()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*[*asked, *(0, 120)[len(asked) :]]) > 0)
