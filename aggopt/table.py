"""A table whose attributes have roles; every check on an input table lives here."""

from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from aggopt.arrays import Floats
from aggopt.errors import TableError
from aggopt.roles import Roles


@dataclass(frozen=True)
class Table:
    """A checked table: pandas, Polars, PyArrow or NumPy inside.

    Make one with `Table.of`, which makes every check.
    """

    frame: nw.DataFrame[Any] = field(repr=False)
    roles: Roles
    is_array: bool  # came as a NumPy array, and goes out as one

    @classmethod
    def of(cls, data: Any, roles: Roles) -> "Table":
        """Return the table of `data`, checked against `roles`.

        The columns of a NumPy array are called "0", "1", ...

        Raises
        ------
        TableError, JobError
            Not a table, empty, duplicate or undeclared columns, a quasi-identifier
            that is not numeric or has missing or infinite entries.
        """
        is_array = isinstance(data, np.ndarray)
        frame = _framed(_from_array(data) if is_array else data)
        roles.check(frame.columns)
        if len(frame) == 0:
            raise TableError(
                "The table has no records.", fix="bring a table with records."
            )
        table = cls(frame, roles, is_array)
        _check_numeric(table)
        _check_complete(table)
        return table

    def matrix(self) -> Floats:
        """Return the quasi-identifiers as floats (n, d), original units."""
        columns = [_floats(self.frame[name]) for name in self.roles.quasi_identifier]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def masked(self, values: Floats, *, round_integers: bool = False) -> "Table":
        """Return the release of this table, values (n, d) in place of the originals.

        Identifiers are dropped.  Every other column, the column order, the number of
        records, a pandas index and the types stay; a whole-number or boolean
        quasi-identifier becomes a float, or with `round_integers` the nearest value
        its own type can hold.
        """
        replaced = [
            _replaced(self.frame[name], values[:, j], round_integers)
            for j, name in enumerate(self.roles.quasi_identifier)
        ]
        frame = self.frame.with_columns(*replaced).drop(*self.roles.identifier)
        return Table(
            frame, self.roles.model_copy(update={"identifier": ()}), self.is_array
        )

    @property
    def native(self) -> Any:
        """The table as the kind it came as."""
        native = self.frame.to_native()
        return native.to_numpy() if self.is_array else native

    def arrow(self) -> Any:
        """Return the table as a PyArrow table, a pandas index left out.

        Raises
        ------
        TableError
            A column mixes types that no file can hold.
        """
        import pyarrow as pa

        columns = {}
        for name in self.frame.columns:
            try:
                columns[name] = self.frame[name].to_arrow()
            except (pa.ArrowException, TypeError, OverflowError):
                columns[name] = None  # the original message quotes entries
        mixed = [name for name, column in columns.items() if column is None]
        if mixed:
            raise TableError(
                f"Columns that mix types: {', '.join(map(repr, mixed))}.",
                fix="make each of one type, text for example, before masking.",
            )
        return pa.table(columns)


def _from_array(data: np.ndarray[Any, Any]) -> Any:
    import pandas as pd

    if data.ndim != 2:
        raise TableError(
            f"The array has {data.ndim} dimension(s).",
            fix="pass records in rows and attributes in columns, shape (n, d).",
        )
    names = [str(j) for j in range(data.shape[1])]
    return pd.DataFrame(data, columns=names, copy=False).infer_objects()


def _framed(data: Any) -> nw.DataFrame[Any]:
    try:
        frame: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
        names = list(frame.columns)
    except TypeError:
        raise TableError(
            f"A {type(data).__module__}.{type(data).__name__} is not a table.",
            fix="pass a pandas, Polars or PyArrow table (collect a lazy one first), a "
            "two-dimensional NumPy array, or the path of a .csv or .parquet file.",
        ) from None
    except DuplicateError:
        named = getattr(data, "column_names", None) or data.columns
        names = [str(name) for name in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(
            f"Column names appear more than once: {', '.join(map(repr, twice))}.",
            fix="rename them so that each name is used once.",
        )
    odd = [c for c in frame.columns if not isinstance(c, str)]
    if odd:
        raise TableError(
            f"{len(odd)} column name(s) are not text.",
            fix="rename the columns: frame.columns = frame.columns.map(str).",
        )
    return frame


def _check_numeric(table: Table) -> None:
    schema = table.frame.schema
    other = {
        name: str(schema[name])
        for name in table.roles.quasi_identifier
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean)
    }
    if other:
        seen = ", ".join(f"{name!r} ({kind})" for name, kind in other.items())
        raise TableError(
            f"Quasi-identifiers that are not numeric: {seen}.",
            fix="recode them as numbers (an order such as low < middle < high as 0, "
            "1, 2; a date as days since a day), or give them another role. "
            "Categorical quasi-identifiers are not supported yet.",
        )


def _check_complete(table: Table) -> None:
    holes = []
    for name in table.roles.quasi_identifier:
        column = table.frame[name]
        missing = column.null_count()
        numbers = _floats(column.drop_nulls())
        missing += int(np.isnan(numbers).sum())
        infinite = int(np.isinf(numbers).sum())
        counts = {"missing": missing, "infinite": infinite}
        holes += [f"{name!r}: {c} {what}" for what, c in counts.items() if c]
    if holes:
        raise TableError(
            f"Quasi-identifiers have entries that are no numbers ({'; '.join(holes)}).",
            fix="fill them, or remove those records, before masking.",
        )


def _floats(column: nw.Series[Any]) -> Floats:
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _replaced(
    column: nw.Series[Any], values: Floats, round_integers: bool
) -> nw.Series[Any]:
    kind = column.dtype
    whole = kind.is_integer() or kind == nw.Boolean
    if whole and round_integers:
        new: Any = _nearest_whole(values, column)
    else:
        kind = nw.Float32() if kind == nw.Float32 else nw.Float64()
        new = values
    fresh = nw.new_series(column.name, new, kind, backend=column.implementation)
    return column.cast(kind).scatter(np.arange(len(values)), fresh)


def _nearest_whole(values: Floats, column: nw.Series[Any]) -> np.ndarray[Any, Any]:
    if column.dtype == nw.Boolean:
        return values >= 0.5
    native = np.dtype(str(column.dtype).lower())
    limits = np.iinfo(native)
    # the largest 64-bit integers round up when made floats
    high = np.nextafter(float(limits.max), 0) if limits.bits == 64 else limits.max
    return np.clip(np.rint(values), float(limits.min), float(high)).astype(native)
