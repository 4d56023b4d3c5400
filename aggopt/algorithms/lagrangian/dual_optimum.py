"""The maximum of the dual function: Newton's method, or ellipsoids if it stalls.

Importing this imports numba: do so late.
"""

from aggopt.algorithms.lagrangian.ascent import FIRST_RADIUS, DualOptimum, maximise
from aggopt.algorithms.lagrangian.bound import bound
from aggopt.algorithms.lagrangian.ellipsoid import climb
from aggopt.algorithms.lagrangian.program import Box, Separable
from aggopt.core.validation import Floats

MOST_EVALUATIONS = 400  # of the dual function, by Newton's method
MOST_CUTS = 2000  # and by the ellipsoid method, which takes about 100


def dual_optimum(
    program: Separable, box: Box, start: Floats, T: float, enough: float, ceiling: float
) -> tuple[DualOptimum, float]:
    """Return y with g within about `enough` |g| of its maximum, and the bound.

    The search ends early if g reaches the ceiling.
    """
    stalled = maximise(program, box, start, T, enough, MOST_EVALUATIONS)
    here = bound(program, box, stalled.y)
    if stalled.converged or here >= ceiling:
        return stalled, here
    y = stalled.y.copy()
    radius = FIRST_RADIUS * (1 + float(program.terms.sum() / program.sizes.sum()))
    cuts = climb(program, box, y, radius, enough, ceiling, MOST_CUTS)
    here = bound(program, box, y)
    evaluations = stalled.evaluations + cuts
    if here >= ceiling:
        return stalled._replace(y=y, evaluations=evaluations), here
    # A step or two from here find the shares of local minima that tie.
    T = enough * max(1.0, abs(here)) / len(program.sizes)
    found = maximise(program, box, y, T, enough, MOST_EVALUATIONS)
    there = bound(program, box, found.y)
    if not found.converged and there < here:
        found, there = found._replace(y=y), here
    return found._replace(evaluations=evaluations + found.evaluations), there
