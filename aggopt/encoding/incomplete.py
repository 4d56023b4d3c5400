"""Records with missing values as coordinates: nan for a missing value."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.types import F64, I64, Bool
from aggopt.encoding._categories import Categories
from aggopt.encoding._encode import encode
from aggopt.encoding.attribute_type import AttributeType
from aggopt.encoding.encoded_table import Encoded, EncodedAttribute, joined


def encode_observed(
    frame: nw.DataFrame[Any],
    absent: Bool,
    attributes: Mapping[str, AttributeType],
    weights: str,
    sampling: F64 | None = None,
) -> Encoded:
    """Return the encoding of the values that are not `absent` (n, d).

    Scale and weight of an attribute are computed once, from its values of all records,
    with `sampling` weights (n,) if given.  Absent values have coordinates nan and code
    -1.  Partitioners take the records only after `in_rows` has removed these
    coordinates, or `filled` has replaced them.

    Raises
    ------
    TableError, JobError
        As `encode`.
    """
    made, parts = [], []
    for name, holes in zip(frame.columns, absent.T, strict=True):
        rows = np.flatnonzero(~holes)
        types = {name: attributes[name]} if name in attributes else {}
        part, known = frame.select(name)[rows].to_native(), None
        if sampling is not None:
            known = sampling[rows]
        own = encode(part, types, weights=weights, sampling_weights=known)
        (attribute,) = own.attributes
        made.append(_spread(attribute, rows, len(frame)))
        parts.append(_at(own.coordinates[:, attribute.columns], rows, len(frame)))
    return joined(made, parts)


def in_rows(incomplete: Encoded, rows: I64, held: Bool) -> Encoded:
    """Return some records, restricted to `held` attributes (d,), which all have."""
    part = incomplete.only(np.flatnonzero(held).tolist())
    return replace(part, coordinates=part.coordinates[rows])


def filled(incomplete: Encoded, by: F64) -> Encoded:
    """Return coordinates with missing ones replaced by others, (n, p) or (p,)."""
    found = incomplete.coordinates
    return replace(incomplete, coordinates=np.where(np.isnan(found), by, found))


def _spread(attribute: EncodedAttribute, rows: I64, n: int) -> EncodedAttribute:
    numbers, categories = attribute.numbers, attribute.categories
    if numbers is not None:
        numbers = replace(numbers, values=_at(numbers.values, rows, n))
        return replace(attribute, numbers=numbers)
    if categories is None:
        return attribute
    codes = np.full(n, -1)
    codes[rows] = categories.codes
    return replace(attribute, categories=Categories(categories.domain, codes))


def _at(values: F64, rows: I64, n: int) -> F64:
    """Return values (rows, ...) at these rows of n; nan elsewhere."""
    found = np.full((n, *values.shape[1:]), np.nan)
    found[rows] = values
    return found
