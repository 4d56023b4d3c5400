"""Columns of files that are one table: of one type, or of types that lose nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.errors import TableError

FIX = (
    "write all files with the same columns, of one type each; their order, wider "
    "integers and dictionaries may differ."
)


def merge_schemas(schemas: Mapping[Path, pa.Schema]) -> pa.Schema:
    """Return columns that hold each file's values, in the order of the first file.

    Raises
    ------
    TableError
        Files have other columns, or no common type holds all values; the message has
        their names.
    """
    first, *others = schemas.items()
    common = {field.name: field.type for field in first[1]}
    differing: dict[str, list[str]] = {}
    for path, schema in others:
        if schema.equals(first[1]):
            continue
        for what in _merge_schemas(common, schema, first[1]):
            differing.setdefault(what, []).append(path.name)
    if differing:
        raise _make_type_error(first[0], differing, len(schemas))
    return pa.schema(list(common.items()))


def _merge_schemas(
    common: dict[str, pa.DataType], schema: pa.Schema, first: pa.Schema
) -> Iterator[str]:
    """Widen the types to those of a file; yield its columns that do not fit."""
    for name in common:
        if name not in schema.names:
            yield f"lacks {name!r}"
            continue
        column_type = schema.field(name).type
        wide = find_common_type(common[name], column_type)
        if wide is None:
            yield f"has {column_type} of {name!r} for {first.field(name).type}"
        else:
            common[name] = wide
    for name in schema.names:
        if name not in common:
            yield f"also has {name!r}"


def find_common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the type that holds all values of both unchanged; None if none does.

    >>> find_common_type(pa.int8(), pa.uint8())
    DataType(int16)
    >>> find_common_type(pa.int64(), pa.float64())
    >>> find_common_type(pa.dictionary(pa.int8(), pa.string()), pa.string())
    DataType(string)
    """
    if one.equals(other):
        return one
    if _is_ordered(one) or _is_ordered(other):
        return None
    if pa.types.is_dictionary(one) or pa.types.is_dictionary(other):
        return find_common_type(_make_plain(one), _make_plain(other))
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return _find_wider(one, other)
    texts = {pa.string(), pa.large_string()}
    return pa.large_string() if {one, other} == texts else None


def _is_ordered(kind: pa.DataType) -> bool:
    return pa.types.is_dictionary(kind) and bool(kind.ordered)


def _make_plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _find_wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the narrowest integer that has all values of two."""
    signed = pa.types.is_signed_integer
    if signed(one) == signed(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    plus, minus = (other, one) if signed(one) else (one, other)
    bits = max(2 * plus.bit_width, minus.bit_width)
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(bits)


def _make_type_error(
    first: Path, differing: Mapping[str, list[str]], n: int
) -> TableError:
    files = {name for names in differing.values() for name in names}
    text = "; ".join(f"{', '.join(names)} {what}" for what, names in differing.items())
    verb = "has" if len(files) == 1 else "have"
    return TableError(
        f"{plural(len(files), 'file')} of {n} {verb} not the columns of {first.name}: "
        f"{text}.",
        fix=FIX,
    )
