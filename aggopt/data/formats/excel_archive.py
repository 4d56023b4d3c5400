"""Contents of a workbook before it is unpacked: sizes, and ranges of many cells.

A .xlsx file is an archive of XML files, whose directory has the size of each.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from aggopt.core.memory import find_available_memory, format_size
from aggopt.errors import TableError

DENSEST = 100  # times that sheets become smaller in an archive, at most
SMALL = 2**24  # bytes: up to this many, any share of the archive is fine
TAKES = 15  # bytes of memory for each byte of XML of short numbers
MOST_CELLS = 10**6  # of ranges that are unfolded: each of their cells gets an object
_CSV = "save the sheet as CSV UTF-8, which takes less memory."
_RANGES = re.compile(
    rb"<!DOCTYPE|<[^\s<>]*?(?P<what>mergeCell|hyperlink)\s(?P<says>[^<>]*)"
)
_REF = re.compile(rb"ref=[\"']([A-Z]{1,3})(\d{1,7})(?::([A-Z]{1,3})(\d{1,7}))?[\"']")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # how UTF-16 begins


def require_harmless(path: Path) -> None:
    """Refuse a workbook that holds far more than its file size suggests.

    Raises
    ------
    TableError
        Its parts are too large once they are unpacked, or ranges of merged cells or
        links have too many cells.
    BadZipFile, ValueError
        It is not a workbook.
    """
    with ZipFile(path) as archive:
        _require_room(path, sum(part.file_size for part in archive.infolist()))
        cells = sum(_count_cells(archive, name) for name in archive.namelist())
    if cells > MOST_CELLS:
        raise TableError(
            f"{path.name} has ranges of merged cells or links with {cells} cells, and "
            f"at most {MOST_CELLS} are read.",
            fix="unmerge the cells and remove the links; or save the sheet as CSV "
            "UTF-8.",
        )


def _require_room(path: Path, unpacked: int) -> None:
    packed = path.stat().st_size
    sizes = f"{path.name} has {format_size(packed)} and unpacks to"
    if unpacked > max(SMALL, DENSEST * packed):
        raise TableError(
            f"{sizes} {format_size(unpacked)}, {unpacked // max(packed, 1)} times as "
            f"much: no table unpacks to more than {DENSEST} times its "
            "size.",
            fix="use the file only if you trust it: then save the sheet as CSV UTF-8.",
        )
    if TAKES * unpacked > find_available_memory():
        raise TableError(
            f"{sizes} {format_size(unpacked)}, which takes about "
            f"{format_size(TAKES * unpacked)} of memory; "
            f"{format_size(find_available_memory())} are left.",
            fix=_CSV,
        )


def _count_cells(archive: ZipFile, name: str) -> int:
    """Return the number of cells that the library unfolds from the ranges of a part."""
    content = archive.read(name)
    if content.startswith(_WIDE):
        raise ValueError("Workbooks are UTF-8.")
    return sum(_iter_areas(content))


def _iter_areas(content: bytes) -> Iterator[int]:
    for area in _RANGES.finditer(content):
        if area["what"] is None:
            raise ValueError("Workbooks have no DOCTYPE.")
        ref = _REF.search(area["says"])
        if ref is None:
            raise ValueError("A range is none.")
        left, top, right, bottom = ref.groups()
        across = (
            abs(_parse_column_number(right or left) - _parse_column_number(left)) + 1
        )
        yield across * (abs(int(bottom or top) - int(top)) + 1)


def _parse_column_number(letters: bytes) -> int:
    """Return the number of a column, from 1.

    >>> _parse_column_number(b"XFD")
    16384
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number
