"""Refuse text that is not Unicode, which no file can contain."""

from typing import Any

import narwhals.stable.v2 as nw

from aggopt.errors import TableError


def check_text(frame: nw.DataFrame[Any]) -> None:
    """Refuse columns with text that is not Unicode.

    Raises
    ------
    TableError
        Some have: bytes of another encoding, or half of a surrogate pair.
    """
    wrong = [name for name in frame.columns if not _is_unicode(frame[name])]
    if wrong:
        raise TableError(
            f"Columns with text that is no Unicode: {', '.join(map(repr, wrong))}.",
            fix="read them again with the encoding in which they were written.",
        )


def _is_unicode(column: nw.Series[Any]) -> bool:
    import pyarrow as pa

    if column.dtype.is_numeric() or column.dtype.is_temporal():
        return True
    try:
        entries = column.to_arrow()
    except UnicodeError:
        return False
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return True  # of mixed types, which is refused when they are written
    try:
        entries.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
