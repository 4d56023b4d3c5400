"""Tables with attributes of any type as coordinates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from aggopt.core.columns import OWN, REFUSE, describe_argument
from aggopt.core.frame import require_nonempty, to_frame
from aggopt.core.plural import plural
from aggopt.core.record_weights import check_weights as weights_of
from aggopt.core.record_weights import scale_to_mean_one
from aggopt.core.types import F64, I64, Bool
from aggopt.encoding.attribute_type import NUMERIC, AttributeType
from aggopt.encoding.domain import Domain, describe_odd_branches
from aggopt.encoding.encoded_table import Encoded, EncodedAttribute, join_attributes
from aggopt.encoding.levels import Categories, read_categories, require_few
from aggopt.encoding.typed_column import DEFAULT, NAME, NUMBER, RANKED, TypedColumn
from aggopt.errors import JobError, TableError, UnknownNameError, naming, require_known

WEIGHTS = ("variance", "range")
FEW = 20  # whole numbers with at most this count of values are perhaps codes


def encode(
    frame: Any,
    attributes: Mapping[str, Any] | None = None,
    *,
    weights: str = "variance",
    sampling_weights: npt.ArrayLike | None = None,
) -> Encoded:
    """Return records of any types as coordinates that every partitioner takes.

    The squared Euclidean distance of two records is the sum over attributes of weight
    times distance:

        numeric        (z - z')^2 of z-scores; with weights = "range" |x - x'| / range
        nominal        1 if the values differ
        ordinal        |r - r'| / (m - 1) of ranks among m levels
        hierarchical   height of the lowest common ancestor, over that of the tree
        distances      the entry of the table

    so that sums of squares, bounds and proofs hold for typed attributes unchanged.

    Parameters
    ----------
    frame
        The quasi-identifiers: a pandas, Polars or PyArrow table, or a two-dimensional
        array.
    attributes
        Maps names to types that are not inferred: an `AttributeType`, or a map with its
        keys kind, order, tree, distances, weight and missing.  All other types are
        inferred from the columns: text, truth values and categories without an order
        are nominal, categories with an order ordinal, numbers, dates and times numeric.
    weights : "variance" or "range"
        "variance" gives each attribute the same total, n, as z-scores have: distances
        over sums of squares, times n.  "range" divides by the largest distance that
        the values allow: the sum is Gower's distance.
    sampling_weights : (n,), optional
        Number of population members that each record represents, of any scale.  Means,
        standard deviations and totals are then weighted.

    Returns
    -------
    Encoded
        Coordinates (n, p), and the type of each attribute.  A constant attribute has
        weight 0.

    Raises
    ------
    JobError
        `attributes` has a name that no column has, or an invalid type; distances are
        not of negative type.
    TableError
        `frame` is not a table; a column has missing values, values of several types,
        values absent from its order or tree, or more than half as many names as
        records; sampling_weights are not one number above 0 for each record.
        Messages contain counts, never values.
    InfeasibleInputError
        The coordinates do not fit into memory.

    Notes
    -----
    Numbers never become names by default: `notes` lists whole numbers of few values.

    Missing values are refused, as they have no distance.  Remove records with missing
    values, or fill the values.  For names, missing = "own value" adds a level.  Or use
    `aggopt.mask`, with a job that sets policy = "patterns" or "fill" under [missing].

    Source: Gower, Biometrics 27, 1971, for the sum over attributes; Schoenberg, Annals
    of Mathematics 36, 1935, for which distances are squared Euclidean; Li, Li and
    Venkatasubramanian, ICDE 2007, for those between levels.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 30, 60, 70], "sex": ["f", "m", "m", "f"]})
    >>> encode(people)
    Encoded: 4 records, 2 attributes (1 numeric, 1 nominal) in 3 coordinates
    >>> encode(people, {"sex": {"weight": 2.0}}).weights
    array([1., 8.])
    """
    require_known("way to weigh attributes", weights, WEIGHTS)
    table = to_frame(frame)
    require_nonempty(table)
    if not table.columns:
        raise TableError("The table has no columns.", fix="bring a column at least.")
    mean_weights = scale_to_mean_one(weights_of(sampling_weights, len(table)))
    types = _read_types(attributes or {}, table.columns)
    encoded = []
    parts = []
    notes = []
    for name in table.columns:
        declared = types.get(name, AttributeType())
        with naming(f"Column {name!r}"):
            attribute, part, note = _encode_attribute(
                table[name], declared, weights, mean_weights
            )
        encoded.append(attribute)
        parts.append(part)
        notes += [f"{name!r}: {note}"] if note else []
    notes += _warn_idle_weights(encoded, types)
    return replace(join_attributes(encoded, parts), notes=tuple(notes))


def _warn_idle_weights(
    attributes: Sequence[EncodedAttribute], types: Mapping[str, AttributeType]
) -> list[str]:
    """Warn about weights of a single attribute, which have no effect."""
    varying = sum(attribute.weight > 0 for attribute in attributes)
    notes = []
    for attribute in attributes:
        if attribute.name not in types or types[attribute.name].weight == 1:
            continue
        if not attribute.weight:
            notes.append(
                f"{attribute.name!r}: no record differs: its weight does nothing."
            )
        elif varying == 1:
            notes.append(
                f"{attribute.name!r}: no other attribute varies: "
                "its weight does nothing."
            )
    return notes


def _read_types(declared_types: Any, columns: list[str]) -> dict[str, AttributeType]:
    """Return the declared type of each column, checked."""
    if not isinstance(declared_types, Mapping):
        raise JobError(
            f"attributes is {describe_argument(declared_types)}, and no map.",
            fix='write {"sex": {"kind": "nominal"}, "school": {"order": [...]}}.',
        )
    for name in declared_types:
        if name not in columns:
            raise UnknownNameError("column", str(name), columns)
    types = {}
    for name, declared in declared_types.items():
        with naming(f"Attribute {name!r}"):
            types[name] = AttributeType.of(declared)
    return types


def _encode_attribute(
    series: nw.Series[Any],
    attribute_type: AttributeType,
    weights: str,
    record_weights: F64 | None,
) -> tuple[EncodedAttribute, F64, str]:
    """Return the encoding of a column, its coordinates (n, q) and a note or ""."""
    column = TypedColumn.of(series, attribute_type.kind, attribute_type.format)
    kind = attribute_type.kind or DEFAULT[column.what]
    if kind in NUMERIC:
        return _encode_numeric(column, attribute_type, weights, record_weights)
    categories = read_categories(column, kind, attribute_type)
    require_few(categories.domain, categories.record_counts)
    weight = attribute_type.weight * _compute_weight(
        categories, weights, record_weights
    )
    nothing = np.empty((len(series), 0))
    part = np.sqrt(weight) * categories.points() if weight else nothing
    note = describe_odd_branches(categories.domain)
    attribute = EncodedAttribute(
        series.name, kind, weight, slice(0), categories, rule=attribute_type.rule
    )
    return attribute, part, note


def _encode_numeric(
    column: TypedColumn,
    attribute_type: AttributeType,
    weights: str,
    record_weights: F64 | None,
) -> tuple[EncodedAttribute, F64, str]:
    """Return the encoding of numbers, their coordinates (n, 1) and a note or ""."""
    name = column.series.name
    _require_numbers(column, attribute_type)
    numbers = replace(
        column.numeric(by_range=weights == "range"), weights=record_weights
    )
    weight = 0.0 if numbers.constant else float(attribute_type.weight)
    if attribute_type.is_truthful:
        attribute_type.rule.choose("numeric")
    attribute = EncodedAttribute(
        name,
        "numeric",
        weight,
        slice(0),
        numbers=numbers,
        rule=attribute_type.rule,
    )
    note = "" if numbers.constant else _describe_codes(column, attribute_type)
    return attribute, np.sqrt(weight) * numbers.points(numbers.values), note


def _require_numbers(column: TypedColumn, attribute_type: AttributeType) -> None:
    """Refuse entries that are not numbers in a column declared numeric."""
    truth = column.series.dtype == nw.Boolean
    if column.what in (NAME, RANKED) and not truth:
        raise JobError(
            'kind = "numeric", but the values are no numbers.',
            fix='make them numbers, or write kind = "nominal".',
        )
    missing = int(column.absent.sum())
    if not missing:
        return
    if attribute_type.missing == OWN:
        raise JobError(
            "Missing values have no place among numbers.",
            fix=f'fill it, and write missing = "{REFUSE}".',
        )
    raise TableError(
        f"{plural(missing, 'value')} {'is' if missing == 1 else 'are'} missing.",
        fix="remove those records or fill the values; a job may say what is to happen: "
        'policy = "patterns" or "fill" under [missing].',
    )


def is_perhaps_codes(values: int, records: int) -> bool:
    """Whether whole numbers with this count of different values may be codes.

    Two codes are as far apart as two names; but their mean is neither code.

    >>> is_perhaps_codes(4, 100), is_perhaps_codes(2, 100), is_perhaps_codes(4, 6)
    (True, True, False)
    """
    return 2 <= values <= FEW and 2 * values <= records


def _describe_codes(column: TypedColumn, attribute_type: AttributeType) -> str:
    """Return the note on a numeric column that looks like codes; "" for others."""
    if attribute_type.kind is not None or column.what != NUMBER or not column.whole:
        return ""
    values = len(column.coded[1])
    if not is_perhaps_codes(values, len(column.entries)):
        return ""
    return describe_codes(values)


def describe_codes(values: int) -> str:
    """Return the note on whole numbers with few values, worded alike everywhere."""
    return (
        f"whole numbers with {values} values are taken as numbers; write kind = "
        '"nominal" if they are codes.'
    )


def _compute_weight(
    categories: Categories, weights: str, record_weights: F64 | None
) -> float:
    """Return the factor of an attribute's squared distances."""
    counts = np.bincount(
        categories.codes, record_weights, minlength=categories.domain.m
    )
    return weight_of(categories.domain, counts / len(categories.codes), weights)


