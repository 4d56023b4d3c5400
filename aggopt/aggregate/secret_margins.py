"""Secret margins, which keep a published value from pointing at an original.

An optimum is often exactly at the distance that some record requested.  Many people may
know this distance, and the standard deviation is published with the values.  An
attacker who subtracts the product of the two from a value obtains the original.  A
secret margin, added to the distance, leaves an interval in place of a value.  If values
are whole, or rounded, the interval must contain several of them: a single one would be
revealed.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.aggregation import get_column, read_float_records, scale_for
from aggopt.aggregate.distance_requests import spread_request
from aggopt.core.randomness import derive_secret, draw_uniforms
from aggopt.core.types import Floats, Labels, WishValues
from aggopt.core.validation import check_labellings, is_number, require_seed
from aggopt.errors import JobError

MOST = 0.9  # of the values: a few that were not rounded hide nothing of the others
NEAR = 0.05  # of a step: thirds written as .333, cents as 32-bit floats
FINEST = 1e12  # steps: beyond this number, floats cannot show whether it is whole


def find_step(x: Floats, lower: float = 0.0) -> float:
    """Return the rounding step of the values of an attribute x (n,), in its unit.

    The largest of 1, 2 and 5 times a power of ten whose multiples contain nine in ten
    values, without zeros.  Or, if larger, the smallest gap between two values, provided
    that nine in ten are a whole number of these gaps from the least: scores, sixths,
    pounds in kilograms.  0 if no step of at least `lower` exists, and if all values are
    equal.  A step never exceeds the range.

    Examples
    --------
    >>> find_step(np.array([1500.0, 0.0, 2000.0, 4500.0, 1e6]))
    500.0
    >>> find_step(np.array([1e9 + 1, 1e9 + 4, 1e9 + 9]))
    1.0
    >>> find_step(np.array([0.1, 0.25, 0.37]))
    0.01
    >>> round(find_step(np.array([0.0, 1 / 3, 2 / 3, 1.0])), 3)
    0.333
    """
    values, counts = np.unique(x, return_counts=True)
    width = float(values[-1] - values[0])
    if width == 0:
        return 0.0
    gap = float(np.diff(values).min())
    even = gap if _is_mostly_whole((values - values[0]) / gap, counts) else 0.0
    finest = max(lower, even, float(np.abs(values).max()) / FINEST)
    some = values != 0
    for step in _round_numbers(width, finest):
        if _is_mostly_whole(values[some] / step, counts[some]):
            return step
    return even if even >= lower else 0.0


def _round_numbers(upper: float, lower: float) -> Iterator[float]:
    """Yield 5, 2 and 1 times each power of ten from `upper` down to `lower`."""
    for power in range(math.floor(math.log10(upper)), -308, -1):
        for digit in (5, 2, 1):
            step = float(f"{digit}e{power}")
            if step < lower:
                return
            if step <= upper:
                yield step


def _is_mostly_whole(times: Floats, counts: Labels) -> bool:
    """Whether most of the quotients value / step (u,) are near whole numbers."""
    if np.abs(times).max() > 2 * FINEST:
        return False
    near = np.abs(times - np.rint(times)) <= NEAR * np.minimum(np.abs(times), 1)
    return bool(counts[near].sum() >= MOST * counts.sum())


LEAST_WIDTH = 0.1  # standard deviations: wider than what SDID counts as disclosed
LEAST = 1e-5  # a margin: a value rounded to six digits still keeps the distance
ENOUGH = 5  # values that a margin spans: as many as share a group by the usual k
WIDEST = 100.0  # standard deviations, at most: five steps of rare counts
MOST_WIDTH = 1.0  # standard deviations: more would not be masking but inventing


def with_margins(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    delta: WishValues = 0.1,
    *,
    width: float | None = None,
    seed: int | None = None,
) -> Floats:
    """Return distances to request (n, d): `delta`, each with a secret random margin.

    All records of a group share a margin, so that compatible demands remain compatible,
    unless they need values on opposite sides of them.  Pass the result as `delta` to
    `p3m`, `p3m_onesided` or `satisfaction`; measure the kept distances by `delta`
    itself.

    Parameters
    ----------
    X : (n, d)
        Records, original units.
    labels : (n,) or (n, d)
        Group of each record, for all attributes or for each of them.
    delta
        As `p3m` takes it.
    width
        Margins are uniform from 0 to this, in standard deviations; by default to the
        largest of 0.1, half the largest requested distance in the group, and five steps
        of the attribute (of a count 1, of money rounded to 500 as much), though not
        more than 1 for these.  Requests of small importance are not kept exactly and do
        not need five steps: `aggopt.mask` uses five steps only if a distance can be
        exact.
    seed
        Makes the margins reproducible.  An attacker with the seed knows the margins,
        and finds originals from the values.  By default they come from 128 random bits
        that are not stored.

    Raises
    ------
    TableError, JobError
        An argument cannot be used.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> asked = with_margins(X, [0, 0, 0, 1, 1, 1], delta=0.5)
    >>> bool((asked >= 0.5).all() and (asked <= 1.5).all())
    True
    """
    records = read_float_records(X)
    label = check_labellings(labels, *records.shape)
    if seed is not None:
        require_seed(seed)
    scale = scale_for(records, label)
    distances = spread_request(delta, scale.standardise(records), "delta")
    steps = np.zeros(records.shape[1])
    if width is None:
        attributes = zip(records.T, scale.spread.tolist(), strict=True)
        steps = np.array(
            [find_step_in_deviations(x, spread) for x, spread in attributes]
        )
    return distances + draw_margins(label, distances, width, derive_secret(seed), steps)


def find_step_in_deviations(
    x: Floats, spread: float, width: float | None = None
) -> float:
    """Return the rounding step of an attribute x (n,) in standard deviations.

    Steps so fine that a margin of this width, by default the least one, spans enough of
    them are not searched.  The result is then `LEAST`; digits below it are not
    published.
    """
    if spread == 0:
        return LEAST
    lowest = max((LEAST_WIDTH if width is None else width) / ENOUGH, LEAST)
    return max(find_step(x, lowest * spread) / spread, LEAST)


def draw_margins(
    labels: Labels, distances: Floats, width: float | None, secret: str, steps: Floats
) -> Floats:
    """Return random margins (n, d) of requested distances, equal within each group.

    `steps` (d,) are the steps of attributes whose distances can be exact, in standard
    deviations; 0 for others.

    Raises
    ------
    JobError
        The width is not a number from 0 to 100.
    """
    if width is not None and not (is_number(width) and 0 <= width <= WIDEST):
        raise JobError(
            f"The width of margins is {width!r}.",
            fix=f"pass a number from 0 to {WIDEST:g}, in standard deviations, or leave "
            "it out.",
        )
    added = []
    for j in range(distances.shape[1]):
        label = get_column(labels, j)
        wide = compute_margin_widths(label, distances[:, j], width, float(steps[j]))
        share = draw_uniforms(secret, f"margins of attribute {j}", len(wide))
        added.append(np.maximum(share * wide, np.minimum(LEAST, wide))[label])
    return np.stack(added, axis=1)


def compute_margin_widths(
    labels: Labels, distances: Floats, width: float | None, step: float
) -> Floats:
    """Return the largest margin of each group (m,), in standard deviations."""
    highest = np.zeros(int(labels.max()) + 1)
    if width is not None:
        return highest + width
    np.maximum.at(highest, labels, distances)
    lowest = max(LEAST_WIDTH, min(MOST_WIDTH, ENOUGH * step))
    return np.asarray(np.maximum(lowest, highest / 2))
