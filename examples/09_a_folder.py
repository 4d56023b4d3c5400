"""Mask a folder of Parquet files into another, block by block, whatever its size.

The same call takes engine = "dask" with workers, a scheduler or a client: the bytes are
the same.

Run:  python examples/09_a_folder.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import aggopt

JOB = aggopt.Job(
    roles={"quasi-identifier": ["age", "income"], "confidential": ["illness"]},
    privacy={"k": 5},
    aggregation={"method": "mean", "keep": "variance"},
    engine={"name": "local", "block": 500},
)

if __name__ == "__main__":  # processes that are begun read this file, too
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        register, masked = Path(folder) / "register", Path(folder) / "masked"
        register.mkdir()
        for region in ("north", "south"):
            part = pd.DataFrame(
                {
                    "age": rng.integers(18, 90, 1000),
                    "income": rng.gamma(2.0, 1e4, 1000).round(2),
                    "illness": rng.choice(["none", "flu", "asthma"], 1000),
                }
            )
            part.to_parquet(register / f"{region}.parquet", index=False)
        release = aggopt.mask(register, JOB, out=masked)
        print(release)
        print(f"Blocks: {release.manifest['blocks']}; see docs/engines.md.")
