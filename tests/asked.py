"""A small table, and jobs for it, of which single steps are asked."""

from typing import Any

import numpy as np
import pandas as pd

from aggopt.data.context.strata import RecordStrata
from aggopt.data.table import Table
from aggopt.job import Job

FRAME = pd.DataFrame(
    {
        "a": [1.0, 2, 4, 8, 16, 32, 64],
        "b": [3.0, 1, 4, 1, 5, 9, 2],
        "s": [*"xxxyyyy"],
        "h": [0, 0, 1, 1, 2, 2, 3],
        "w": [1.0, 1, 1, 1, 1, 1, 4],
        "far": np.full(7, 0.1),
    }
)
NUMBERS = ["a", "b"]
XY = RecordStrata(np.array([0, 0, 0, 1, 1, 1, 1]))
ONE = RecordStrata(np.zeros(7, np.intp))


def job(k: int = 2, **sections: Any) -> Job:
    """Return a job that groups the numbers by mdav, with more roles and sections."""
    roles = {"quasi-identifier": NUMBERS, **sections.pop("roles", {})}
    privacy = {"k": k, **sections.pop("privacy", {})}
    plain = {"partition": {"method": "mdav"}}
    return Job(roles=roles, privacy=privacy, **{**plain, **sections})


def table(asked: Job, frame: pd.DataFrame = FRAME) -> Table:
    """Return the columns of the frame that a job has roles for."""
    named = [name for _, names in asked.roles for name in names]
    return Table.of(frame[named], asked.roles, asked.attributes, missing=asked.missing)
