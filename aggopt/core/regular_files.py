"""Target of a path, and a refusal of all but regular files.

Reading a pipe could wait forever, and a link to itself has no target.
"""

import os
import re
import stat
from collections.abc import Collection
from glob import has_magic
from pathlib import Path
from urllib.parse import unquote

from aggopt.errors import AggoptError, PlaceError, TableError

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")  # of one letter: a drive


def is_folder_or_pattern(pattern: str | Path) -> bool:
    """Whether this is a folder or a pattern, and not the name of one file."""
    path = Path(pattern)
    return path.is_dir() or (has_magic(str(pattern)) and not path.exists())


def require_local(path: Path) -> None:
    """Refuse the address of another place, such as s3://bucket/people.parquet.

    Raises
    ------
    TableError
        aggopt reads and writes files of this machine only.
    """
    scheme = _SCHEME.match(str(path))
    if scheme and not Path(path.parts[0]).exists():
        rest = str(path)[scheme.end() :]
        raise TableError(
            f"{scheme[1]}://{rest} is an address, and aggopt reads and writes files of "
            "this machine only.",
            fix="copy the files to a folder of this machine, or mount the place as "
            "one; copy the release from there, and its private files nowhere.",
        )


def require_no_partition(path: Path, columns: Collection[str]) -> None:
    """Refuse a file whose folders have a column in their names, which no file has.

    `columns` are those of the file.

    Raises
    ------
    TableError
        A folder is called like `region=01`, and `region` is no column.
    """
    for column in partition_values(path):
        if column not in columns:
            raise explain_partition(
                path.name, column, csv=path.suffix.lower() == ".csv"
            )


def partition_values(path: Path) -> dict[str, str]:
    """Return the columns in the names of the folders of a file, outermost first.

    >>> partition_values(Path("/data/region=01/year=2020/part.csv"))
    {'region': '01', 'year': '2020'}
    """
    values: list[tuple[str, str]] = []
    for folder in path.absolute().parents:
        column, sign, value = folder.name.partition("=")
        if not (column and sign):
            break
        values.append((unquote(column), unquote(value)))
    return dict(reversed(values))


def explain_partition(name: str, column: str, *, csv: bool = False) -> TableError:
    """Return the error of a file or folder with a Hive partition of this column.

    The values in the names of folders are those of records: none is shown.
    """
    problem = (
        f"{name}: {column!r} is in the names of folders ({column}=...), as of Hive "
        "partitions, and in no file: it would be lost."
    )
    if csv:
        return TableError(
            problem,
            fix="run aggopt convert FOLDER NEW, which writes this column into Parquet "
            "files; FOLDER is the one that has these folders.",
        )
    return TableError(
        problem,
        fix="write it into the files, as text: import pyarrow as pa, pyarrow.dataset "
        f"as d; p = d.partitioning(pa.schema([({column!r}, pa.string())]), "
        'flavor="hive"); d.write_dataset(d.dataset(FOLDER, partitioning=p), NEW, '
        'format="parquet").',
    )


def resolve_path(path: Path) -> Path:
    """Return a path without links, as far as they lead; as `Path.resolve`.

    That one raises a RuntimeError for a link to itself, before Python 3.13.
    """
    return Path(os.path.realpath(path))


def require_regular(path: Path, error: type[AggoptError] = TableError) -> None:
    """Refuse a path unless it leads to a regular file; links to one are accepted.

    Raises
    ------
    TableError, or what `error` names
        The path does not exist, or is a directory, a pipe, a socket or a device.
    PlaceError
        Permissions forbid to look at the path.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise error(f"There is no file {path}.", fix="check the path.") from None
    except (OSError, ValueError) as refusal:  # ValueError: a name with a zero byte
        raise explain_unreadable(path, refusal, error) from None
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFDIR:
        raise error(f"{path} is a directory.", fix="name a file in it.")
    if kind != stat.S_IFREG:
        raise error(
            f"{path} is {_KINDS.get(kind, 'something else')} and no plain file.",
            fix="write what comes from it to a file, and name that.",
        )


def explain_unreadable(
    path: Path,
    refusal: OSError | ValueError,
    error: type[AggoptError] = TableError,
    *,
    fix: str = "check the path.",
) -> AggoptError:
    """Return the error of a path that the system does not read.

    It is a PlaceError if the system does not permit it; else what `error` names.
    """
    if isinstance(refusal, OSError):
        why = refusal.strerror or "it is damaged"
    else:
        why = "it is no name of a file"
    kind = PlaceError if isinstance(refusal, PermissionError) else error
    return kind(f"{path} cannot be read: {why}.", fix=fix)
