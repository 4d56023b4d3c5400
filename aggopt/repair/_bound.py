"""What any t-close partition loses at least, as a sum of squares."""

from aggopt.models import closeness_bound as model
from aggopt.repair._task import Task
from aggopt.solvers import choose, solve

PIECES = (4, 8)  # of f; more prove more, but are harder on the solver


def least_loss(task: Task) -> float:
    """Return the bound on SSE over all records and attributes, 0.0 if none is proven.

    Whatever the solver says of itself, the multipliers that it found prove the bound.
    """
    if task.ordered.m == 1:
        return 0.0
    place = task.ordered.place / (task.ordered.m - 1)
    solver = choose(None, model.NAME).name
    best = 0.0
    for pieces in PIECES:
        data = model.Data(task.Z, place, task.t, pieces)
        problem = model.build(data, "cvxpy")
        if solve(problem, solver).status.usable:
            found = model.multipliers(problem, data)
            best = max(best, 0.0 if found is None else model.proven(data, found))
    return best * task.Z.size
