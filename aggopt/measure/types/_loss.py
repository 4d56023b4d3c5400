"""Distances of released values from the records, in the coordinates of their types."""

from typing import Any

from aggopt.measure._loss import IL as OF_NUMBERS
from aggopt.measure._loss import compute_il, compute_paired_sse
from aggopt.measure._typed_pair import AttributePair, TypedPair, Types
from aggopt.measure.registry import Heading, TypedComparison, TypedMeasure


def il(original: Any, released: Any, attributes: Types = None) -> dict[str, float]:
    """Return the information loss of released values, by attribute, 0 or more.

    SSE / SST: the squared distances of records from their released values, over the sum
    of squares of the original.  For numbers that is `aggopt.measure.il`; 1 is the loss
    of their mean.  For other attributes it is the mean distance of records from their
    released values, over half that of two records.  It is at most 2 if each group
    releases the level nearest to all.  0 if no record differs.  Lower is better.

    Source: Domingo-Ferrer and Torra (2001); of other types this package.

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> round(il(sex, pd.DataFrame({"sex": released}))["sex"], 9)
    1.0
    """
    return TypedPair.of(original, released, attributes).by_attribute(_compute_il)


def within(original: Any, released: Any, attributes: Types = None) -> dict[str, float]:
    """Return the information loss of groups, whatever they release, by attribute, 0..1.

    The share of the original's sum of squares that is within groups.  A group has the
    records that are released alike in all attributes.  The share is 1 - eta squared for
    numbers, 1 - Goodman and Kruskal's tau for names, and the like for other types.  For
    group means it equals `il`.  For other attributes `il` is up to twice as large: a
    group releases a level in place of the mean of its coordinates.  If attributes are
    microaggregated in blocks, fewer records are alike in all of them.  This measure
    then underestimates the loss, and `il` does not.  0 if no record differs.  Lower is
    better.

    Source: Light and Margolin (1971).

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> round(within(sex, pd.DataFrame({"sex": released}))["sex"], 9)
    0.666666667
    """
    return TypedPair.of(original, released, attributes).by_attribute(
        _compute_within_share
    )


def embedded_il(original: Any, released: Any, attributes: Types = None) -> float:
    """Return `il` of all attributes together: SSE / SST, 0 or more.

    SSE and SST are sums over attributes, with their weights: with weights by variance
    it is the mean of `il` over the attributes that vary.  Lower is better.

    Source: Domingo-Ferrer and Torra (2001); of other types this package.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[0.0], [2.0], [4.0], [6.0]]), [[1.0], [1.0], [5.0], [5.0]]
    >>> round(embedded_il(X, np.array(Y)), 9)
    0.2
    """
    return compute_il(TypedPair.of(original, released, attributes).embedded)


def embedded_within(original: Any, released: Any, attributes: Types = None) -> float:
    """Return `within` of all attributes together, 0..1.

    The loss that partitions minimise, over the sum of squares of all records.  Lower is
    better.

    Source: Light and Margolin (1971).

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[0.0], [2.0], [4.0], [6.0]]), [[1.0], [1.0], [5.0], [5.0]]
    >>> round(embedded_within(X, np.array(Y)), 9)
    0.2
    """
    return _compute_embedded_within(TypedComparison.of(original, released, attributes))


def distance(original: Any, released: Any, attributes: Types = None) -> float:
    """Return the mean distance of records from their released values, 0 or more.

    The sum over attributes of weight times distance.  It is Gower's distance for a
    table encoded with weights = "range".  Lower is better.

    Source: Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> import pandas as pd
    >>> from aggopt import encode
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> E = encode(sex, weights="range")
    >>> round(distance(E, pd.DataFrame({"sex": released})), 9)
    0.25
    """
    return _compute_distance(TypedComparison.of(original, released, attributes))


def _compute_il(pair: AttributePair) -> float:
    return _compute_share(pair.loss, pair.total)


def _compute_within_share(pair: AttributePair) -> float:
    """Return the loss within groups over the total, of one attribute."""
    return _compute_share(pair.within, pair.total)


def _compute_embedded_within(tables: TypedComparison) -> float:
    """Return the loss within groups over the total, of all coordinates."""
    parts = [pair.within for pair in tables.typed_weighed.attributes]
    return _compute_share(sum(parts), tables.weighed.total)


def _compute_distance(tables: TypedComparison) -> float:
    """Return the mean squared distance of a record from its released values."""
    return compute_paired_sse(tables.weighed) / tables.pair.n


def _compute_share(part: float, total: float) -> float:
    return part / total if total else 0.0


_LOSS = "Domingo-Ferrer and Torra (2001)"

IL = TypedMeasure(
    name="il",
    when="how much is lost by what is released",
    rank=10,
    function=il,
    range="0..",
    better="lower",
    source=_LOSS,
    heading=Heading.LOSS,
    label="IL",
    by_attribute=_compute_il,
)

WITHIN = TypedMeasure(
    name="within",
    when="how much the groups lose, whatever they release",
    rank=20,
    function=within,
    range="0..1",
    better="lower",
    source="Light and Margolin (1971)",
    heading=Heading.LOSS,
    label="within",
    by_attribute=_compute_within_share,
)

EMBEDDED_IL = TypedMeasure(
    name="embedded_il",
    when="how much is lost by what is released, of all attributes",
    rank=130,
    function=embedded_il,
    range="0..",
    better="lower",
    source=_LOSS,
    label="IL",
    of_table=lambda tables: tables.figure(OF_NUMBERS),
)

EMBEDDED_WITHIN = TypedMeasure(
    name="embedded_within",
    when="how much the groups lose, of all attributes",
    rank=140,
    function=embedded_within,
    range="0..1",
    better="lower",
    source="Light and Margolin (1971)",
    heading=Heading.LOSS,
    label="within",
    of_table=_compute_embedded_within,
)

DISTANCE = TypedMeasure(
    name="distance",
    when="how far records are from what is released for them",
    rank=150,
    function=distance,
    range="0..",
    better="lower",
    source=_LOSS,
    heading=Heading.LOSS,
    label="distance",
    of_table=_compute_distance,
    percent=False,
)
