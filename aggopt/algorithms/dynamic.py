"""The univariate partition's own method: dynamic programming over runs of values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggopt.core.deadline import compile_time
from aggopt.core.memory import require_memory
from aggopt.core.types import AnyInt, Floats
from aggopt.models import univariate as model
from aggopt.solvers.certificate import Answer, Status
from aggopt.solvers.solver import Solver

BYTES = 40  # for each value, at the peak
LARGE = 490  # exponent: 2**490 squared is finite
SMALL = -480  # exponent: 2**-480 counts


def run(
    data: model.Data, solver: Solver, native: Mapping[str, Any], start: None
) -> Answer:
    """Return the optimal groups of sorted values, by dynamic programming.

    For usual k few beginnings of a group need be looked at; for large k each block of
    k is worked off by halves, in O(n log k).  Memory grows as n.

    Raises
    ------
    InfeasibleInputError
        It does not fit into memory.
    """
    from aggopt.algorithms import runs as _runs
    from aggopt.algorithms import runs as _runs_paths

    n = len(data.x)
    k = data.k
    require_memory(BYTES * n, f"the partition of {n} values")
    started = compile_time.now()
    index_type = np.int32 if n < 2**31 else np.int64
    inverse = np.append(0.0, 1.0 / np.arange(1, 3 * k + 1))
    work = _runs.RunCosts(
        x=_scale_values(data),
        k=k,
        kind=_runs.WHOLE if data.centroids == "integer" else _runs.KINDS[data.cost],
        cost=np.empty(n + 1),
        step=np.empty(n + 1),
        before=np.empty(n + 1, index_type),
        around=np.zeros(3 * k + 1),
        loss=np.zeros(3 * k + 1),
        inverse=inverse,
        weight=np.append(0.0, inverse[1:] * inverse[:-1]),
    )
    _runs.solve_runs(work)
    labels: AnyInt = np.empty(n, dtype=index_type)
    _runs_paths.write_labels(work.before, labels)
    seconds = compile_time.now() - started
    return Answer(labels, Status.OPTIMAL, None, solver.name, seconds)


def _scale_values(data: model.Data) -> Floats:
    """Return the values times a power of two that keeps their squares finite."""
    from aggopt.algorithms import runs as _runs

    gap = _runs.find_least_gap(data.x)
    width = float(data.x[-1] - data.x[0])
    if width == 0 or data.centroids == "integer":
        return data.x
    widest, narrowest = np.frexp([width, gap])[1].tolist()
    if narrowest >= SMALL and widest <= LARGE:
        return data.x
    return np.asarray(np.ldexp(data.x, LARGE - widest))
