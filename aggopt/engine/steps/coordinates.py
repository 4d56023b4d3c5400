"""Records as coordinates, on the scale of all records, whichever are at hand."""

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import F64
from aggopt.core.validation import Floats
from aggopt.encoding import Categories, Encoded, EncodedAttribute
from aggopt.encoding.encoded_table import join_attributes
from aggopt.encoding.typed_column import NumericColumn
from aggopt.engine.state.run_state import RunState


def compute_coordinates(X: Floats, config: RunState, scale: Scale) -> Encoded:
    """Return coordinates of records X (n, d), including nodes, as `aggopt.encode` does.

    A missing value, nan, has coordinates that are nan.  `scale` is the scale of the
    numbers of all records.
    """
    Z = scale.standardise(X[:, config.places])
    made, parts = [], []
    for name, x in zip(config.job.roles.quasi_identifier, X.T, strict=True):
        if name in config.levels:
            attribute, part = _encode_category(name, x, config)
        else:
            j = config.numbers.index(name)
            constant = bool(scale.constant[j])
            attribute, part = _encode_number(name, x, Z[:, j], config, constant)
        made.append(attribute)
        parts.append(part)
    return join_attributes(made, parts)


def compute_block_coordinates(X: Floats, config: RunState, scale: Scale) -> F64:
    """Return coordinates (n, p) that blocks are cut by, means for missing values.

    `scale` is the scale of the numbers of all records.
    """
    records = compute_coordinates(X, config, scale)
    result = records.coordinates
    if not np.isnan(result).any():
        return result
    result = result.copy()
    for attribute in records.attributes:
        own = result[:, attribute.columns]  # a view
        is_category = attribute.name in config.levels
        middle = config.levels[attribute.name].middle if is_category else 0.0
        np.copyto(own, middle, where=np.isnan(own))
    return result


def _encode_category(
    name: str, x: Floats, config: RunState
) -> tuple[EncodedAttribute, F64]:
    levels, absent = config.levels[name], np.isnan(x)
    codes = np.where(absent, -1, x).astype(np.int64)
    categories = Categories(levels.domain, codes)
    attribute = EncodedAttribute(name, levels.kind, levels.weight, slice(0), categories)
    return attribute, np.where(absent[:, None], np.nan, levels.points[codes])


def _encode_number(
    name: str, x: Floats, z: Floats, config: RunState, constant: bool
) -> tuple[EncodedAttribute, F64]:
    weight = 0.0 if constant else get_attribute_weight(name, config)
    part = np.sqrt(weight) * z[:, None][:, : int(not constant)]
    numeric_column = NumericColumn(x)
    return EncodedAttribute(
        name, "numeric", weight, slice(0), numbers=numeric_column
    ), part


def get_attribute_weight(name: str, config: RunState) -> float:
    """Return the factor of the distances of an attribute, as the job sets it."""
    attributes = config.job.attributes
    return float(attributes[name].weight) if name in attributes else 1.0
