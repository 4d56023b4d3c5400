"""Secret margins: what keeps a published value from pointing at an original.

An optimum often lies exactly at the distance that some record asked for.  The distance
is a number that many know, and the standard deviation is published with the values: who
subtracts the one times the other has the original.  A margin that nobody knows, added
to the distance, leaves an interval in place of a value.
"""

import numpy as np
import numpy.typing as npt

from aggopt.aggregate._aggregation import column, scale_for
from aggopt.aggregate._wishes import Wish, spread
from aggopt.arrays import Floats, Labels, is_number, labellings, matrix, require_seed
from aggopt.errors import JobError
from aggopt.randomness import seeded, uniforms

LEAST_WIDTH = 0.1  # standard deviations: wider than what SDID counts as disclosed
LEAST = 1e-5  # a margin: a value rounded to six digits still keeps the distance


def with_margins(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    delta: Wish = 0.1,
    *,
    width: float | None = None,
    seed: int | None = None,
) -> Floats:
    """Return distances to ask for (n, d): those of `delta`, each with a secret margin.

    All records of a group share a margin, so that demands which agree go on to agree,
    unless they ask for values on opposite sides of them.  Pass the result as `delta`
    to `p3m`, `p3m_onesided` or `satisfaction`; measure what was kept by `delta`
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
        largest of 0.1 and half the largest distance asked in the group.
    seed
        Makes the margins the same each time.  Who knows it knows them, and whoever
        has the values then finds originals: by default they come from 128 random bits
        that nobody keeps.

    Raises
    ------
    TableError, JobError
        An argument cannot be used.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]
    >>> asked = with_margins(X, [0, 0, 0, 1, 1, 1], delta=0.5)
    >>> bool((asked >= 0.5).all() and (asked <= 0.75).all())
    True
    """
    records = matrix(X)
    label = labellings(labels, *records.shape)
    if seed is not None:
        require_seed(seed)
    asked = spread(delta, scale_for(records, label).standardise(records), "delta")
    return asked + margins(label, asked, width, seeded(seed))


def margins(labels: Labels, asked: Floats, width: float | None, secret: str) -> Floats:
    """Return the margins (n, d) of distances asked (n, d), for each group alike.

    Raises
    ------
    JobError
        The width is no number of 0 or more.
    """
    if width is not None and not (is_number(width) and 0 <= width < np.inf):
        raise JobError(
            f"The width of margins is {width!r}.",
            fix="pass a number of 0 or more, in standard deviations, or leave it out.",
        )
    added = [
        _of_attribute(column(labels, j), asked[:, j], width, secret, j)
        for j in range(asked.shape[1])
    ]
    return np.stack(added, axis=1)


def _of_attribute(
    labels: Labels, asked: Floats, width: float | None, secret: str, j: int
) -> Floats:
    if width == 0:
        return np.zeros(len(asked))
    most = np.zeros(int(labels.max()) + 1)
    np.maximum.at(most, labels, asked)
    wide = np.maximum(LEAST_WIDTH, most / 2) if width is None else np.float64(width)
    share = uniforms(secret, f"margins of attribute {j}", len(most))
    return np.asarray(np.maximum(share * wide, np.minimum(LEAST, wide))[labels])
