"""The published figures of MDAV, with group means restored to the original's variance.

Mortazavi and Jalili (2017): SI of their Table 4, and SL at delta = 0.1; DLD and SDID
as measured when the definitions were settled.  All in percent.  The published DLD
links each record to the first of the nearest, of several: `first_linked`.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracles import mdav
from scipy.spatial.distance import cdist

from aggopt import measure
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.experiments.reproduce import load_study

DATA = Path(
    os.environ.get("AGGOPT_DATA", Path(__file__).parents[2].parent / "shared" / "data")
)
STUDY = load_study("mortazavi2017")
SI, SL = (STUDY.table(number).values("means") for number in (4, 2))
MEASURED = [  # data, k, DLD with the first of the nearest, DLD, SDID
    ("Tarragona", 3, 25.540, 25.140, 47.012),
    ("Tarragona", 10, 4.197, 4.484, 28.150),
    ("Census", 3, 27.963, 28.642, 25.840),
    ("Census", 10, 5.556, 6.556, 16.830),
    ("EIA", 3, 26.295, 26.629, 87.819),
    ("EIA", 10, 6.867, 7.005, 70.994),
]


def read(name: str) -> Floats:
    path = DATA / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{name}.csv is not there: set AGGOPT_DATA to the folder with it")
    table = pd.read_csv(path)
    if name == "eia":
        table = table[["UTILITYID", *table.columns[5:]]]
    return table.to_numpy(float)


def restored_means(X: Floats, k: int) -> Floats:
    scale = Scale.of(X)
    Z = scale.standardise(X)
    labels = mdav(Z, k)
    means = np.array([Z[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
    return scale.undo(means[labels] / means[labels].std(axis=0))


def first_linked(X: Floats, Y: Floats) -> float:
    """Return DLD as the published figures have it."""
    scale = Scale.of(X)
    z, w = scale.standardise(X), scale.standardise(Y)
    distances = cdist(z, w)
    return float((distances.argmin(axis=1) == np.arange(len(X))).mean())


@pytest.mark.parametrize(("name", "k", "first", "dld", "sdid"), MEASURED)
def test_mdav(name: str, k: int, first: float, dld: float, sdid: float) -> None:
    X = read(name.lower())
    si, sl = (figures[name][0 if k == 3 else -1] for figures in (SI, SL))
    Y = restored_means(X, k)
    found, linked = measure.assess(X, Y, whole=1000), first_linked(X, Y)
    published = ((linked + found.sdid) / 2 + found.pil) / 2
    assert 100 * published == pytest.approx(si, abs=0.01)
    assert 100 * linked == pytest.approx(first, abs=0.005)
    assert 100 * found.dld == pytest.approx(dld, abs=0.001)
    assert 100 * found.si == pytest.approx(si + (dld - first) / 4, abs=0.015)
    assert 100 * found.sdid == pytest.approx(sdid, abs=0.005)
    assert 100 * found.sl == pytest.approx(sl, abs=0.05)
    assert found.pil_parts.means == pytest.approx(0, abs=1e-6)
    assert found.pil_parts.variances == pytest.approx(0, abs=1e-6)
