"""Records as coordinates, on the scale of all records, whichever are at hand."""

import numpy as np

from aggopt.core.standardise import Scale
from aggopt.core.types import F64
from aggopt.core.validation import Floats
from aggopt.encoding import Categories, Encoded, EncodedAttribute
from aggopt.encoding.encoded_table import join_attributes
from aggopt.encoding.typed_column import NumericColumn
from aggopt.engine.state.run_state import RunState


def coordinates(X: Floats, config: RunState, scale: Scale) -> Encoded:
    """Return coordinates of records X (n, d), including nodes, as `aggopt.encode` does.

    A missing value, nan, has coordinates that are nan.  `scale` is the scale of the
    numbers of all records.
    """
    Z = scale.standardise(X[:, config.places])
    made, parts = [], []
    for name, x in zip(config.job.roles.quasi_identifier, X.T, strict=True):
        if name in config.levels:
            attribute, part = _category(name, x, config)
        else:
            j = config.numbers.index(name)
            constant = bool(scale.constant[j])
            attribute, part = _number(name, x, Z[:, j], config, constant)
        made.append(attribute)
        parts.append(part)
    return join_attributes(made, parts)


def block_coordinates(X: Floats, config: RunState, scale: Scale) -> F64:
    """Return coordinates (n, p) that blocks are cut by, means for missing values.

    `scale` is the scale of the numbers of all records.
    """
    records = coordinates(X, config, scale)
    found = records.coordinates
    if not np.isnan(found).any():
        return found
    found = found.copy()
    for attribute in records.attributes:
        own = found[:, attribute.columns]  # a view
        named = attribute.name in config.levels
        middle = config.levels[attribute.name].middle if named else 0.0
        np.copyto(own, middle, where=np.isnan(own))
    return found


def _category(name: str, x: Floats, config: RunState) -> tuple[EncodedAttribute, F64]:
    levels, absent = config.levels[name], np.isnan(x)
    codes = np.where(absent, -1, x).astype(np.int64)
    found = Categories(levels.domain, codes)
    attribute = EncodedAttribute(name, levels.kind, levels.weight, slice(0), found)
    return attribute, np.where(absent[:, None], np.nan, levels.points[codes])


def _number(
    name: str, x: Floats, z: Floats, config: RunState, constant: bool
) -> tuple[EncodedAttribute, F64]:
    weight = 0.0 if constant else attribute_weight(name, config)
    part = np.sqrt(weight) * z[:, None][:, : int(not constant)]
    own = NumericColumn(x)
    return EncodedAttribute(name, "numeric", weight, slice(0), numbers=own), part


def attribute_weight(name: str, config: RunState) -> float:
    """Return the factor by which the job multiplies distances of an attribute."""
    given = config.job.attributes
    return float(given[name].weight) if name in given else 1.0
