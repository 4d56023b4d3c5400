"""The field's reference tables, as data frames.

The package holds no copy.  A file is looked for in the folder that the environment
variable AGGOPT_DATA names, then in the cache, then fetched from its publisher;
wherever it comes from, its sha256 must be the one written here.

Source: the folder `data` of the R package sdcMicro 5.8.1, at one pinned commit.
"""

import hashlib
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggopt.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

EIA_PUBLISHED = [
    "UTILITYID",
    "RESREVENUE",
    "RESSALES",
    "COMREVENUE",
    "COMSALES",
    "INDREVENUE",
    "INDSALES",
    "OTHREVENUE",
    "OTHRSALES",
    "TOTREVENUE",
    "TOTSALES",
]
"""The 11 attributes of `eia` on which the published experiments were run."""

_PUBLISHER = (
    "https://raw.githubusercontent.com/sdcTools/sdcMicro/"
    "cf3251017482bb215f0a9abf4a930f502399fb72/data/"
)
_SHA256 = {
    "CASCrefmicrodata": (
        "147d0d7fa823a384e36c2297174560e32cdbe6e39803f22f797610fb1a2993d6"
    ),
    "EIA": "8b61ceb0d1fa01d024bd62171655601abed62ff70a5e9e6fd550c43a1f76695e",
    "Tarragona": "e83def0648be5e47eaf202b4dd60dd6981591d0858fd249817b9a2cc97cf2aef",
}


def census() -> "pd.DataFrame":
    """Return the Census table: 1080 persons, 13 whole-number attributes.

    Returns
    -------
    DataFrame (1080, 13)
        AFNLWGT is the person's weight in the survey, with two implied decimals; the
        others are incomes, taxes and contributions, in units that the publisher
        does not state.  No missing entries.

    Raises
    ------
    TableError
        The file is not the published one, or cannot be had.

    Notes
    -----
    Source: US Census Bureau, Data Extraction System, 2000; project CASC.

    Examples
    --------
    >>> census().shape  # doctest: +SKIP
    (1080, 13)
    """
    return _read_table("CASCrefmicrodata")


def tarragona() -> "pd.DataFrame":
    """Return the Tarragona table: 834 companies, 13 whole-number attributes.

    Returns
    -------
    DataFrame (834, 13)
        Figures of each company's accounts, in one unit that the publisher does not
        state.  No missing entries.

    Raises
    ------
    TableError
        The file is not the published one, or cannot be had.

    Notes
    -----
    Source: figures of companies in the Tarragona area, 1995; project CASC.

    Examples
    --------
    >>> tarragona().shape  # doctest: +SKIP
    (834, 13)
    """
    return _read_table("Tarragona")


def eia() -> "pd.DataFrame":
    """Return the EIA table: 4092 monthly reports of electric utilities, clustered.

    Returns
    -------
    DataFrame (4092, 15)
        UTILNAME and STATE are text, the others whole numbers: UTILITYID, YEAR (two
        digits), MONTH, then revenue and sales by kind of consumer, in units that
        the publisher does not state.  No missing entries.

    Raises
    ------
    TableError
        The file is not the published one, or cannot be had.

    Notes
    -----
    Source: US Energy Information Authority, 1996; project CASC.  The published losses
    are reproduced on the attributes `EIA_PUBLISHED` only.

    Examples
    --------
    >>> eia()[EIA_PUBLISHED].shape  # doctest: +SKIP
    (4092, 11)
    """
    return _read_table("EIA")


def _read_table(name: str) -> "pd.DataFrame":
    """Return a table of an R data file, read from the cache or fetched."""
    rdata = _installed("rdata")
    frame: pd.DataFrame = rdata.read_rda(_own_file(name) or _fetched(name))[name]
    plain = {
        attribute: str if dtype == "category" else "int64"
        for attribute, dtype in frame.dtypes.items()
    }
    return frame.astype(plain).reset_index(drop=True)


def _installed(package: str) -> Any:
    """Return a package that only these tables need."""
    try:
        return import_module(package)
    except ImportError as error:
        raise TableError(
            f"The reference tables need the package {package}, which is not here.",
            fix="install the extra that holds it: pip install 'aggopt[data]'.",
        ) from error


def _own_file(name: str) -> Path | None:
    """Return the verified file in the folder AGGOPT_DATA, None if it is not there."""
    if not (set_folder := os.environ.get("AGGOPT_DATA")):
        return None
    folder = Path(set_folder)
    if not folder.is_dir():
        raise TableError(
            f"AGGOPT_DATA names {folder}, which is not a folder.",
            fix="set it to the folder that holds the tables, or unset it to have "
            "them fetched.",
        )
    path = folder / f"{name}.rda"
    if not path.exists():
        return None
    if _compute_sha256(path) != _SHA256[name]:
        raise TableError(
            f"{path} is not the published table: its sha256 differs.",
            fix=f"replace it by {_PUBLISHER}{path.name}, or remove it to have that "
            "fetched.",
        )
    return path


def _fetched(name: str) -> Path:
    """Return the verified file in the cache, fetched first if it is not there."""
    pooch = _installed("pooch")
    file, cache = f"{name}.rda", pooch.os_cache("aggopt")
    try:
        return Path(
            pooch.retrieve(
                _PUBLISHER + file, f"sha256:{_SHA256[name]}", fname=file, path=cache
            )
        )
    except OSError as error:  # every failure of the network is one
        raise TableError(
            f"{file} is not in the cache and cannot be fetched "
            f"({type(error).__name__}).",
            fix=f"fetch {_PUBLISHER}{file} by hand into {cache}, or set AGGOPT_DATA to "
            "a folder that holds it.",
        ) from error
    except ValueError as error:
        raise TableError(
            f"What was fetched as {file} is not the published table: its sha256 "
            "differs.",
            fix="try again from another network, or set AGGOPT_DATA to a folder that "
            "holds the file.",
        ) from error


def _compute_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
