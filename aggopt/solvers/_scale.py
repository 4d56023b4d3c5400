"""Scale of a program; a solver's proof is trusted only if all numbers are moderate.

Solvers silently take tiny numbers for 0 and huge ones for infinity.  HiGHS drops
entries of its matrix below 1e-9.  SCIP takes any difference below 1e-9 for none and
1e20 for no bound.  Their proof is then about another program.
"""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.validation import Floats
from aggopt.solvers._linear_bound import LinearProgram, narrowed

LEAST = 1e-6  # a thousand times the number that HiGHS and SCIP take for 0
MOST = 1e6  # its inverse; a variable within it moves a row by LEAST by 1
ROUNDED = 1e-13  # a smaller term of a row is lost in its other terms' rounding
SAFE = 1e-7  # of the largest term: a hundred times the tolerance of reduced costs
PRICE = 1e-9  # tolerance of a reduced cost, for each unit of its variable


@dataclass(frozen=True)
class ProgramScale:
    """Size of the terms of a program whose numbers are moderate.

    Attributes
    ----------
    largest
        Largest value that a term of the objective can have.
    lost
        Most that its tiny terms and the tolerances of reduced costs can add.
    constant
        Constant of the objective.
    """

    largest: float
    lost: float
    constant: float

    def allowance(self, bound: float) -> float:
        """Return the amount to take off a bound for the tolerances of its solver."""
        size = max(1.0, abs(bound - self.constant), self.largest, abs(bound))
        return SAFE * size + self.lost


@dataclass(frozen=True, eq=False)
class Terms:
    """Coefficients (p,), and the largest size (p,) of the factor of each of them."""

    factor: Floats = field(repr=False)
    reach: Floats = field(repr=False)


def scale(
    rows: Terms,
    sides: Floats,
    costs: Terms,
    box: tuple[Floats, Floats],
    constant: float,
) -> ProgramScale | None:
    """Return the scale of a program; None if one of its numbers is not moderate.

    `costs` leaves out squares that only add to the objective.  `sides` of rows leaves
    out the infinite ones.
    """
    left, right = box
    ends = np.abs(np.append(left, right))
    a, moved = np.abs(rows.factor), np.abs(rows.factor) * rows.reach
    a = a[(a > 0) & ~(moved <= ROUNDED)]
    c = np.abs(costs.factor)
    sizes = np.concatenate([ends, a, c, np.abs(sides)])
    if (a < LEAST).any() or not (sizes <= MOST).all():
        return None
    terms = np.where(c > 0, c * costs.reach, 0.0)
    lost = terms[c < LEAST].sum() + PRICE * np.abs(right - left).sum()
    return ProgramScale(float(terms.max(initial=0.0)), float(lost), constant)


def scale_of(program: LinearProgram) -> ProgramScale | None:
    """Return the scale of a linear program, or of one with squares as costs."""
    for _ in range(3):  # a row narrows what another needs
        program = narrowed(program)
    box = program.left, program.right
    reach = np.maximum(*np.abs(box))
    table = program.rows.tocoo()
    sides = np.append(program.low, program.high)
    if not (program.curve <= MOST).all():
        return None
    return scale(
        Terms(table.data, reach[table.col]),
        sides[np.isfinite(sides)],
        Terms(program.cost, reach),
        box,
        program.constant,
    )
