"""Loss of true statements: how much of the values generalised ones give up."""

from typing import Any

import numpy as np

from aggopt.core.types import F64
from aggopt.encoding.generalisation import compute_published_losses
from aggopt.encoding.spans import compute_span_losses
from aggopt.measure._typed_pair import AttributePair, TypedPair, Types
from aggopt.measure.registry import Heading, TypedMeasure


def generalised_loss(
    original: Any, released: Any, attributes: Types = None
) -> float | None:
    """Return the mean loss of true statements, 0..1; None without such attributes.

    The mean over records, and over attributes that publish statements, by `publish` or
    `cuts` of their types.  An unchanged value loses 0 and a suppressed one 1; between
    them it is the share of leaves or of the height of a tree, or the width of a range
    or interval over the widest one.  A statement that is not true of its record loses
    1.  Lower is better.

    Source: Iyengar (2002); Xu et al. (2006).

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 30, 60, 70]})
    >>> released = pd.DataFrame({"age": ["[20, 30]", "[20, 30]", "60", "70"]})
    >>> generalised_loss(people, released, {"age": {"publish": "range"}})
    0.1
    """
    return _compute_mean(TypedPair.of(original, released, attributes))


def _compute_mean(pair: TypedPair) -> float | None:
    """Return the mean over attributes with statements, by weight if any."""
    losses = [
        np.average(_compute_losses(attribute), weights=pair.weights)
        for attribute in pair.attributes
        if attribute.of.rule.is_truthful
    ]
    return float(np.mean(losses)) if losses else None


def _compute_losses(pair: AttributePair) -> F64:
    """Return the loss of each record (n,)."""
    if pair.ends is None or pair.of.spans is None:
        return compute_published_losses(pair.of, pair.released)
    return compute_span_losses(pair.of.spans, pair.original, *pair.ends)


GENERALISED_LOSS = TypedMeasure(
    name="generalised_loss",
    when="what ranges, nodes and suppressed values give up; all suppressed: 100 %",
    rank=160,
    function=generalised_loss,
    range="0..1",
    better="lower",
    source="Iyengar (2002)",
    heading=Heading.LOSS,
    label="generalised",
    of_table=lambda tables: _compute_mean(tables.typed_weighed),
    optional=True,
)
