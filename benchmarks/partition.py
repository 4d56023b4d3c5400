"""Partitions: how near to the best, at what cost, with what proof.

python benchmarks/partition.py          search, and optimal with 10 s for each cell
python benchmarks/partition.py search mdav scale optimal --seconds 600     hours
python benchmarks/partition.py optimal --seconds 120 --cells Census,3 EIA,4
"""

from argparse import ArgumentParser

import _partition_mdav
import _partition_optimal
import _partition_scale
import _partition_search

PARTS = ("search", "mdav", "scale", "optimal")


def search() -> None:
    print("\nLocal search: IL in % (seconds), z-scores; above the best known")
    print(
        f"{'table':<10}{'k':>3}{'MDAV':>10}{'descent':>17}{'fast':>17}{'default':>17}"
        f"{'best':>17}{'2 seconds':>11}{'above':>8}{'held to':>8}{'bound':>10}"
    )
    for r in _partition_search.rows():
        tries = (
            (r.descent, r.descent_seconds),
            (r.fast, r.fast_seconds),
            (r.default, r.default_seconds),
            (r.best, r.best_seconds),
        )
        columns = "".join(f"{il:>10.5f} ({s:4.2f})" for il, s in tries)
        print(
            f"{r.table:<10}{r.k:>3}{r.mdav:>10.5f}{columns}{r.timed:>11.5f}"
            f"{r.above:>7.2f}%{r.promised:>7.1f}%{r.bound:>10.5f}",
            flush=True,
        )


def mdav() -> None:
    print(
        "\nMDAV: seconds through a tree, by this package's plain scans, and record by\n"
        "record as a textbook has it; one run"
    )
    print(
        f"{'n':>9}{'k':>4}{'tree':>9}{'plain':>9}{'ratio':>7}{'same':>6}"
        f"{'textbook':>10}{'ratio':>7}"
    )
    for r in _partition_mdav.rows():
        print(
            f"{r.n:>9,}{r.k:>4}{r.seconds:>9.2f}{r.plain:>9.2f}{r.ratio:>7.1f}"
            f"{'yes' if r.same else 'NO':>6}"
            f"{r.textbook:>10.2f}{r.textbook_ratio:>7.1f}",
            flush=True,
        )


def scale() -> None:
    print("\nMany records, 10 normal clusters, d = 10: each in a process of its own")
    print(
        f"{'n':>9}{'k':>4} {'method':<34}{'IL %':>9}{'seconds':>9}{'cores s':>9}"
        f"{'GiB':>6}  held to"
    )
    found = []
    for r in _partition_scale.rows():
        found.append(r)
        how = ", ".join([r.method, *(f"{n}={v}" for n, v in r.settings.items())])
        held = "" if r.limits is None else f"{r.limits}: {'yes' if r.within else 'NO'}"
        print(
            f"{r.n:>9,}{r.k:>4} {how:<34}{r.loss:>9.4f}{r.seconds:>9.2f}"
            f"{r.cores:>9.2f}{r.peak:>6.2f}  {held}",
            flush=True,
        )
    exponent, most = _partition_scale.growth(found), _partition_scale.GROWTH
    print(f"time grows as n^{exponent:.2f} (held to {most})")


def optimal(seconds: float, cells: list[tuple[str, int]] | None) -> None:
    print(f"\noptimal, {seconds:g} s at most: IL in %, on z-scores")
    print(
        f"{'table':<10}{'k':>3}{'MDAV':>10}{'found':>11}{'bound':>11}{'gap':>9}"
        f"{'held to':>10}{'above':>9}{'seconds':>9}  status"
    )
    for r in _partition_optimal.rows(seconds, cells):
        print(
            f"{r.data:<10}{r.k:>3}{r.mdav:>10.5f}{r.upper:>11.6f}{r.lower:>11.6f}"
            f"{r.gap:>8.4f}%{r.held_to:>10.5f}{r.above:>8.3f}%{r.seconds:>9.1f}  "
            f"{r.status}",
            flush=True,
        )


def _cell(text: str) -> tuple[str, int]:
    name, _, k = text.partition(",")
    return name, int(k)


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--cells", nargs="+", type=_cell)
    asked = parser.parse_args()
    if not set(asked.parts) <= set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}")
    for part in asked.parts or ("search", "optimal"):
        if part == "optimal":
            optimal(asked.seconds, asked.cells)
        else:
            {"search": search, "mdav": mdav, "scale": scale}[part]()


if __name__ == "__main__":
    main()
