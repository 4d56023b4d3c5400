"""Small tables that the tests of the pipeline share."""

from typing import Any

import numpy as np
import pandas as pd

from aggopt import Job

ROLES = {
    "identifier": ["name"],
    "quasi-identifier": ["age", "income"],
    "confidential": ["illness"],
    "other": ["note"],
}


def people(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Persons with an identifier, two quasi-identifiers and text beside them."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "illness": rng.choice(["flu", "none", "asthma"], n),
            "income": rng.gamma(2.0, 1e4, n),
            "note": rng.choice(["007", "1.10", "a, b", 'q"q'], n),
        }
    )


def job(k: int = 3, **sections: Any) -> Job:
    """Return a job for `people`."""
    return Job(**{"roles": ROLES, "privacy": {"k": k}, **sections})


def smallest(table: Any, names: tuple[str, ...] = ("age", "income")) -> int:
    """Records that share the rarest combination, counted by a plain dictionary."""
    counts: dict[tuple[Any, ...], int] = {}
    for row in zip(*(list(table[name]) for name in names), strict=True):
        counts[row] = counts.get(row, 0) + 1
    return min(counts.values())
