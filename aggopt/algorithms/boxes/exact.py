"""The groups of least loss in a small table, by a solver of integer programs.

With feasible prices of bound B and a release of loss V, a box b can be open in a better
release only if k F_b less its k largest prices is at most V - B.  A combination can be
published as that box only if this holds with its own price in place of the least of the
k.  The integer program has these places alone.
"""

from dataclasses import replace
from math import fsum, inf

import numpy as np

from aggopt.core.types import F64
from aggopt.errors import InfeasibleInputError
from aggopt.models import generalised_loss as model
from aggopt.solvers.certificate import Answer, Status
from aggopt.solvers.run_solver import run_solver
from aggopt.solvers.solver import Solver

MOST_PLACES = 400_000  # pairs of the program: solvers take minutes from a tenth of them
WHOLE = 1e-4  # how far from whole numbers those of a solver may be
SAFE = 1e-9  # of a loss: more than adding it up rounds


def solve_places(
    data: model.Data,
    prices: F64,
    loss: float,
    solver: Solver,
    *,
    time_limit: float | None = None,
) -> Answer:
    """Return a release that loses less than a known one, and a lower bound on all.

    Parameters
    ----------
    data
        All boxes that a release may publish.
    prices : (c,)
        Feasible prices.
    loss
        Loss of a known release.

    Returns
    -------
    Answer
        reading: whole numbers (p,) of records at pairs of `data`; None if no better
        release is found.  bound: no release loses less; `loss` if none is better.

    Raises
    ------
    InfeasibleInputError
        The prices leave too many places.
    """
    proven = max(0.0, fsum(data.count * prices))
    is_possible = find_possible_pairs(
        data, prices, loss - proven + SAFE * max(1.0, loss)
    )
    if len(np.unique(data.combination[is_possible])) < len(data.count):
        return Answer(None, Status.OPTIMAL, loss, solver.name, 0.0)
    if is_possible.sum() > MOST_PLACES:
        raise InfeasibleInputError(
            f"The program has {int(is_possible.sum())} places of combinations in "
            f"boxes, and solvers take up to {MOST_PLACES}.",
            fix="leave the solver out: the bound by prices is proven, too.",
        )
    answer = run_solver(
        model.MODEL,
        select_pairs(data, is_possible),
        solver,
        None,
        time_limit=time_limit,
    )
    bound = proven if answer.bound is None else max(proven, min(answer.bound, loss))
    bound = model.round_whole_bound(data, bound)
    if answer.status is Status.INFEASIBLE:
        bound = loss
    numbers = None
    if answer.reading is not None:
        rounded = np.rint(answer.reading)
        if np.abs(rounded - answer.reading).max(initial=0.0) < WHOLE:
            numbers = np.zeros(len(data.box))
            numbers[is_possible] = rounded
            numbers = _require_better(data, numbers, loss)
    return replace(answer, reading=numbers, bound=bound)


def _require_better(data: model.Data, numbers: F64, loss: float) -> F64 | None:
    """Return numbers that are feasible, whole and lose less than `loss`, or None."""
    at = model.point(data, numbers)
    is_feasible = model.MODEL.violation(data, at) == 0
    return numbers if is_feasible and model.objective(data, at) < loss else None


def find_possible_pairs(data: model.Data, prices: F64, gap: float) -> np.ndarray:
    """Return which pairs (p,) can occur in a release within `gap` of the bound."""
    is_possible = np.zeros(len(data.box), np.bool_)
    for b in range(len(data.loss)):
        taken, excess = model.choose_dearest_copies(data, prices, b)
        if excess == -inf or -excess > gap:
            continue
        members = data.get_members(b)
        gains = prices[members] - data.weights[members] * data.loss[b]
        lowest = gains[taken > 0].min()
        pairs = slice(data.first[b], data.first[b + 1])
        is_possible[pairs] = -excess + np.maximum(0.0, lowest - gains) <= gap
        if data.count[members[is_possible[pairs]]].sum() < data.k:
            is_possible[pairs] = False
    return is_possible


def select_pairs(data: model.Data, is_selected: np.ndarray) -> model.Data:
    """Return the data with the selected pairs alone; these have every combination."""
    boxes, box = np.unique(data.box[is_selected], return_inverse=True)
    return replace(
        data,
        box=box,
        combination=data.combination[is_selected],
        loss=data.loss[boxes],
        shares="whole",
    )
