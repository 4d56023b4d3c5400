"""Multipliers of a linear program, for a bound whose solver leaves none."""

import numpy as np

from aggopt.core.validation import Floats
from aggopt.solvers._linear_bound import LinearProgram


def multipliers_anew(program: LinearProgram, seconds: float | None) -> Floats:
    """Return the multipliers (m,) that HiGHS finds within `seconds`.

    They need not be right: any multipliers prove a bound.  All are 0 if HiGHS finds
    none.
    """
    import highspy

    solver = highspy.Highs()
    solver.silent()
    if seconds is not None:
        solver.setOptionValue("time_limit", max(seconds, 0.1))
    rows = program.rows.tocsr()
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_row_, lp.num_col_ = rows.shape
    lp.col_cost_ = program.cost
    lp.col_lower_, lp.col_upper_ = program.left, program.right
    lp.row_lower_, lp.row_upper_ = program.low, program.high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = rows.indptr
    lp.a_matrix_.index_ = rows.indices
    lp.a_matrix_.value_ = rows.data
    if program.curve.any():
        bent = np.flatnonzero(program.curve)
        model.hessian_.dim_ = len(program.cost)
        model.hessian_.format_ = highspy.HessianFormat.kTriangular
        model.hessian_.start_ = np.searchsorted(bent, np.arange(len(program.cost) + 1))
        model.hessian_.index_ = bent
        model.hessian_.value_ = program.curve[bent]
    solver.passModel(model)
    solver.run()
    found = np.asarray(solver.getSolution().row_dual, np.float64)
    return found if found.shape == program.low.shape else np.zeros_like(program.low)
