"""Choose among equally near categories of each group.

The choice keeps the number of records of each category as near to the original as
possible.  It uses the model of `aggopt.models.frequencies` without a loss, with a price
of one for each record of difference, and without other candidates.
"""

import numpy as np

from aggopt.aggregate.categories._candidates import Candidates
from aggopt.aggregate.categories._solved import certified
from aggopt.core.deadline import Deadline
from aggopt.core.randomness import draw_uniforms, secret_from_seed
from aggopt.core.types import I64, Bool
from aggopt.models import frequencies as model
from aggopt.solvers import Certificate, choose
from aggopt.solvers.run_solver import answer

LIMIT = 60.0  # seconds: 30 162 records take one


def broken(
    candidates: Candidates, tied: Bool, seed: int, time_limit: float | None
) -> tuple[I64, Certificate | None]:
    """Return one of the tied candidates (groups, q) of each group, and a certificate.

    The certificate's objective is the number of records by which candidates are
    published more or less often than records have them; None if nothing is tied.
    """
    if not (tied.sum(axis=1) > 1).any():
        return tied.argmax(axis=1), None
    clock = Deadline(None)
    weights, counts = candidates.table(np.zeros_like(candidates.own))
    data = model.Data(np.where(tied, 0.0, np.inf), weights, counts, price=1.0)
    solver = choose(None, *model.MODEL.kinds)
    found = answer(model.MODEL, data, solver, None, time_limit=time_limit or LIMIT)
    picked = at_random(tied, seed) if found.reading is None else found.reading
    return picked, certified(model.MODEL, data, picked, found, 1.0, clock.spent)


def at_random(tied: Bool, seed: int) -> I64:
    """Return one of the tied candidates of each group, (groups,)."""
    drawn = np.full(tied.shape, -1.0)
    drawn[tied] = draw_uniforms(
        secret_from_seed(seed), "tied categories", int(tied.sum())
    )
    return np.asarray(drawn.argmax(axis=1))
