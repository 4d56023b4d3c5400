"""The univariate partition as a shortest path through its whole graph, by SciPy."""

from collections.abc import Mapping
from typing import Any

from aggopt.core.deadline import compile_time
from aggopt.models import univariate as model
from aggopt.solvers.certificate import Answer, Status
from aggopt.solvers.solver import Solver


def run(
    data: model.Data, solver: Solver, native: Mapping[str, Any], start: None
) -> Answer:
    """Return the optimal groups of sorted values, as a shortest path in a graph.

    Raises
    ------
    InfeasibleInputError
        The graph does not fit into memory.
    """
    started = compile_time.now()
    labels = model.find_groups_along(data, *model.list_arcs(data))
    seconds = compile_time.now() - started
    return Answer(labels, Status.OPTIMAL, None, solver.name, seconds)
