"""Standard deviation interval disclosure: values disclosed to within an interval."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.measure._interval import check_safety, compute_chance_within, is_within
from aggopt.measure._pair import Attacker, Pair
from aggopt.measure.registry import Comparison, Heading, Measure, TypedComparison
from aggopt.measure.types.disclosure import (
    compute_disclosed,
    compute_disclosed_by_chance,
)


def sdid(
    original: npt.ArrayLike, released: npt.ArrayLike, *, safety: float = 0.05
) -> float:
    """Return the standard deviation interval disclosure, a fraction in [0, 1].

    The share of values, over all records and all attributes that vary in the
    original, with |x_ij - x'_ij| <= safety * S_j: the original value is in an
    interval about the value released for the record.  S_j is the original's standard
    deviation with divisor n - 1.  Lower is better.

    Each record is compared with its own released record, not with the one it is linked
    to; this reproduces the published figures.  A value at the border counts as inside.

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
    return compute_sdid(Pair.of(original, released), safety)


def sdid_chance(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    safety: float = 0.05,
    known: Any = None,
) -> float:
    """Return the chance level of `sdid`, a fraction in [0, 1].

    The expected SDID when the released values of each attribute are permuted among
    the records, exactly: the mean over all attributes that vary in the original and
    all pairs of records i, l of [|x_ij - x'_lj| <= safety * S_j].  It is the SDID of an
    intruder with the released table, but without links between records and persons.
    Only the part of SDID above it reveals something about linked records.  Neither
    lower nor higher is better.

    Parameters
    ----------
    safety
        As in `sdid`.
    known : (n,) or (n, q), optional
        Columns that are published unchanged and that the intruder knows, such as
        strata.  Released values are then permuted among the records that share them.

    Raises
    ------
    TableError
        Not matrices of finite numbers, unequal shapes, or no attribute varies; or
        known has another number of records.
    JobError
        safety is not a number, not finite or negative.

    Source: SDID is of Domingo-Ferrer and Torra (2001); its chance level is ours.

    Examples
    --------
    >>> sdid_chance([[0.0], [2.0], [4.0], [6.0]], [[0.0], [1.0], [5.0], [6.0]])
    0.125
    """
    pair = Pair.of(original, released)
    return compute_sdid_chance(pair.add_attacker(Attacker.of(pair.n, known)), safety)


def compute_sdid(pair: Pair, safety: float) -> float:
    """Return `sdid` of tables already paired."""
    width = check_safety(safety) * pair.sample_deviation
    return float(is_within(np.abs(pair.difference), width).mean())


def compute_sdid_chance(pair: Pair, safety: float) -> float:
    """Return `sdid_chance` of tables already paired."""
    width = check_safety(safety) * pair.sample_deviation
    columns = zip(pair.original.T, pair.released.T, strict=True)
    before = pair.attacker.before
    return float(
        np.mean([compute_chance_within(x, y, width, before) for x, y in columns])
    )


def _compute_measure(tables: Comparison) -> float:
    """Return SDID: the mean over attributes for tables of several types."""
    if isinstance(tables, TypedComparison):
        return tables.typed.mean(compute_disclosed)
    return compute_sdid(tables.pair, tables.safety)


def _compute_chance(tables: Comparison) -> float:
    """Return the SDID that values of other records would reach."""
    if isinstance(tables, TypedComparison):
        return tables.typed.mean(compute_disclosed_by_chance)
    return compute_sdid_chance(tables.pair, tables.safety)


def _describe_near(result: Any) -> str:
    near = "" if result.types is None else ", or levels as near"
    chance = f"{100 * result.sdid_chance:.2f} % by chance"
    return f"values within {result.safety:g} standard deviations{near}; {chance}"


SDID = Measure(
    name="sdid",
    when="how many values are published nearly as they are",
    rank=70,
    function=sdid,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2001)",
    of=_compute_measure,
    heading=Heading.RISK,
    label="SDID",
    says=_describe_near,
)

CHANCE = Measure(
    name="sdid_chance",
    when="what SDID is compared with: its value by chance",
    rank=80,
    function=sdid_chance,
    range="0..1",
    better="-",
    source="this package, for SDID",
    of=_compute_chance,
)