def weight_of(domain: Domain, shares: F64, weights: str) -> float:
    """Return n over the sum of squares, or 1 over the largest distance; 0 without.

    `shares` (m,) are the shares of all records with each level.
    """
    steps = domain.steps[: domain.m, : domain.m]
    if (shares > 0).sum() == 1:
        return 0.0
    if weights == "range":
        return float(domain.unit / steps.max()) if steps.max() else 0.0
    spread = float(shares @ steps @ shares) / (2 * domain.unit)
    return 1 / spread if spread else 0.0


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
    encoded_parts = []
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
        encoded_parts.append(_spread_attribute(attribute, rows, len(frame)))
        parts.append(
            _place_rows(encoded.coordinates[:, attribute.columns], rows, len(frame))
        )
    return join_attributes(encoded_parts, parts)


def select_rows(incomplete: Encoded, rows: I64, selected: Bool) -> Encoded:
    """Return some records, restricted to `selected` attributes (d,), which all have."""
    part = incomplete.only(np.flatnonzero(selected).tolist())
    attributes = tuple(attribute.rows(rows) for attribute in part.attributes)
    return replace(part, coordinates=part.coordinates[rows], attributes=attributes)


def fill_coordinates(incomplete: Encoded, by: F64) -> Encoded:
    """Return coordinates with missing ones replaced by others, (n, p) or (p,)."""
    coordinates = incomplete.coordinates
    return replace(
        incomplete, coordinates=np.where(np.isnan(coordinates), by, coordinates)
    )


def _spread_attribute(
    attribute: EncodedAttribute, rows: I64, n: int
) -> EncodedAttribute:
    """Return an attribute of some rows as one of all n records; others are missing."""
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
    coordinates = incomplete.coordinates
    count = (~np.isnan(coordinates)).sum(axis=0)
    return fill_coordinates(
        incomplete, np.nansum(coordinates, axis=0) / np.maximum(count, 1)
    )
