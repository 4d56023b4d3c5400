"""Risk that a record is singled out in the release alone."""

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import plural
from aggopt.core.validation import Floats, Labels, check_matrix
from aggopt.measure._pair import LinkedGroups, Pair
from aggopt.measure.registry import Comparison, Heading, Measure


def record_risk(released: npt.ArrayLike) -> Floats:
    """Return the re-identification risk of each record, (n,), fractions in (0, 1].

    1 / size of the record's group; records are in one group when they are equal in
    all attributes.  An intruder who knows that a person is in the table, and their
    group, picks one of its records.  The risk is the chance that it is the right one
    (the prosecutor's risk).  Lower is better.  Equal means exactly equal: values that
    differ in the last digit split a group.

    Raises
    ------
    TableError
        Not a matrix of finite numbers.

    Source: El Emam and Dankar (2008); sdcMicro and ARX report it, too.

    Examples
    --------
    >>> record_risk([[1.0], [1.0], [5.0], [1.0]]).round(3).tolist()
    [0.333, 0.333, 1.0, 0.333]
    """
    return 1 / _count_sizes(check_matrix(released, name="released"))[1]


def highest_risk(released: npt.ArrayLike) -> float:
    """Return the highest re-identification risk of a record, a fraction in (0, 1].

    1 / size of the smallest group, groups as in `record_risk`: at most 1 / k if k
    records share every combination, 1 if a record is alone.  Lower is better.

    Raises
    ------
    TableError
        Not a matrix of finite numbers.

    Source: El Emam and Dankar (2008); ARX calls it the highest prosecutor risk.

    Examples
    --------
    >>> highest_risk([[1.0], [1.0], [5.0], [5.0], [5.0]])
    0.5
    """
    return find_highest_risk(group_sizes(check_matrix(released, name="released")))


def average_risk(released: npt.ArrayLike) -> float:
    """Return the average re-identification risk of the records, a fraction in (0, 1].

    The mean of `record_risk` over all records, which is groups / records; at least
    1 / n, and 1 if no two records are equal.  Lower is better.  No linkage of the
    released records, whatever its basis, is right for a larger share of them in
    expectation: the records of a group cannot be distinguished.

    Raises
    ------
    TableError
        Not a matrix of finite numbers.

    Source: El Emam and Dankar (2008); ARX calls it the average prosecutor risk.

    Examples
    --------
    >>> average_risk([[1.0], [1.0], [5.0], [5.0], [5.0]])
    0.4
    """
    return average_of(group_sizes(check_matrix(released, name="released")))


def reidentifications(released: npt.ArrayLike) -> int:
    """Return the expected number of records that an intruder re-identifies, 1 to n.

    The sum of `record_risk` over all records, which is the number of groups.  Lower is
    better.

    Raises
    ------
    TableError
        Not a matrix of finite numbers.

    Source: Templ, Kowarik and Meindl (2015): sdcMicro's expected number of
    re-identifications.

    Examples
    --------
    >>> reidentifications([[1.0], [1.0], [5.0], [5.0], [5.0]])
    2
    """
    return len(group_sizes(check_matrix(released, name="released")))


def group_sizes(released: Floats) -> Labels:
    """Return the sizes (m,) of the groups of records (n, d) that are equal."""
    return _count_sizes(released)[0]


def compute_group_sizes(pair: Pair) -> Labels:
    """Return the sizes of groups of a pair: all attributes, in the released units.

    Records of a group share the columns that an attacker knows.
    """
    return LinkedGroups.of(pair.published, pair.attacker).sizes


def find_highest_risk(sizes: Labels) -> float:
    """Return `highest_risk` of groups of these sizes."""
    return float(1 / sizes.min())


def average_of(sizes: Labels) -> float:
    """Return `average_risk` of groups of these sizes."""
    return float(len(sizes) / sizes.sum())


def _count_sizes(released: Floats) -> tuple[Labels, Labels]:
    """Return the size of each group (m,), and of each record's own group (n,)."""
    distinct = np.unique(released, axis=0, return_inverse=True, return_counts=True)
    _, group, sizes = distinct
    return sizes, sizes[group.ravel()]


def _get_groups(tables: Comparison) -> Labels:
    """Return the sizes of the groups of equal released records."""
    return compute_group_sizes(tables.pair)


_PROSECUTOR = "El Emam and Dankar (2008)"

HIGHEST = Measure(
    name="highest_risk",
    when="how likely the record most at risk is re-identified",
    rank=10,
    function=highest_risk,
    range="0..1",
    better="lower",
    source=_PROSECUTOR,
    needs="released",
    of=lambda tables: find_highest_risk(tables.once(_get_groups)),
    heading=Heading.RISK,
    label="highest risk",
    says=lambda result: "1 / smallest group",
)

AVERAGE = Measure(
    name="average_risk",
    when="how likely a record is re-identified; no linkage does better on average",
    rank=20,
    function=average_risk,
    range="0..1",
    better="lower",
    source=_PROSECUTOR,
    needs="released",
    of=lambda tables: average_of(tables.once(_get_groups)),
    heading=Heading.RISK,
    label="average risk",
    says=lambda result: f"{plural(result.reidentifications, 'group')} / records",
)

EXPECTED = Measure(
    name="reidentifications",
    when="how many records are re-identified in expectation",
    rank=30,
    function=reidentifications,
    range="1..n",
    better="lower",
    source="Templ, Kowarik and Meindl (2015)",
    needs="released",
    of=lambda tables: len(tables.once(_get_groups)),
    heading=Heading.RISK,
    label="re-identified",
    says=lambda result: "records expected: sum of 1 / group size",
    percent=False,
)

OF_EACH = Measure(
    name="record_risk",
    when="which records are most at risk",
    rank=40,
    function=record_risk,
    range="0..1",
    better="lower",
    source=_PROSECUTOR,
    needs="released",
)
