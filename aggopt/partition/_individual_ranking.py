"""Individual ranking: each attribute grouped by itself, and optimally."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Labels, matrix
from aggopt.errors import naming
from aggopt.partition._univariate.univariate import univariate


def individual_ranking(
    X: npt.ArrayLike,
    k: int,
    *,
    cost: str = "sse",
    centroids: str = "any",
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Labels:
    """Return labels (n, d): each attribute in its own optimal groups of at least k.

    Parameters
    ----------
    X : (n, d)
        Attributes in their own units: numbers, none missing.
    k, cost, centroids, solver, time_limit, options
        As in `univariate`, for each attribute.

    Returns
    -------
    (n, d) ints
        Group of each record in each attribute: column j numbers the groups of
        attribute j, 0..m_j - 1.  The functions of `aggopt.aggregate` take it.

    Raises
    ------
    TableError, JobError, InfeasibleInputError, SolverError
        As `univariate`.

    Notes
    -----
    Least loss of all ways to microaggregate, because no attribute makes way for
    another; and least protection.  At least k records share each published value of
    one attribute, but their combinations are usually as unique as the originals: the
    release is NOT k-anonymous.  Who knows a person's values links the record nearly
    always (`aggopt.measure.assess`: DLD near 1), and each published value lies next
    to the original (SDID).  Publish such a table only where the combination of these
    attributes is known to nobody.

    Source: Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 14(1), 2002; Hansen and Mukherjee,
    IEEE TKDE 15(4), 2003, for the optimal groups.

    Examples
    --------
    >>> individual_ranking([[1, 9], [2, 1], [8, 2], [9, 8]], k=2)
    array([[0, 1],
           [0, 0],
           [1, 0],
           [1, 1]])
    """
    records = matrix(X)
    labels = np.empty(records.shape, dtype=np.intp)
    for j, x in enumerate(records.T):
        with naming(f"Column {j}"):
            labels[:, j] = univariate(
                x,
                k,
                cost=cost,
                centroids=centroids,
                solver=solver,
                time_limit=time_limit,
                options=options,
            )
    return labels
