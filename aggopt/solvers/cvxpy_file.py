"""A program declared in cvxpy in a file of HiGHS's writer, and values from its names.

Column j of what cvxpy makes of the problem is called x1, x2, ... in the file, and rows
r1, r2, ...: no name of the problem is in it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings
from cvxpy.reductions.solution import Solution
from scipy.sparse import csc_array, triu

from aggopt.solvers._cvxpy import extract_linear_program

HOLDS = ("LP", "MILP", "QP")  # classes that cvxpy hands to HiGHS
TINY = 1e-12  # the least that HiGHS may be set to take an entry of a row for 0


def write_program(problem: cp.Problem, to: Path) -> None:
    """Write a problem of a class of `HOLDS`; the name of the file ends in its format.

    Raises
    ------
    ValueError
        HiGHS cannot hold it: a number of it is tiny or huge.
    """
    import highspy

    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("small_matrix_value", TINY)
    model, entries = _build_highs_model(problem)
    if highs.passModel(model) == highspy.HighsStatus.kError:
        raise ValueError
    if highs.getNumNz() != entries:  # it takes tiny ones for 0
        raise ValueError
    if highs.writeModel(str(to)) == highspy.HighsStatus.kError:
        raise ValueError


def _build_highs_model(problem: cp.Problem) -> tuple[Any, int]:
    """Return a problem as HiGHS has it, and the number of entries of its rows."""
    import highspy

    data, _, inverse = problem.get_problem_data("HIGHS")
    squares = data.get("P")
    offset = float(inverse[-1][settings.OFFSET])
    program = extract_linear_program({**data, "P": None}, offset)
    if program is None:
        raise ValueError
    rows = csc_array(program.rows)
    rows.eliminate_zeros()
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_row_, lp.num_col_ = rows.shape
    lp.sense_ = highspy.ObjSense.kMaximize if sign < 0 else highspy.ObjSense.kMinimize
    lp.offset_ = sign * offset
    lp.col_cost_ = sign * program.cost
    lp.col_lower_ = program.left
    lp.col_upper_ = program.right
    lp.row_lower_ = program.low
    lp.row_upper_ = program.high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = rows.indptr
    lp.a_matrix_.index_ = rows.indices
    lp.a_matrix_.value_ = rows.data
    lp.col_names_ = _make_names(lp.num_col_)
    lp.row_names_ = [f"r{i + 1}" for i in range(lp.num_row_)]
    integer_columns = {*data[settings.BOOL_IDX], *data[settings.INT_IDX]}
    if integer_columns:
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        lp.integrality_ = [kinds[j in integer_columns] for j in range(lp.num_col_)]
    if squares is not None and squares.count_nonzero():
        upper = triu(squares, format="csc")
        model.hessian_.dim_ = lp.num_col_
        model.hessian_.format_ = highspy.HessianFormat.kTriangular
        model.hessian_.start_ = upper.indptr
        model.hessian_.index_ = upper.indices
        model.hessian_.value_ = sign * upper.data
    return model, rows.nnz


def _make_names(count: int) -> list[str]:
    return [f"x{j + 1}" for j in range(count)]


def read_values(
    problem: cp.Problem, values_by_name: Callable[[list[str]], Mapping[str, float]]
) -> None:
    """Give the variables of a problem the values of a solution of its file.

    Parameters
    ----------
    values_by_name
        Returns the value of each name that is in the file.
    """
    data, chain, inverse = problem.get_problem_data("HIGHS")
    names = _make_names(len(data["q"] if "q" in data else data["c"]))
    values = values_by_name(names)
    column = np.array([values[name] for name in names], np.float64)
    place = {chain.solver.VAR_ID: column}
    solution = Solution(settings.OPTIMAL, 0.0, place, None, {})
    steps = zip(chain.reductions[:-1], inverse[:-1], strict=True)
    for reduction, entries in reversed(list(steps)):
        solution = reduction.invert(solution, entries)
    problem.unpack(solution)
