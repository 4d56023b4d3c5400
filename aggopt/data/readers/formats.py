"""File formats of tables, by their endings, and the packages that some need."""

from importlib.util import find_spec
from pathlib import Path

from aggopt.core.regular_files import require_local
from aggopt.errors import TableError

DECLARING = (".sav", ".zsav")  # SPSS files say which codes are missing
STATISTICAL = (*DECLARING, ".por", ".dta", ".xpt", ".sas7bdat")
READ_ONLY = (".por", ".sas7bdat")
EXCEL = ".xlsx"
ENDINGS = (".csv", ".parquet", EXCEL, *STATISTICAL)
_LIKE = {".por": ".sav", ".sas7bdat": ".xpt"}  # the same program's, that are written
WRITTEN = tuple(ending for ending in ENDINGS if ending not in READ_ONLY)
FILES = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
_PACKAGES = {EXCEL: ("openpyxl", "excel")}
_PACKAGES |= dict.fromkeys(STATISTICAL, ("pyreadstat", "stats"))


def file_ending(path: Path) -> str:
    """Return the ending of a path, in small letters."""
    return path.suffix.lower()


def is_csv(path: Path) -> bool:
    """Whether the file is a CSV file by its ending."""
    return file_ending(path) == ".csv"


def release_ending(path: Path) -> str:
    """Return the ending of a release of the table at a path: its own, if written."""
    ending = file_ending(path)
    return _LIKE.get(ending, ending)


def required_packages(path: Path) -> tuple[str, ...]:
    """Return the packages that only this type of file needs."""
    needed = _PACKAGES.get(file_ending(path))
    return needed[:1] if needed else ()


def check_ending(path: Path, *, written: bool = False) -> None:
    """Refuse a path whose ending is not one that is read, or `written`.

    Raises
    ------
    TableError
        The ending is unknown, or the package for these files is missing; or as
        `require_local`.
    """
    require_local(path)
    ending = file_ending(path)
    known = WRITTEN if written else ENDINGS
    if written and ending in READ_ONLY:
        raise TableError(
            f"{path.name}: {ending} files are read, and not written.",
            fix=f"write one of {', '.join(WRITTEN)}.",
        )
    if ending not in known:
        raise TableError(
            f"{path.name} ends in none of {', '.join(known)}.",
            fix="use one of them.",
        )
    package, extra = _PACKAGES.get(ending, ("", ""))
    if package and find_spec(package) is None:
        raise TableError(
            f"{ending} files are read and written by {package}, which is not here.",
            fix=f"install the extra that has it: pip install 'aggopt[{extra}]'.",
        )
