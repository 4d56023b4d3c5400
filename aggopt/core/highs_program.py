"""A program in HiGHS that grows from one solve to the next.

It runs in the process that `aggopt.solvers.separate_process` uses.  Its methods take
and return arrays, never objects of HiGHS.
"""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from aggopt.core.types import AnyInt, Floats

MODULES = ("aggopt.core.highs_program", "highspy")
_UNLIMITED = 2**31 - 1  # iterations


class HighsSolution(NamedTuple):
    """Status of HiGHS under its own name, and its solution.

    Attributes
    ----------
    status
        The name of a `HighsModelStatus`, such as "kOptimal".
    columns : (q,)
        The values of all columns.
    duals : (m,)
        Duals of the rows; None if they are not valid for the point.
    """

    status: str
    objective: float
    columns: Floats
    duals: Floats | None


class HighsProgram:
    """One program, solved by one thread."""

    def __init__(self) -> None:
        self._highs: Any = _make_silent_highs()

    def set_option(self, name: str, value: Any) -> None:
        """Set an option under HiGHS's name."""
        self._highs.setOptionValue(name, value)

    def add_rows(self, count: int) -> None:
        """Add rows without entries, which add up to 1."""
        none = np.empty(0, np.int32)
        for _ in range(count):
            self._highs.addRow(1.0, 1.0, 0, none, none.astype(float))

    def add_row(self, upper: float, index: AnyInt, entries: Floats) -> None:
        """Add a row of these columns, which adds up to `upper` at most."""
        self._highs.addRow(-np.inf, upper, len(index), index, entries)

    def add_columns(
        self,
        costs: Floats,
        upper: Floats,
        starts: AnyInt,
        rows: AnyInt,
        entries: Floats,
    ) -> None:
        """Add columns from 0 up; that of place j has entries from starts[j] on."""
        lower = np.zeros(len(costs))
        self._highs.addCols(
            len(costs), costs, lower, upper, len(rows), starts, rows, entries
        )

    def change_bounds(self, upper: Floats) -> None:
        """Set the bounds of all columns to 0 and `upper`."""
        every = np.arange(len(upper), dtype=np.int32)
        self._highs.changeColsBounds(len(upper), every, np.zeros(len(upper)), upper)

    def change_costs(self, costs: Floats) -> None:
        """Set the costs of the first columns."""
        every = np.arange(len(costs), dtype=np.int32)
        self._highs.changeColsCost(len(costs), every, costs)

    def limit(self, seconds: float) -> None:
        """Set the time limit, which HiGHS counts from its first run."""
        spent = self._highs.getRunTime()
        limit = spent + max(seconds, 0.0) if isfinite(seconds) else 1e30
        self._highs.setOptionValue("time_limit", limit)

    def solve(self, seconds: float) -> HighsSolution:
        """Return the solution of a run within `seconds`."""
        self.limit(seconds)
        return self._solve()

    def solve_anew(self) -> HighsSolution:
        """Return the solution of a run from the start, within the current limit."""
        self._highs.clearSolver()
        return self._solve()

    def objective_after(self, iterations: int) -> float:
        """Return the objective after some dual simplex iterations."""
        self._highs.setOptionValue("simplex_iteration_limit", iterations)
        self._highs.run()
        self._highs.setOptionValue("simplex_iteration_limit", _UNLIMITED)
        return float(self._highs.getInfo().objective_function_value)

    def _solve(self) -> HighsSolution:
        self._highs.run()
        solution = self._highs.getSolution()
        return HighsSolution(
            self._highs.getModelStatus().name,
            float(self._highs.getInfo().objective_function_value),
            np.array(solution.col_value),
            np.array(solution.row_dual) if solution.dual_valid else None,
        )


class HighsChoice:
    """Integer programs that choose columns so that each row has exactly one."""

    def choose(
        self,
        costs: Floats,
        starts: AnyInt,
        rows: AnyInt,
        initial: Floats,
        count: int,
        nodes: int,
        seconds: float,
    ) -> tuple[Floats, bool]:
        """Return the columns (q,) that are chosen, 1 or 0, and whether that is proven.

        Column j holds rows[starts[j]:starts[j + 1]] of `count`; `initial` (q,) is a
        starting choice.  The search ends after `nodes` nodes or `seconds`.
        """
        import highspy

        lp = highspy.HighsLp()
        lp.num_col_ = len(costs)
        lp.num_row_ = count
        lp.col_cost_ = costs
        lp.col_lower_ = np.zeros(len(costs))
        lp.col_upper_ = np.ones(len(costs))
        lp.row_lower_ = lp.row_upper_ = np.ones(count)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = starts.astype(np.int32)
        lp.a_matrix_.index_ = rows.astype(np.int32)
        lp.a_matrix_.value_ = np.ones(len(rows))
        lp.integrality_ = [highspy.HighsVarType.kInteger] * len(costs)
        highs: Any = _make_silent_highs()
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.setOptionValue("mip_max_nodes", nodes)
        highs.passModel(lp)
        start = highspy.HighsSolution()
        start.col_value = initial
        highs.setSolution(start)
        if isfinite(seconds):
            highs.setOptionValue("time_limit", seconds)
        highs.run()
        ended = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return np.array(highs.getSolution().col_value), bool(ended)


def _make_silent_highs() -> Any:
    """Return HiGHS with one thread: threads are the process's, and may be more."""
    import highspy

    highspy.Highs.resetGlobalScheduler(True)
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("threads", 1)
    return highs
