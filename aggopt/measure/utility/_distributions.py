"""Distances between the distributions of released and original numbers."""

from typing import Any

from aggopt.errors import TableError
from aggopt.measure.utility._frames import (
    get_numbers,
    is_numeric,
    list_names,
    read_frames,
)

COARSE = 20  # values: of fewer, a mean between two of them moves KS by their share


def wasserstein(original: Any, released: Any) -> dict[str, float]:
    """Return the Wasserstein distance of each number, by name; lower is better.

    The area between the two distribution functions, in the original's standard
    deviations; 0 or more.  Constant attributes and missing values are left out.

    Raises
    ------
    TableError
        Not tables with equal columns, or a number is missing in every record.

    Source: Vallender (1974) for the formula.

    Examples
    --------
    >>> import numpy as np
    >>> wasserstein(np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]]))
    {'0': 1.0}
    """
    from scipy.stats import wasserstein_distance

    return {
        name: float(wasserstein_distance(x, y) / x.std())
        for name, (x, y) in _iter_varying(original, released).items()
    }


def ks(original: Any, released: Any) -> dict[str, float | None]:
    """Return the Kolmogorov-Smirnov distance of each number; lower is better.

    The largest distance of the two distribution functions, 0 to 1, by name.  None for
    attributes with 20 values or fewer in the original, for which it is meaningless: a
    two-valued one whose means are published is far off however little they differ.

    Raises
    ------
    TableError
        As `wasserstein`.

    Source: Kolmogorov (1933); Smirnov (1948).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40.0)[:, None]
    >>> ks(x, x), ks(x % 2, x % 2)
    ({'0': 0.0}, {'0': None})
    """
    from scipy.stats import ks_2samp

    return {
        name: float(ks_2samp(x, y).statistic) if len(set(x.tolist())) > COARSE else None
        for name, (x, y) in _iter_varying(original, released).items()
    }


def _iter_varying(original: Any, released: Any) -> dict[str, tuple[Any, Any]]:
    """Return the original and released values of each number that varies."""
    one, other = read_frames(original, released)
    numbers_by_name = {
        name: (get_numbers(one, name), get_numbers(other, name))
        for name in list_names(one)
        if is_numeric(one, name)
    }
    empty = [name for name, pair in numbers_by_name.items() if not all(map(len, pair))]
    if empty:
        raise TableError(
            f"Missing in every record: {', '.join(map(repr, empty))}.",
            fix="leave them out.",
        )
    return {n: (x, y) for n, (x, y) in numbers_by_name.items() if (x != x[0]).any()}
