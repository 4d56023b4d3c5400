"""Restricted master of column generation: a linear program that HiGHS keeps."""

import numpy as np

from aggopt.core.highs_program import MODULES, HighsProgram
from aggopt.core.types import AnyInt, Floats
from aggopt.errors import SolverError
from aggopt.solvers import SOLVERS
from aggopt.solvers.separate_process import RemoteObject


def require_highs(columns: str) -> None:
    """Raise a SolverError unless HiGHS is installed; `columns` names its task."""
    if SOLVERS["cvxpy:highs"].lacks:
        raise SolverError(
            f"{columns} are priced by HiGHS, which is not installed.",
            fix=f"run {SOLVERS['cvxpy:highs'].install}.",
        )


class RestrictedMaster(RemoteObject[HighsProgram]):
    """Minimise costs @ share over the columns so far; each row adds up to 1.

    HiGHS runs in a separate process, which ends with its limit: then it raises
    `NoAnswer`.
    """

    def __init__(self, rows: int) -> None:
        super().__init__(HighsProgram, MODULES)
        self.then(HighsProgram.add_rows, rows)

    def add_columns(
        self, costs: Floats, starts: AnyInt, rows: AnyInt, entries: Floats
    ) -> None:
        """Add columns; column j has entries in rows[starts[j]:starts[j + 1]]."""
        upper_bounds = np.full(len(costs), np.inf)
        self.then(
            HighsProgram.add_columns,
            costs,
            upper_bounds,
            starts.astype(np.int32),
            rows.astype(np.int32),
            entries,
        )
