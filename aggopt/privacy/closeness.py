"""t-closeness: distance of a group's confidential distribution from the table's."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from aggopt.core.columns import map_attributes, read_labels
from aggopt.privacy.distance import Distance
from aggopt.privacy.metric import Metric


def t_closeness(
    groups: Any,
    confidential: Any,
    *,
    bins: str = "distinct",
    distance: str = "ordered",
    order: Sequence[Any] | None = None,
    tree: Any = None,
    missing: str = "refuse",
) -> float:
    """Return t: the largest earth mover's distance of a group from the table.

    Range 0 (each group has the table's distribution) to 1; less protects better.  An
    attribute that is constant in the table gives 0 and protects nothing; a UserWarning
    is issued.  The largest distance is found exactly, in whole numbers, and
    then rounded once.

    Parameters
    ----------
    groups
        Labels (n,), or the quasi-identifiers of a released table: records that are
        equal in all of them form a group (see `find_groups`).
    confidential
        Values (n,), or several attributes: a table, or an array (n, d).  Each is
        measured separately, and the worst counts.
    distance
        Between two values; never guessed from their type.  "ordered": difference of
        ranks among the distinct values, over their number less one.  "equal": 1 between
        any two different values; the distance of a group is then half the sum of
        differences of frequencies.  "hierarchical": the height of the lowest common
        ancestor in `tree`, over the tree's.
    bins
        Of the ordered distance.  "distinct" certifies t.  "rank" gives each record a
        separate rank, equal values in the order of the records, as published
        experiments do.
    order
        The values from lowest to highest, a list, array or series, for values that
        are not numbers; values that the table lacks take no rank.
    tree
        {"lung": ["asthma", "flu"], ...}, nested as deep as needed, or a map from each
        value to its parent.
    missing
        "refuse", or "own value": missing counts as one more value, directly below the
        root of a tree; an order cannot contain it.

    Raises
    ------
    TableError
        The numbers of records differ, values are missing or in neither order nor tree,
        or the distance is ordered and the values are not.
    JobError
        An unknown name, or an argument that another one makes meaningless.

    Source: Li, Li and Venkatasubramanian, t-closeness: privacy beyond k-anonymity and
    l-diversity, ICDE 2007; bins by rank: Soria-Comas, Domingo-Ferrer, Sanchez and
    Martinez, t-closeness through microaggregation, IEEE TKDE 27(11), 2015.

    Examples
    --------
    >>> t_closeness([0, 0, 1, 1], [10, 20, 30, 40])
    0.3333333333333333
    >>> t_closeness([0, 1, 0, 1], [10, 20, 30, 40])
    0.16666666666666666
    """
    labels = read_labels(groups)
    metric = Metric(distance, bins, order, tree, missing)
    attributes = map_attributes(confidential, len(labels), missing, metric.of)
    warn_of_constant(attributes)
    return max(float(distance.largest(labels)) for _, distance in attributes)


def warn_of_constant(
    attributes: Sequence[tuple[str, Distance]], *, stacklevel: int = 3
) -> None:
    """Warn of attributes with one value: their t = 0 has no meaning."""
    constant = [name for name, distance in attributes if distance.unit == 0]
    if not constant:
        return
    names = ", ".join(filter(None, constant)) or "The confidential attribute"
    warnings.warn(
        f"{names}: one value only, so that every group is at distance 0 and the value "
        "of each person is known.",
        stacklevel=stacklevel,
    )


@contextmanager
def suppress_constant_warnings() -> Iterator[None]:
    """Suppress the warning of a constant attribute: the audit reports it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*one value only", UserWarning)
        yield
