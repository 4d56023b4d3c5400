"""Clarabel: conic programs, by an interior-point method."""

from aggopt.solvers.solver import OPTIMUM, Solver

_OF_CLARABEL = frozenset({"time_limit", "max_iter", "max_threads"})

SOLVER = Solver(
    name="cvxpy:clarabel",
    when="conic programs in cvxpy, such as bounds on t-close loss",
    rank=100,
    ranks={"QP": 85},  # before HiGHS, which fails on many quadratic programs
    language="cvxpy",
    native="CLARABEL",
    takes=frozenset({"LP", "QP", "SOCP", "SDP"}),
    finds=OPTIMUM,
    install="pip install clarabel",
    needs=("clarabel",),
    time_limit="time_limit",
    duals=True,
    harmless=_OF_CLARABEL,
    tolerances={"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8},
)
