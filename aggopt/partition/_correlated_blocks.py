"""Blocks of correlated attributes."""

import numpy as np
import numpy.typing as npt

from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, Labels, is_number
from aggopt.errors import JobError
from aggopt.partition.shared.scaling import read_columns

SLACK = 1e-12  # of a correlation: exact multiples do not always have |r| = 1.0


def correlated_blocks(X: npt.ArrayLike, least: float) -> list[list[int]]:
    """Return blocks (lists of columns) whose attributes correlate pairwise.

    Any two attributes of a block have |r| >= `least`, r Pearson's correlation
    (complete-linkage clustering on 1 - |r|; to 1e-12).  A constant attribute has no
    correlation and forms its own block.

    Parameters
    ----------
    X : (n, d)
        Records: numbers, none missing.
    least
        From 0 (all varying attributes in one block) to 1 (exact multiples only).

    Returns
    -------
    list of lists of ints
        Column positions, for `in_blocks`: ascending within a block, the blocks by
        their first.

    Raises
    ------
    TableError, JobError
        X is not a matrix of finite numbers; `least` is not a number in [0, 1].

    Notes
    -----
    More than one block gives up k-anonymity on the combination of all attributes:
    see `in_blocks`.

    Source: Nin, Herranz and Torra, How to group attributes in multivariate
    microaggregation, IJUFKS 16(1), 2008: they compare correlated attributes in one
    block (less loss) with correlated attributes over blocks (less risk).  They form
    blocks of equal size; clustering by complete linkage is this package's choice.

    Examples
    --------
    >>> X = [[1.0, 5.0, -1.0], [2.0, 1.0, -2.1], [3.0, 4.0, -2.9], [4.0, 2.0, -4.0]]
    >>> correlated_blocks(X, 0.9)
    [[0, 2], [1]]
    """
    records = read_columns(X)
    if not (is_number(least) and 0 <= least <= 1):
        raise JobError(f"least = {least!r}.", fix="pass a number from 0 to 1.")
    scale = Scale.of(records)
    varying = np.flatnonzero(~scale.constant)
    Z = scale.standardise(records)[:, varying]
    cluster = _cluster_attributes(np.abs(Z.T @ Z) / len(Z), 1.0 - least + SLACK)
    blocks = [varying[cluster == c].tolist() for c in np.unique(cluster)]
    alone = [[j] for j in np.flatnonzero(scale.constant).tolist()]
    return sorted(blocks + alone)


def _cluster_attributes(r: Floats, farthest: float) -> Labels:
    """Return the block number of each attribute (d,), from |correlations| r (d, d)."""
    if len(r) < 2:
        return np.zeros(len(r), dtype=np.intp)
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import

    apart = np.maximum(1.0 - r[np.triu_indices(len(r), 1)], 0.0)
    tree = linkage(apart, method="complete")
    return np.asarray(fcluster(tree, farthest, criterion="distance"), dtype=np.intp)
