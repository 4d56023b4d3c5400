"""Number of records that share their published values."""

from typing import Any

import numpy as np

from aggopt.core.columns import read_labels


def k_anonymity(groups: Any) -> int:
    """Return k: each group has at least k records.  Range 1 to n; more is better.

    Parameters
    ----------
    groups
        Labels (n,), or the quasi-identifiers of a released table: records that are
        equal in all of them form a group (see `find_groups`).

    Raises
    ------
    JobError, TableError
        The groups are empty, or labels skip a number.

    Source: Samarati, Protecting respondents' identities in microdata release, IEEE
    TKDE 13(6), 2001; Sweeney, k-anonymity: a model for protecting privacy, IJUFKS
    10(5), 2002.

    Examples
    --------
    >>> k_anonymity([0, 0, 0, 1, 1])
    2
    """
    return int(np.bincount(read_labels(groups)).min())
