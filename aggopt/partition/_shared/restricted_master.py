"""The restricted master of column generation: a linear program kept in HiGHS."""

from typing import Any

import numpy as np

from aggopt.core.types import AnyInt
from aggopt.core.validation import Floats
from aggopt.errors import SolverError
from aggopt.solvers import SOLVERS


def require_highs(columns: str) -> None:
    """Raise unless HiGHS, which prices the columns, is installed."""
    if SOLVERS["cvxpy:highs"].lacks:
        raise SolverError(
            f"{columns} are priced by HiGHS, which is not installed.",
            fix=f"run {SOLVERS['cvxpy:highs'].install}.",
        )


class RestrictedMaster:
    """Minimise costs @ share over the columns so far; each of the rows adds up to 1."""

    def __init__(self, rows: int) -> None:
        import highspy

        self.highs: Any = highspy.Highs()
        self.highs.silent()
        self.highs.setOptionValue("threads", 1)
        none = np.empty(0, np.int32)
        for _ in range(rows):
            self.highs.addRow(1.0, 1.0, 0, none, none.astype(float))

    def add_columns(
        self, costs: Floats, starts: AnyInt, rows: AnyInt, entries: Floats
    ) -> None:
        """Add columns; column j has entries in rows[starts[j]:starts[j + 1]]."""
        count = len(costs)
        self.highs.addCols(
            count,
            costs,
            np.zeros(count),
            np.full(count, np.inf),
            len(rows),
            starts.astype(np.int32),
            rows.astype(np.int32),
            entries,
        )

    def limit(self, seconds: float) -> None:
        """Set the time limit, which HiGHS counts from its first run."""
        spent = self.highs.getRunTime()
        limit = spent + max(seconds, 0.0) if np.isfinite(seconds) else 1e30
        self.highs.setOptionValue("time_limit", limit)
