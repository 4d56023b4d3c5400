"""The models' own method: the dual of a separable program, with a bound."""

from collections.abc import Mapping
from typing import Any

from aggopt.arrays import Floats
from aggopt.models._shift import Wishes
from aggopt.solvers._answer import Answer
from aggopt.solvers._options import refused
from aggopt.solvers._pieces import program_of
from aggopt.solvers._separable import dual
from aggopt.solvers._table import Solver


def run(
    data: Wishes, solver: Solver, native: Mapping[str, Any], start: Floats
) -> Answer:
    """Return the optimum; `native` is for `dual`: `gap_tol`, `nodes`, `time_limit`."""
    unknown = set(native) - {"gap_tol", "nodes", "time_limit"}
    if unknown:
        raise refused(solver, native, f"it has no {', '.join(sorted(unknown))}")
    found = dual(program_of(data), start=start, **native)
    return Answer(
        found.centroids, found.status, found.bound, solver.name, found.seconds
    )
