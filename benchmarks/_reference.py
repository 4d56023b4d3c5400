"""The reference tables and the figures that several benchmarks hold ours against.

Not a benchmark itself.  SL_P3M: Mortazavi and Jalili 2017, Table 2, alpha .5, Delta .1,
w .001.
"""

from functools import cache

import numpy as np

from aggopt import datasets

SIZES = (3, 4, 5, 10)
SL_P3M = {
    "Tarragona": (47.92, 51.38, 54.55, 57.64),
    "Census": (55.19, 61.10, 65.18, 73.10),
    "EIA": (5.67, 7.52, 10.89, 17.81),
}


@cache
def tables() -> dict[str, np.ndarray]:
    return {
        "Tarragona": datasets.tarragona().to_numpy(float),
        "Census": datasets.census().to_numpy(float),
        "EIA": datasets.eia()[datasets.EIA_PUBLISHED].to_numpy(float),
    }
