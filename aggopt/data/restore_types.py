"""Columns of a release: in the type of the originals, and with nothing else of them."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.types import Bool, Floats, Labels
from aggopt.errors import TableError


def replace_values(
    column: nw.Series[Any], values: Floats, round_integers: bool
) -> nw.Series[Any]:
    """Return a column with other values (n,), whole ones if requested, else floats.

    nan is a missing value: null, or nan in a column without null.
    """
    blank = np.isnan(values)
    replaced = _replace_values(column, np.where(blank, 0.0, values), round_integers)
    return blank_entries(replaced, blank)


def blank_entries(column: nw.Series[Any], blank: Bool) -> nw.Series[Any]:
    """Return a column with some entries (n,) missing, and all others unchanged."""
    if not blank.any():
        return column
    native = column.to_native()
    if column.implementation.is_pandas():
        native = native.mask(blank)
    elif column.implementation.is_polars():
        native = native.set(type(native)(blank), None)
    else:
        native = native.take(_number_rows_but(blank))
    series: nw.Series[Any] = nw.from_native(native, series_only=True)
    return series.alias(column.name)


def _number_rows_but(blank: Bool) -> Any:
    """Return the numbers of all rows (n,), null for blank ones."""
    import pyarrow as pa

    return pa.array(np.arange(len(blank)), mask=blank)


def _replace_values(
    column: nw.Series[Any], values: Floats, round_integers: bool
) -> nw.Series[Any]:
    is_whole = column.dtype.is_integer() or column.dtype == nw.Boolean
    rows = np.arange(len(values))
    if is_whole and round_integers:
        return column.scatter(rows, _make_like(column, _round_to_type(values, column)))
    kind = nw.Float32() if column.dtype == nw.Float32 else nw.Float64()
    if is_whole:  # zeros first: a cast of large whole numbers may be refused
        blank = np.zeros(len(values), dtype=bool)
        column = column.scatter(rows, _make_like(column, blank))
    fresh = nw.new_series(column.name, values, kind, backend=column.implementation)
    return column.cast(kind).scatter(rows, fresh)


def decode_dictionary(column: Any) -> Any:
    """Return an Arrow column with its entries in place of a dictionary and codes.

    A dictionary, as a categorical column has, also lists entries that no record has.
    """
    import pyarrow as pa

    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def to_plain_column(column: Any) -> Any:
    """Return an Arrow column as `decode_dictionary`, or refuse one that is nested."""
    import pyarrow as pa

    column = decode_dictionary(column)
    kind = column.type
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        raise TypeError("nested")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise TypeError("bytes")
    return column


def to_arrow_table(frame: nw.DataFrame[Any]) -> Any:
    """Return a table as a PyArrow table, a pandas index left out.

    Raises
    ------
    TableError
        A column mixes types that no file can hold.
    """
    import pyarrow as pa

    columns = {}
    for name in frame.columns:
        try:
            columns[name] = to_plain_column(frame[name].to_arrow())
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            columns[name] = None  # the original message quotes entries
    mixed = [name for name, column in columns.items() if column is None]
    if mixed:
        raise TableError(
            f"Columns that no file can hold: {', '.join(map(repr, mixed))}.",
            fix="make each of one plain type, numbers, text or dates, before masking.",
        )
    return pa.table(columns)


def take_rows(
    column: nw.Series[Any], rows: Labels, *, like: nw.Series[Any] | None = None
) -> nw.Series[Any]:
    """Return the entries of a column at these rows, with the index that it has.

    Or with the index of another column.
    """
    native = column.to_native()
    taken = native.gather(rows) if hasattr(native, "gather") else native.take(rows)
    if column.implementation.is_pandas():
        taken.index = (column if like is None else like).to_native().index
    series: nw.Series[Any] = nw.from_native(taken, series_only=True)
    return series.alias(column.name)


def drop_unused_categories(column: nw.Series[Any]) -> nw.Series[Any]:
    """Drop the categories that no record has: they are of records left out before."""
    native = column.to_native()
    if column.implementation.is_pyarrow():
        ordered = native.type.ordered
        native = _drop_unused_ordered(native) if ordered else _encode_again(native)
    elif hasattr(native.dtype, "pyarrow_dtype"):  # a dictionary within pandas
        entries = native.astype(object)
        native = entries.astype(
            type(native.dtype)(native.dtype.pyarrow_dtype.value_type)
        )
    elif column.implementation.is_pandas():
        native = native.cat.remove_unused_categories()
    elif isinstance(column.dtype, nw.Enum):
        present = set(column.unique().to_list())
        used = [entry for entry in column.dtype.categories if entry in present]
        return column.cast(nw.Enum(used))
    series: nw.Series[Any] = nw.from_native(native, series_only=True)
    return series.alias(column.name)


def _encode_again(native: Any) -> Any:
    """Return an Arrow dictionary column with its unused entries dropped."""
    return native.cast(native.type.value_type).dictionary_encode()


def _drop_unused_ordered(native: Any) -> Any:
    """Return an ordered column of Arrow with a dictionary of the present values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unified = native.unify_dictionaries().combine_chunks()
    is_used = pc.is_in(
        unified.dictionary, pc.unique(unified.cast(unified.type.value_type))
    )
    used = unified.dictionary.filter(is_used)
    codes = pc.index_in(unified.cast(unified.type.value_type), used)
    encoded = pa.DictionaryArray.from_arrays(
        codes.cast(unified.type.index_type), used, ordered=True
    )
    return pa.chunked_array([encoded])


