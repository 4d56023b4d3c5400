"""Integer program over groups of low reduced cost, for any MILP solver."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.validation import Floats, Labels
from aggopt.models import set_partition as model
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.columns import GroupColumns, group_columns
from aggopt.partition._optimal.master import count_halves
from aggopt.partition._optimal.pricing import Cut
from aggopt.solvers import Solver, Status
from aggopt.solvers.certificate import Answer
from aggopt.solvers.run_solver import GRACE, run_with_hard_limit

# by default, solvers of integer programs stop at a gap of 1e-4
EXACTLY = {
    "highs": {
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 1e-7,
        "mip_feasibility_tolerance": 1e-8,
    }
}
DENSE = 4  # times the entries of the records' rows: denser cuts slow the solver down
TRUST = 5e-7  # of the objective: errors that a solver's tolerances allow


def choose_groups(
    generation: ColumnGeneration,
    solver: Solver,
    candidates: Labels,
    clock: Deadline,
    seconds: float,
) -> bool:
    """Find the best partition into these groups; return whether the solver proved it.

    The best partition so far is always feasible.
    """
    incumbent_groups = generation.pool.places(
        group_columns(generation.best.labels, generation.best.k)
    )
    groups = generation.pool.all.at(np.union1d(candidates, incumbent_groups))
    best = generation.best
    data = _build_data(best.Z, best.k, groups, generation.master.cuts, best.weights)
    limit = min(seconds, clock.left - GRACE)
    if limit <= 0:
        return False
    solved = _solve_program(data, solver, None if np.isinf(limit) else limit)
    best.unanswered |= solved.status is Status.UNANSWERED
    if solved.reading is not None:
        generation.offer(solved.reading)
    return solved.status is Status.OPTIMAL


def _solve_program(data: model.Data, solver: Solver, limit: float | None) -> Answer:
    """Solve in a separate process, as the time limit of HiGHS is soft."""
    native = solver.native.lower()
    return run_with_hard_limit(model.MODEL, data, solver, limit, EXACTLY.get(native))


def _build_data(
    Z: Floats,
    k: int,
    groups: GroupColumns,
    cuts: Sequence[Cut],
    weights: Floats | None = None,
) -> model.Data:
    """Return the data of the integer program, without cuts if these are dense."""
    inside = groups.members >= 0
    if count_halves(groups, list(cuts), len(Z)).nnz > DENSE * inside.sum():
        cuts = ()
    return model.Data(
        Z,
        k,
        np.repeat(np.arange(len(groups.sizes)), groups.sizes),
        groups.members[inside].astype(np.intp),
        np.repeat(np.arange(len(cuts)), [len(cut) for cut in cuts]).astype(np.intp),
        np.array([i for cut in cuts for i in cut], np.intp),
        weights=weights,
    )
