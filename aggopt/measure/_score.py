"""Risk and loss in one number."""

from typing import Any

import numpy.typing as npt

from aggopt.measure._dld import DLD, compute_dld
from aggopt.measure._pair import Attacker, Pair
from aggopt.measure._pil import MIRRORED, PIL, compute_pil
from aggopt.measure._sdid import SDID, compute_sdid
from aggopt.measure.registry import Comparison, Heading, Measure


def dr(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    safety: float = 0.05,
    known: Any = None,
    units: Any = None,
) -> float:
    """Return the disclosure risk (DLD + SDID) / 2, a fraction in [0, 1].

    Lower is better; see `dld` and `sdid` for both parts and for the edges.

    Parameters
    ----------
    safety
        As in `sdid`.
    known, units
        As in `dld`.

    Raises
    ------
    TableError
        As in `dld`.
    JobError
        safety is not a number, not finite or negative.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> dr([[0.0], [2.0], [4.0], [6.0]], [[0.0], [1.0], [5.0], [6.0]])
    0.75
    """
    pair = Pair.of(original, released)
    pair = pair.add_attacker(Attacker.of(pair.n, known, units))
    return compute_mean_of_two(compute_dld(pair), compute_sdid(pair, safety))


def si(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    safety: float = 0.05,
    known: Any = None,
    units: Any = None,
) -> float:
    """Return the scoring index (DR + PIL) / 2, a fraction in [0, 1].

    Lower is better.  Releasing the original scores 1/2, all risk and no loss.  See
    `dr` and `pil` for both parts and for the edges.

    Parameters
    ----------
    safety
        As in `sdid`.
    known, units
        As in `dld`.

    Raises
    ------
    TableError
        As in `dld`.
    JobError
        safety is not a number, not finite or negative.

    Source: Mortazavi and Jalili (2017).

    Examples
    --------
    >>> original = [[0.0, 3.0], [2.0, 0.0], [4.0, 5.0], [6.0, 7.0]]
    >>> si(original, original)
    0.5
    """
    pair = Pair.of(original, released)
    pair = pair.add_attacker(Attacker.of(pair.n, known, units))
    risk = compute_mean_of_two(compute_dld(pair), compute_sdid(pair, safety))
    return compute_mean_of_two(risk, compute_pil(pair).pil)


def compute_mean_of_two(a: float, b: float) -> float:
    """Return (a + b) / 2."""
    return (a + b) / 2


def _compute_risk(tables: Comparison) -> float:
    """Return the mean of DLD and SDID."""
    return compute_mean_of_two(tables.figure(DLD), tables.figure(SDID))


DR = Measure(
    name="dr",
    when="risk as the literature on microaggregation counts it",
    rank=130,
    function=dr,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2001)",
    of=_compute_risk,
    heading=Heading.LITERATURE,
    label="DR",
    says=lambda result: "(DLD + SDID) / 2",
)

SI = Measure(
    name="si",
    when="risk and loss in one number, to compare with the literature",
    rank=160,
    function=si,
    range="0..1",
    better="lower",
    source="Mortazavi and Jalili (2017)",
    of=lambda tables: compute_mean_of_two(
        tables.once(_compute_risk), tables.figure(PIL)
    ),
    heading=Heading.LITERATURE,
    label="SI",
    says=lambda result: "(DR + PIL) / 2",
    excused={"signs_do_not_matter": MIRRORED},
)
