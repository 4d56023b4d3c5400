"""A table with strata that tests share, and jobs for it."""

from typing import Any

import numpy as np
import pandas as pd

from aggopt import Job

KEYS = ["region", "sex"]
ROLES = {
    "quasi-identifier": ["age", "income"],
    "confidential": ["ill"],
    "stratum": KEYS,
}


def residents(seed: int = 0, **more: int) -> pd.DataFrame:
    """Persons of four strata of 8 or more, whose incomes differ in place and spread.

    `more` are records of other strata: m_f=2 adds two of region "m", sex "f".
    """
    rng = np.random.default_rng(seed)
    sizes = {"n_f": 8, "n_m": 10, "s_f": 13, "s_m": 9, **more}
    keys = [key.split("_") for key, size in sizes.items() for _ in range(size)]
    frame = pd.DataFrame(keys, columns=KEYS)
    n = len(frame)
    spread = np.where(frame["region"] == "n", 3.0, 1.0)
    frame["age"] = rng.integers(18, 90, n) + 5.0 * (frame["sex"] == "f")
    frame["income"] = 1e3 * (20 + spread * rng.gamma(2.0, size=n))
    frame["ill"] = rng.choice(["flu", "asthma", "none"], n)
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def within(k: int = 3, **sections: Any) -> Job:
    """Return a job for `residents`."""
    plain = {
        "roles": ROLES,
        "privacy": {"k": k},
        "partition": {"method": "mdav"},
        "output": {"digits": "full", "shuffle": False},
    }
    return Job(**{**plain, **sections})
