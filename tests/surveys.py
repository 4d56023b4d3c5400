"""Survey records with sampling weights that tests share, and jobs for them."""

from typing import Any

import numpy as np
import pandas as pd

import aggopt
from aggopt import Job

QUASI = ["age", "income"]
ROLES = {"quasi-identifier": QUASI, "other": ["note"], "weight": "w"}
SECRET = "0123456789abcdef" * 2


def sample(n: int = 48, seed: int = 0, **columns: Any) -> pd.DataFrame:
    """Return records whose weights spread, but none of which has most of a group."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 12, n), "note": ["x"] * n})
    frame["income"] = rng.gamma(2.0, 900, n)
    frame["w"] = rng.uniform(1, 3, n)
    return frame.assign(**columns)


def survey(**sections: Any) -> Job:
    """Return a job for `sample`."""
    plain = {
        "roles": ROLES,
        "privacy": {"k": 3},
        "partition": {"method": "mdav"},
        "output": {"digits": "full", "shuffle": False},
    }
    return Job(**{**plain, **sections})


def masked(frame: pd.DataFrame, **sections: Any) -> Any:
    return aggopt.mask(frame, survey(**sections), secret=SECRET)


def heavy() -> pd.DataFrame:
    """Return records of which every sixth weighs as much as twenty others."""
    return sample(w=np.where(np.arange(48) % 6 == 0, 20.0, 1.0))


def largest_share(labels, w):
    return max(w[labels == j].max() / w[labels == j].sum() for j in set(labels))
