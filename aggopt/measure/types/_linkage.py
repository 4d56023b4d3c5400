"""Linkage by an intruder with the original records, for attributes of any types."""

from typing import Any

from aggopt.measure._dld import DLD as OF_NUMBERS
from aggopt.measure._dld import compute_dld
from aggopt.measure._linkage import (
    WHOLE,
    Linkage,
    check_whole,
    compute_linkage,
    get_linkage,
)
from aggopt.measure._typed_pair import TypedPair, Types
from aggopt.measure.registry import TypedMeasure


def dld(
    original: Any,
    released: Any,
    attributes: Types = None,
    *,
    known: Any = None,
    units: Any = None,
) -> float:
    """Return the distance linkage disclosure in the coordinates of the types, 0..1.

    As `aggopt.measure.dld`: each original record is linked to the nearest released one.
    Inner nodes of a tree have coordinates, too.  Several nearest records are the rule
    among levels; each of them is equally likely.  `known` and `units` are as in that
    function.  Lower is better.

    Source: Domingo-Ferrer and Torra (2001); of mixed types Domingo-Ferrer and Torra
    (2005).

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("fmmm")
    >>> round(dld(sex, pd.DataFrame({"sex": released})), 6)
    0.416667
    """
    pair = TypedPair.of(original, released, attributes, known=known, units=units)
    return compute_dld(pair.embedded)


def linkage(
    original: Any,
    released: Any,
    attributes: Types = None,
    *,
    whole: int = WHOLE,
    known: Any = None,
    units: Any = None,
) -> Linkage:
    """Return the linkage by optimal one-to-one assignment in these coordinates, 0..1.

    As `aggopt.measure.linkage`, with the distances of the types.  `whole`, `known` and
    `units` are as in that function.  Lower is better.

    Raises
    ------
    JobError
        whole is not a whole number of at least 1.

    Source: Herranz, Nin, Rodriguez and Tassa (2015).

    Examples
    --------
    >>> import pandas as pd
    >>> sex, released = pd.DataFrame({"sex": list("ffmm")}), list("ffmm")
    >>> linkage(sex, pd.DataFrame({"sex": released}))
    Linkage(share=0.5, limit=0.5, blocks=1)
    """
    largest = check_whole(whole)
    pair = TypedPair.of(original, released, attributes, known=known, units=units)
    return compute_linkage(pair.embedded, largest)


DLD = TypedMeasure(
    name="dld",
    when="records linked to the nearest",
    rank=120,
    function=dld,
    range="0..1",
    better="lower",
    source="Domingo-Ferrer and Torra (2005)",
    label="DLD",
    of_table=lambda tables: tables.figure(OF_NUMBERS),
)

LINKAGE = TypedMeasure(
    name="linkage",
    when="records linked by a one-to-one assignment",
    rank=110,
    function=linkage,
    range="0..1",
    better="lower",
    source="Herranz, Nin, Rodriguez and Tassa (2015)",
    label="linkage",
    of_table=lambda tables: tables.once(get_linkage).share,
)
