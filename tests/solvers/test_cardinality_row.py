"""Where groups of one level end, and those of the other begin."""

import numpy as np

from aggopt.algorithms.lagrangian.branch_and_bound import find_level_ends
from aggopt.algorithms.lagrangian.piecewise_quartics import build_separable_program
from aggopt.models import p3m

BELOW, ABOVE = np.nextafter(0.5, 0), np.nextafter(0.5, 1)


def test_levels_end_a_rounding_from_the_cut_but_points_stay():
    x, wishes = np.tile([-1.0, 1.0], 6), np.full(12, 0.5)
    program = build_separable_program(
        p3m.Data(x, np.arange(12) // 3, wishes, wishes, 0.5)
    )
    program.low[2] = program.high[2] = 0.5
    assert find_level_ends(program, 1, 0.5) == (BELOW, ABOVE)
    assert find_level_ends(program, 2, 0.5) == (BELOW, 0.5)
    assert find_level_ends(program, 3, 0.5) == (BELOW, ABOVE)