def strip_metadata(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a new table without metadata, which may describe the originals.

    Metadata are pandas' `attrs` and the name of its columns' index, and all contents of
    Arrow's schema and fields except types: names of dropped columns, ranges, rows.
    """
    native = frame.to_native()
    if frame.implementation.is_pandas():
        native = native.copy(deep=False)
        native.attrs = {}
        native.columns = native.columns.set_names([None] * native.columns.nlevels)
    elif frame.implementation.is_pyarrow():
        import pyarrow as pa

        plain = [
            pa.field(f.name, _strip_type_metadata(f.type), f.nullable)
            for f in native.schema
        ]
        native = native.cast(pa.schema(plain))
    frame_without: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
    return frame_without


def _strip_type_metadata(kind: Any) -> Any:
    """Return an Arrow type whose inner fields have only their types."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        inner = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct(
            [pa.field(f.name, _strip_type_metadata(f.type), f.nullable) for f in inner]
        )
    if pa.types.is_list(kind):
        f = kind.value_field
        return pa.list_(pa.field(f.name, _strip_type_metadata(f.type), f.nullable))
    if pa.types.is_large_list(kind):
        f = kind.value_field
        return pa.large_list(pa.field(f.name, _strip_type_metadata(f.type), f.nullable))
    return kind


def _make_like(column: nw.Series[Any], values: np.ndarray[Any, Any]) -> nw.Series[Any]:
    if column.dtype != nw.Boolean and values.dtype == bool:
        values = values.astype(np.int64)
    return nw.new_series(
        column.name, values, column.dtype, backend=column.implementation
    )


def _round_to_type(values: Floats, column: nw.Series[Any]) -> np.ndarray[Any, Any]:
    if column.dtype == nw.Boolean:
        return values >= 0.5
    try:
        native = np.dtype(str(column.dtype).lower())
    except TypeError:
        raise TableError(
            f"{column.name!r} ({column.dtype}) is of a type that cannot be rounded to.",
            fix="make it 64-bit whole numbers first.",
        ) from None
    limits = np.iinfo(native)
    # the largest 64-bit integers round up when made floats
    high = np.nextafter(float(limits.max), 0) if limits.bits == 64 else limits.max
    return np.clip(np.rint(values), float(limits.min), float(high)).astype(native)
