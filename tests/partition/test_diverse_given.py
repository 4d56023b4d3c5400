"""What `diverse_vmdav` takes as confidential, and which l it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused

from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.partition import diverse_vmdav
from aggopt.privacy import distinct_l

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 2))
ILLNESS = rng.choice(["flu", "none", "asthma"], 40).tolist()
KINDS = [
    pd.Series(ILLNESS, index=range(60, 20, -1)),
    pd.Series(ILLNESS, dtype="category"),
    pl.Series(ILLNESS),
    pa.array(ILLNESS).dictionary_encode(),
    pd.DataFrame({"illness": ILLNESS}),
]


@pytest.mark.parametrize("held", KINDS, ids=lambda held: type(held).__name__)
def test_any_kind_of_column_gives_the_same_groups(held) -> None:
    expected = diverse_vmdav(X, ILLNESS, 3, levels="values")
    assert (diverse_vmdav(X, held, 3, levels="values") == expected).all()
    assert distinct_l(expected, ILLNESS) == 3


@pytest.mark.parametrize("l", [4, 41, 1000])
@pytest.mark.parametrize("k", [None, 2])
def test_an_l_out_of_reach_is_answered_with_the_largest(l, k) -> None:  # noqa: E741
    with refused(InfeasibleInputError) as error:
        diverse_vmdav(X, ILLNESS, l, k=k, levels="values")
    assert error.value.problem.startswith(f"l = {l}, but all records together")


def test_refusals() -> None:
    holed = [*ILLNESS[:-2], None, None]
    with refused(TableError):
        diverse_vmdav(X, holed, 2, levels="values")
    with refused(TableError, "40"):
        diverse_vmdav(X, np.array([ILLNESS, ILLNESS]).T, 2, levels="values")
    with refused(JobError, "levels = ndarray"):
        diverse_vmdav(X, X[:, 0], 2, levels=np.array([1, 2]))
    with refused(JobError):
        diverse_vmdav(X, X[:, 0], 2, boundaries=[0, [1]])
