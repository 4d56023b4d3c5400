"""The reference tables that several benchmarks hold ours against.  Not a benchmark."""

from functools import cache

import numpy as np

from aggopt import datasets

SIZES = (3, 4, 5, 10)


@cache
def tables() -> dict[str, np.ndarray]:
    return {
        "Tarragona": datasets.tarragona().to_numpy(float),
        "Census": datasets.census().to_numpy(float),
        "EIA": datasets.eia()[datasets.EIA_PUBLISHED].to_numpy(float),
    }
