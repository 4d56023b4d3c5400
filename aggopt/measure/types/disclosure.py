"""Interval disclosure: records disclosed to within an interval, and by chance."""

from typing import Any

import numpy as np

from aggopt.core.types import Bool
from aggopt.measure._interval import check_safety, compute_chance_within, is_within
from aggopt.measure._pair import Pair
from aggopt.measure._typed_pair import AttributePair, TypedPair, Types
from aggopt.measure.registry import Heading, TypedMeasure


def sdid(
    original: Any,
    released: Any,
    attributes: Types = None,
    *,
    safety: float = 0.05,
) -> dict[str, float]:
    """Return the share of records that are disclosed, by attribute, 0..1.

    Of numbers as `aggopt.measure.sdid`: |x - x'| <= safety S, S with divisor n - 1.  Of
    other attributes the distance of x and x' is at most `safety` times the largest of
    two levels: of an order so much of its range, of names that they are equal.  Lower
    is better.

    Raises
    ------
    JobError
        safety is not a number, not finite or negative.

    Source: Domingo-Ferrer and Torra (2001), of numbers; of others this package.

    Examples
    --------
    >>> import pandas as pd
    >>> school = pd.DataFrame({"school": ["low", "middle", "high"]})
    >>> released = pd.DataFrame({"school": ["middle", "middle", "low"]})
    >>> types = {"school": {"order": ["low", "middle", "high"]}}
    >>> sdid(school, released, types, safety=0.5)
    {'school': 0.6666666666666666}
    """
    width = check_safety(safety)
    return TypedPair.of(original, released, attributes, width).by_attribute(
        compute_disclosed
    )


def sdid_chance(
    original: Any,
    released: Any,
    attributes: Types = None,
    *,
    safety: float = 0.05,
    known: Any = None,
) -> dict[str, float]:
    """Return the chance level of `sdid`, by attribute, 0..1.

    Its mean when released values are permuted among the records: the share of all pairs
    of an original and a released record within the interval.  `known` is as in
    `aggopt.measure.sdid_chance`.  Neither lower nor higher is better.

    Raises
    ------
    JobError
        safety is not a number, not finite or negative.

    Source: this package, for SDID.

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> sdid_chance(sex, pd.DataFrame({"sex": released}))
    {'sex': 0.5}
    """
    width = check_safety(safety)
    pair = TypedPair.of(original, released, attributes, width, known=known)
    return pair.by_attribute(compute_disclosed_by_chance)


def compute_disclosed(pair: AttributePair) -> float:
    """Return `sdid` of an attribute."""
    if pair.of.numbers is None:
        return float(_find_near(pair)[pair.original, pair.released].mean())
    if pair.of.numbers.constant:
        return float(pair.unchanged.mean())
    column = Pair.of(pair.original[:, None], pair.released[:, None])
    width = pair.safety * column.sample_deviation
    return float(is_within(np.abs(column.difference), width).mean())


def compute_disclosed_by_chance(pair: AttributePair) -> float:
    """Return `sdid_chance` of an attribute."""
    if pair.of.numbers is None:
        near = _find_near(pair)
        linked = pair.known
        if linked is None:
            before = np.bincount(pair.original, minlength=len(near))
            after = np.bincount(pair.released, minlength=len(near))
            return float(before @ near @ after / pair.n**2)
        from scipy.sparse import csr_matrix

        sizes = np.bincount(linked)
        one = np.ones(pair.n)
        shape = len(sizes), len(near)
        before = csr_matrix((1 / sizes[linked], (linked, pair.original)), shape)
        after = csr_matrix((one, (linked, pair.released)), shape)
        return float((before @ csr_matrix(near)).multiply(after).sum() / pair.n)
    if pair.of.numbers.constant:
        return float(pair.unchanged.mean())
    column = Pair.of(pair.original[:, None], pair.released[:, None])
    width = pair.safety * column.sample_deviation
    x = column.original[:, 0]
    y = column.released[:, 0]
    return compute_chance_within(x, y, width, pair.known)


def _find_near(pair: AttributePair) -> Bool:
    """Whether two nodes are within the interval about each other (nodes, nodes)."""
    domain = pair.of.domain
    return is_within(domain.steps, pair.safety * domain.widest)


SDID = TypedMeasure(
    name="sdid",
    when="how many values are released nearly as they are",
    rank=60,
    function=sdid,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2001)",
    heading=Heading.RISK,
    label="SDID",
    by_attribute=compute_disclosed,
)

CHANCE = TypedMeasure(
    name="sdid_chance",
    when="what SDID is compared with: its value by chance",
    rank=65,
    function=sdid_chance,
    range="0..1",
    better="-",
    source="this package, for SDID",
    heading=Heading.RISK,
    label="by chance",
    by_attribute=compute_disclosed_by_chance,
)
