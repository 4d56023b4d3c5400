"""HiGHS: linear, convex quadratic and mixed-integer linear programs."""

from functools import partial

from aggopt.solvers.solver import OPTIMUM, Solver

# gaps less than an optimum is shown by; reduced costs that hardly move a bound
_EXACT = {
    "mip_rel_gap": 1e-7,
    "mip_abs_gap": 1e-7,
    "dual_feasibility_tolerance": 1e-9,
}
# They set when to stop, how many threads run and in what order.  Tolerances are left
# out: a larger one makes a bound false.
_OF_HIGHS = frozenset(
    {
        "time_limit",
        "mip_rel_gap",
        "mip_abs_gap",
        "mip_max_nodes",
        "mip_max_leaves",
        "mip_max_stall_nodes",
        "mip_max_improving_sols",
        "mip_heuristic_effort",
        "mip_detect_symmetry",
        "threads",
        "parallel",
        "random_seed",
        "presolve",
    }
)
_TOLERANCES_OF_HIGHS = {
    "primal_feasibility_tolerance": 1e-7,
    "dual_feasibility_tolerance": 1e-7,
    "mip_feasibility_tolerance": 1e-6,
}

_highs = partial(
    Solver,
    takes=frozenset({"LP", "QP", "MILP"}),
    finds=OPTIMUM,
    install="pip install highspy",
    needs=("highspy",),
    time_limit="time_limit",
    fixed=_EXACT,
    duals=True,
    harmless=_OF_HIGHS,
    tolerances=_TOLERANCES_OF_HIGHS,
    # its method for quadratic programs fails if reduced costs must be this exact
    loosened={"QP": frozenset({"dual_feasibility_tolerance"})},
)

SOLVERS = (
    _highs(
        name="cvxpy:highs",
        when="linear, convex quadratic and integer programs in cvxpy",
        rank=90,
        language="cvxpy",
        native="HIGHS",
        excused={
            "unbounded_is_said": "of an unbounded quadratic program it leaves a point, "
            "of which nothing is proven"
        },
    ),
    _highs(
        name="pyomo:highs",
        when="linear, convex quadratic and integer programs in Pyomo",
        rank=110,
        language="pyomo",
        native="highs",
    ),
)
