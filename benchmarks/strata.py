"""Groups within strata against groups that ignore them, on testdata of sdcMicro.

Run:  python benchmarks/strata.py
The table is read from the folder that AGGOPT_DATA names.

Of expend, income and savings, k = 5, group means: the loss within strata, with that of
the notes it is to reach; how many records fall below k once the strata are published
beside groups that ignore them; and by how much the mean of a stratum is off, in
standard deviations.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import aggopt
from aggopt.release.release import Release

QUASI, K = ["expend", "income", "savings"], 5
LOSSES = {  # % of the variance: what is to be reached, None where nothing is named
    (): 0.63,
    ("urbrur",): 0.95,
    ("sex",): 1.02,
    ("urbrur", "sex"): 1.54,
    ("urbrur", "sex", "relat"): None,
}


def released(frame: pd.DataFrame, keys: tuple[str, ...]) -> Release:
    """Return the release with groups within the strata of these columns."""
    others = [name for name in frame.columns if name not in {*QUASI, *keys}]
    roles = {"quasi-identifier": QUASI, "stratum": list(keys), "identifier": others}
    how = {"method": "local_search"}
    small = {"strata": {"small": "merge"}} if keys else {}
    job = aggopt.Job(roles=roles, privacy={"k": K}, partition=how, **small)
    return aggopt.mask(frame, job)


def off(frame: pd.DataFrame, release: Release, keys: tuple[str, ...]) -> float:
    """Return by how much the mean of a stratum is off, at most, in deviations."""
    own = [release.table[key] if release.strata else frame[key] for key in keys]
    before, after = (t[QUASI].groupby(own).mean() for t in (frame, release.table))
    return float(((after - before).abs() / frame[QUASI].std(ddof=0)).max().max())


def main() -> None:
    frame = pd.read_csv(Path(os.environ["AGGOPT_DATA"]) / "testdata.csv")
    ignoring = released(frame, ())
    shown = Table(title=f"testdata, {len(frame)} x {len(QUASI)}, k = {K}, group means")
    for heading in ("strata", "number", "small", "IL %", "to reach"):
        shown.add_column(heading)
    for heading in ("gap", "below k if ignored", "means off: ignored", "within"):
        shown.add_column(heading, justify="right")
    for keys, reach in LOSSES.items():
        release = released(frame, keys) if keys else ignoring
        il = f"{100 * release.measures.il:.3f}"
        proof = release.blocks[0].certificate
        gap = f"{(proof.objective - proof.bound) / proof.objective:.0%}"
        row = [", ".join(keys) or "none", "", "", il, str(reach or ""), gap]
        if keys:
            row[1:3] = (str(release.strata.to_dict()[n]) for n in ("strata", "small"))
            columns = [ignoring.labels, *(frame[key] for key in keys)]
            sizes = pd.DataFrame(np.stack(columns, axis=1)).value_counts()
            few = f"{sizes[sizes < K].sum() / len(frame):.0%}"
            row += [few, *(f"{off(frame, r, keys):.1e}" for r in (ignoring, release))]
        shown.add_row(*row)
    Console(width=120).print(shown)


if __name__ == "__main__":
    main()
