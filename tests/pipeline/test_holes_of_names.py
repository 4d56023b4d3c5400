"""Names that are missing leave what is kept of numbers as it is."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.errors import JobError
from aggopt.solvers import Status

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2)) @ [[1.0, 0.7], [0.0, 1.0]]
FRAME = pd.DataFrame({"c": RNG.choice(list("ab"), N), "x": X[:, 0], "z": X[:, 1]})
FRAME["y"] = FRAME["x"] + 3 * RNG.normal(size=N)
FRAME.loc[:9, "c"] = None


def asked(policy, **how):
    return aggopt.Job(
        roles={"quasi-identifier": ["c", "x", "z"], "other": ["y"]},
        privacy={"k": 4},
        partition={"method": "mdav"},
        aggregation=how,
        missing={"policy": policy},
        output={"digits": "full"},
    )


@pytest.mark.parametrize("policy", ["patterns", "fill"])
@pytest.mark.parametrize(
    "how",
    [
        {"method": "mean", "keep": "covariance"},
        {"method": "mean", "keep": {"covariance": ["x", "z"]}},
        {"method": "p3m", "keep": "covariance", "options": {"rounds": 1}},
    ],
)
def test_covariances_of_complete_numbers_are_kept(policy, how):
    release = aggopt.mask(FRAME, asked(policy, **how))
    numbers = ["x", "z"]
    before, after = (np.cov(f[numbers].T) for f in (FRAME, release.table))
    assert after == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("policy", ["patterns", "fill"])
def test_a_regression_on_complete_numbers_is_kept(policy):
    keep = {"regression": "y ~ x + z"}
    release = aggopt.mask(FRAME, asked(policy, method="mean", keep=keep))
    before, after = (
        np.linalg.lstsq(np.c_[np.ones(N), f[["x", "z"]]], FRAME["y"], rcond=None)[0]
        for f in (FRAME, release.table)
    )
    assert after == pytest.approx(before)
    assert {c.status for c in release.certificates.values()} >= {Status.OPTIMAL}


def test_where_a_number_is_missing_they_are_refused_before_work():
    holed = FRAME.copy()
    holed.loc[20:29, "x"] = None
    with refused(JobError, "values are missing"):
        aggopt.mask(holed, asked("fill", method="mean", keep="covariance"))
