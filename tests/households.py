"""Persons of households that tests share, and jobs for them."""

from typing import Any

import numpy as np
import pandas as pd

from aggopt import Job

OF_UNITS = ["income", "rooms"]
OF_RECORDS = ["age", "height"]


def members(units: int = 24, seed: int = 0) -> pd.DataFrame:
    """Persons of households of one to four, shuffled."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(units), 1 + np.arange(units) % 4)
    frame = pd.DataFrame(
        {
            "household": own + 100,
            "income": rng.gamma(2.0, 1e4, units)[own],
            "rooms": rng.integers(1, 9, units)[own],
            "region": np.array(["n", "s"])[own % 2],
            "age": rng.integers(1, 90, len(own)),
            "height": rng.normal(170, 10, len(own)),
            "ill": rng.choice(["flu", "none", "asthma"], len(own)),
        }
    )
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def of(quasi: list[str], k: int = 3, *, unit: bool = True, **sections: Any) -> Job:
    """Return a job that masks these columns; all of them of units, if they are."""
    stratum = sections.pop("stratum", [])
    own = {"household", *quasi, *stratum, "ill"}
    roles = {
        "quasi-identifier": quasi,
        "confidential": ["ill"],
        "other": [name for name in members(4) if name not in own],
        "stratum": stratum,
        "unit" if unit else "identifier": ["household"],
    }
    plain = {
        "roles": roles,
        "privacy": {"k": k},
        "partition": {"method": "mdav"},
        "output": {"digits": "full", "shuffle": False},
    }
    if unit and quasi == OF_UNITS:
        plain["units"] = {"attributes": OF_UNITS}
    return Job(**{**plain, **sections})
