"""How many values are disclosed to within an interval."""

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.errors import JobError
from aggopt.measure._pair import TOLERANCE, Pair
from aggopt.measure._registry import Heading, Measure


def sdid(
    original: npt.ArrayLike, released: npt.ArrayLike, *, safety: float = 0.05
) -> float:
    """Return the standard deviation interval disclosure, a fraction in [0, 1].

    The share of values, over all records and all attributes that vary in the
    original, with |x_ij - x'_ij| <= safety * S_j: the original value lies in an
    interval about the value released for the same record.  S_j is the original's
    standard deviation with divisor n - 1.  Lower is better.

    The published figures come out with each record's own released record, as here,
    not with the one it is linked to.  At the border counts as inside.

    Parameters
    ----------
    safety
        Half the width of the interval, in standard deviations, 0 or more.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.
    JobError
        safety is not a number, not finite or negative.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> sdid([[0.0], [2.0], [4.0], [6.0]], [[0.0], [1.0], [5.0], [6.0]])
    0.5
    """
    return sdid_of(Pair.of(original, released), safety)


def sdid_chance(
    original: npt.ArrayLike, released: npt.ArrayLike, *, safety: float = 0.05
) -> float:
    """Return what `sdid` would be by chance, a fraction in [0, 1].

    The expected SDID when the released values of each attribute are permuted among
    the records, exactly: the mean over all attributes that vary in the original and
    all pairs of records i, l of [|x_ij - x'_lj| <= safety * S_j].  What an intruder
    gets who knows the released table but not which record is whose; SDID says
    something of linked records only as far as it is above this.  It has no better or
    worse of its own.

    Parameters
    ----------
    safety
        As in `sdid`.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies.
    JobError
        safety is not a number, not finite or negative.

    Source: SDID is of Domingo-Ferrer and Torra (2001); its chance level is ours.

    Examples
    --------
    >>> sdid_chance([[0.0], [2.0], [4.0], [6.0]], [[0.0], [1.0], [5.0], [6.0]])
    0.125
    """
    return sdid_chance_of(Pair.of(original, released), safety)


def sdid_of(pair: Pair, safety: float) -> float:
    """Return `sdid` of tables already paired."""
    width = checked_safety(safety) * pair.sample_deviation
    return float((np.abs(pair.difference) <= width * (1 + TOLERANCE)).mean())


def sdid_chance_of(pair: Pair, safety: float) -> float:
    """Return `sdid_chance` of tables already paired."""
    width = checked_safety(safety) * pair.sample_deviation * (1 + TOLERANCE)
    inside = 0
    for x, y in zip(pair.original.T, np.sort(pair.released, axis=0).T, strict=True):
        upto = np.searchsorted(y, x + width, side="right")
        inside += int((upto - np.searchsorted(y, x - width, side="left")).sum())
    return inside / (pair.n * pair.original.size)


def checked_safety(safety: object) -> float:
    """Return half the width of an interval as a float, or refuse it."""
    if isinstance(safety, bool) or not isinstance(safety, Real):
        raise JobError(
            f"safety must be a number, not {type(safety).__name__}.",
            fix="pass a share of the standard deviation, such as safety=0.05.",
        )
    share = float(safety)
    if not 0 <= share < np.inf:
        raise JobError(
            f"safety = {share:g} is not a finite number of at least 0.",
            fix="pass a share of the standard deviation, such as safety=0.05.",
        )
    return share


def _near(found: Any) -> str:
    chance = f"{100 * found.sdid_chance:.2f} % by chance"
    return f"values within {found.safety:g} standard deviations; {chance}"


SDID = Measure(
    name="sdid",
    when="how many values are published nearly as they are",
    rank=70,
    function=sdid,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2001)",
    of=lambda tables: sdid_of(tables.pair, tables.safety),
    heading=Heading.RISK,
    label="SDID",
    says=_near,
)

CHANCE = Measure(
    name="sdid_chance",
    when="what SDID is compared with: its value by chance",
    rank=80,
    function=sdid_chance,
    range="0..1",
    better="-",
    source="this package, for SDID",
    of=lambda tables: sdid_chance_of(tables.pair, tables.safety),
)
