"""Solver `procrustes`: the nearest centroids that keep the covariance, in closed form.

They are found by one singular value decomposition.  The multipliers that they have
prove them optimal: see `aggopt.models.covariance_mean`.
"""

from collections.abc import Mapping
from typing import Any

from aggopt.core.deadline import compile_time
from aggopt.models import covariance_mean as model
from aggopt.solvers.certificate import Answer, Status
from aggopt.solvers.solver import Solver


def run(
    data: model.Data, solver: Solver, native: Mapping[str, Any], start: object
) -> Answer:
    """Return the nearest centroids (m, d) that keep the covariance, and a bound."""
    started = compile_time.now()
    centroids = data.renormalised
    bound = max(model.proven(data, model.compute_multipliers(data, centroids)), 0.0)
    seconds = compile_time.now() - started
    return Answer(centroids, Status.OPTIMAL, bound, solver.name, seconds)
