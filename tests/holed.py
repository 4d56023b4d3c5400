"""Persons of whom some values are missing, for the tests of what then happens."""

from collections import Counter

import numpy as np
import pandas as pd

import aggopt

QUASI = ["age", "income", "sex", "town"]
KEEP = {"policy": "patterns"}
FILL = {"missing": {"policy": "fill"}}


def persons(n=120, share=0.1, seed=0):
    """Persons with holes in numbers and in names."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "income": rng.gamma(2.0, 1e4, n).round(2),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["x", "y", "z"], n),
            "illness": rng.choice(["flu", "none", "asthma"], n),
        }
    )
    for name in QUASI:
        frame.loc[rng.random(n) < share, name] = None
    return frame


def asked(k=4, quasi=QUASI, **sections):
    others = [name for name in QUASI if name not in quasi]
    roles = {
        "quasi-identifier": quasi,
        "confidential": ["illness"],
        "identifier": others,
    }
    plain = {"partition": {"method": "mdav"}, "missing": KEEP}
    return aggopt.Job(**{"roles": roles, "privacy": {"k": k}, **plain, **sections})


def rows(table, names=QUASI):
    """Rows with None for what is missing, from any table."""
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    columns = [[None if pd.isna(v) else v for v in frame[n].tolist()] for n in names]
    return list(zip(*columns, strict=True))


def rarest(table, names=QUASI):
    return min(Counter(rows(table, names)).values())


def of_numbers(names, k, **sections):
    """Return a job for a table of quasi-identifiers alone."""
    plain = {"partition": {"method": "mdav"}, "missing": KEEP}
    roles = {"quasi-identifier": names}
    return aggopt.Job(**{"roles": roles, "privacy": {"k": k}, **plain, **sections})
