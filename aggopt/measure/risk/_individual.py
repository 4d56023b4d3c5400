"""Risk that a record of a sample is re-identified in the population."""

from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import find_groups, read_labels
from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import AnyInt, Floats
from aggopt.errors import TableError

BY_SERIES = 10  # records from which on the series is short, and hyp2f1 may be nan
SMALLEST_TERM = 1e-17  # of a sum of 1 to 10/9: below its floating-point resolution


def individual_risk(keys: Any, weights: npt.ArrayLike | None = None) -> Floats:
    """Return the risk of each record to be re-identified in the population, (n,).

    r = E[1/F given f]: f records of the sample and F records of the population have the
    record's combination of keys, and each of the F is equally likely.  F has the
    negative binomial distribution of parameters f and p = f / (sum of their weights),
    so r = p/f 2F1(1, 1; f+1; 1-p), fractions in (0, 1].  Without weights the sample is
    the population, and r = 1/f, also if weights add up to f or less.  Lower is better.

    Parameters
    ----------
    keys
        Attributes that an intruder knows: a table (n, d), or the group of each record
        (n,).
    weights : (n,)
        Number of records of the population that each record represents, above 0.

    Raises
    ------
    TableError, JobError
        keys are neither a table nor groups, or have no record; or weights are not one
        positive number for each record.

    Source: Benedetti and Franconi (1998); Franconi and Polettini (2004).

    Examples
    --------
    >>> individual_risk([["a"], ["a"], ["b"]], [10.0, 10.0, 10.0]).round(4).tolist()
    [0.0827, 0.0827, 0.2558]
    """
    labels = read_labels(keys)
    weight = weight_of_each(weights, len(labels))
    records = np.bincount(labels)
    risk = _compute_expected_risk(records, np.bincount(labels, weight))
    return np.asarray(risk[labels])


def household_risk(risk: npt.ArrayLike, households: Any) -> Floats:
    """Return the risk that any member of its household is re-identified, (n,).

    1 - prod (1 - r) over the records of the household, or another unit: fractions.
    Lower is better.

    Parameters
    ----------
    risk : (n,)
        Risk of each record, such as `individual_risk`.
    households
        Household of each record: a column (n,), or a table of columns that identify it.

    Raises
    ------
    TableError
        The risks are not fractions, or not one for each record.

    Source: Boole; Franconi and Polettini (2004).

    Examples
    --------
    >>> household_risk([0.5, 0.5, 0.2], ["a", "a", "b"]).round(6).tolist()
    [0.75, 0.75, 0.2]
    """
    unit = find_groups(households)
    risks = np.asarray(risk, dtype=np.float64)
    if risks.shape != unit.shape or not ((risks >= 0) & (risks <= 1)).all():
        raise TableError(
            f"There are {len(unit)} records, and risks of shape {risks.shape}, or some "
            "are no fractions.",
            fix="pass one risk from 0 to 1 per record.",
        )
    with np.errstate(divide="ignore"):  # of a risk of 1
        none = np.bincount(unit, np.log1p(-risks))
    return np.asarray(-np.expm1(none)[unit])


def _compute_expected_risk(f: AnyInt, F: npt.NDArray[Any]) -> Floats:
    """Return E[1/F given f] of groups with f records and a sum of weights F, (m,)."""
    p = np.minimum(f / F, 1.0)
    factor = np.ones(len(f))
    few = f < BY_SERIES
    if few.any():
        from scipy.special import hyp2f1

        factor[few] = hyp2f1(1, 1, f[few] + 1, 1 - p[few])
    factor[~few] = _sum_series(f[~few], 1 - p[~few])
    return np.asarray(p / f * factor)


def _sum_series(f: AnyInt, z: Floats) -> Floats:
    """Return 2F1(1, 1; f+1; z) of 0 <= z < 1: the sum of n! / (f+1)_n z^n over n."""
    term = np.ones(len(f))
    total = term.copy()
    n = 0
    while (term > SMALLEST_TERM).any():
        term = term * (n + 1) / (f + 1 + n) * z
        total = total + term
        n = n + 1
    return total


def dominance(released: Any, weights: npt.ArrayLike) -> Floats:
    """Return the share of each group's weight that its heaviest record holds, (m,).

    A weighted mean leans on that record: if the share is near 1, its value is in effect
    published.  Fractions in (0, 1]; lower is better.

    Parameters
    ----------
    released
        The group of each record (n,), or the released quasi-identifiers (n, d).
    weights : (n,)
        Above 0.

    Raises
    ------
    TableError, JobError
        The table has no records, or the weights are not one positive number for each.

    Source: the (n, k) dominance rule of magnitude tables, with one record.

    Examples
    --------
    >>> dominance([0, 0, 1, 1], [1.0, 3.0, 2.0, 2.0]).tolist()
    [0.75, 0.5]
    """
    labels = read_labels(released)
    weight = weight_of_each(weights, len(labels))
    heaviest = np.zeros(labels.max() + 1)
    np.maximum.at(heaviest, labels, weight)
    return np.asarray(heaviest / np.bincount(labels, weight))
