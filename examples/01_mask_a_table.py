"""Mask a data frame: roles, a promise, an audited release.

Run:  python examples/01_mask_a_table.py
"""

from pathlib import Path
from tempfile import mkdtemp

import pandas as pd
from sklearn.datasets import load_diabetes

import aggopt


def patients() -> pd.DataFrame:
    """442 diabetes patients, raw units, with a made-up name each."""
    bundle = load_diabetes(as_frame=True, scaled=False)
    table = bundle.data[["age", "sex", "bmi", "bp"]]
    return table.assign(
        progression=bundle.target, name=[f"Patient {i}" for i in range(len(table))]
    )


def main() -> None:
    job = aggopt.Job(
        roles={
            "identifier": ["name"],  # dropped
            "quasi-identifier": ["age", "sex", "bmi", "bp"],  # masked
            "confidential": ["progression"],  # published as it is
        },
        privacy={"k": 5},
        aggregation={"method": "mean", "keep": "variance"},
    )
    release = aggopt.mask(patients(), job)

    print(release.audit)
    print(release.measures)
    files = release.write(Path(mkdtemp()) / "patients.csv")
    print(f"\nWrote {files.table} to publish, a manifest and a key to keep.")


if __name__ == "__main__":
    main()
