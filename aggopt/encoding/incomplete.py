"""Records with missing values as coordinates: nan for a missing value."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.types import F64, I64, Bool
from aggopt.encoding._categories import Categories
from aggopt.encoding.attribute_type import AttributeType
from aggopt.encoding.encode_table import encode
from aggopt.encoding.encoded_table import Encoded, EncodedAttribute, join_attributes


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
    -1.  Partitioners take the records only after `select_rows` has removed these
    coordinates, or `filled` has replaced them.

    Raises
    ------
    TableError, JobError
        As `encode`.
    """
    made = []
    parts = []
    for name, holes in zip(frame.columns, absent.T, strict=True):
        rows = np.flatnonzero(~holes)
        types = {name: attributes[name]} if name in attributes else {}
        part = frame.select(name)[rows].to_native()
        known_weights = None
        if sampling is not None:
            known_weights = sampling[rows]
        encoded = encode(part, types, weights=weights, sampling_weights=known_weights)
        (attribute,) = encoded.attributes
        made.append(_spread_attribute(attribute, rows, len(frame)))
        parts.append(
            _place_rows(encoded.coordinates[:, attribute.columns], rows, len(frame))
        )
    return join_attributes(made, parts)


def select_rows(incomplete: Encoded, rows: I64, selected: Bool) -> Encoded:
    """Return some records, restricted to `selected` attributes (d,), which all have."""
    part = incomplete.only(np.flatnonzero(selected).tolist())
    return replace(part, coordinates=part.coordinates[rows])


def fill_coordinates(incomplete: Encoded, by: F64) -> Encoded:
    """Return coordinates with missing ones replaced by others, (n, p) or (p,)."""
    coordinates = incomplete.coordinates
    return replace(
        incomplete, coordinates=np.where(np.isnan(coordinates), by, coordinates)
    )


def _spread_attribute(
    attribute: EncodedAttribute, rows: I64, n: int
) -> EncodedAttribute:
    numbers = attribute.numbers
    categories = attribute.categories
    if numbers is not None:
        numbers = replace(numbers, values=_place_rows(numbers.values, rows, n))
        return replace(attribute, numbers=numbers)
    if categories is None:
        return attribute
    codes = np.full(n, -1)
    codes[rows] = categories.codes
    return replace(attribute, categories=Categories(categories.domain, codes))


def _place_rows(values: F64, rows: I64, n: int) -> F64:
    """Return values (rows, ...) at these rows of n; nan elsewhere."""
    spread_values = np.full((n, *values.shape[1:]), np.nan)
    spread_values[rows] = values
    return spread_values


def impute_means(incomplete: Encoded) -> Encoded:
    """Return coordinates with missing values replaced by the attribute's mean."""
    found = incomplete.coordinates
    count = (~np.isnan(found)).sum(axis=0)
    return fill_coordinates(incomplete, np.nansum(found, axis=0) / np.maximum(count, 1))
