"""Which distances no release can keep: none is refused that one could."""

import numpy as np
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt.core.standardise import Scale
from aggopt.data.context.distance_requests import require_reach
from aggopt.errors import JobError
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep

P3M = {"method": "p3m"}


@pytest.mark.parametrize("seed", range(20))
def test_no_release_moves_a_value_farther(seed):
    """Whatever groups of k there are, and whatever keeps mean and variance."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 30)), int(rng.integers(1, 3))
    z = rng.standard_cauchy((n, 1))
    z = (z - z.mean()) / z.std()
    labels = np.minimum(rng.permutation(n) // k, n // k - 1)
    c = rng.standard_cauchy(n // k)
    if seed % 2:  # the farthest there is: one smallest group against all others
        c = np.where(np.arange(len(c)) == 0, 1.0, 0.0)
    y = c[labels]
    y = (y - y.mean()) / y.std()
    require_reach(np.abs(y - z[:, 0])[:, None] * (1 - 1e-9), z, k, ["a"])


def test_the_farthest_value_is_just_within_reach():
    z = Scale.of(np.array([[0.0], [0.0], [0.0], [1.0]]))
    z = z.standardise(np.array([[0.0], [0.0], [0.0], [1.0]]))
    farthest = np.sqrt(3.0) + np.sqrt(1.0)  # |z| of the last, (n - k) / k at k = 2
    require_reach(np.full((4, 1), farthest - 1e-9), z, 2, ["a"])
    with refused(JobError):
        require_reach(np.full((4, 1), farthest + 1e-9), z, 2, ["a"])


def test_the_attribute_that_reaches_least_is_named():
    z = np.array([[0.0, 0.0, 9.0], [1.0, 2.0, -9.0]])  # k = n: none is shifted
    with refused(JobError, "'a'"):
        require_reach(np.full((2, 3), 8.0), z, 2, ["a", "b", "c"])


def test_what_is_out_of_reach_is_refused_before_any_work(no_work):
    far = {**P3M, "delta": {"column": "far"}}
    asked = job(roles={**ROLES, "wish": ["far"]}, aggregation=far)
    table = people().assign(far=[1e5, 1e5, *[0.1] * 38])
    with refused(JobError, "40"):
        aggopt.mask(table, asked)


def test_a_sweep_refuses_what_is_out_of_reach():
    with refused(JobError):
        list(sweep(people(), job(aggregation=P3M), alpha=[0.5], delta=[0.1, 1e6]))


RUNS = {
    "mask": lambda asked: aggopt.mask(people(), asked, progress=3),
    "compare": lambda asked: list(compare(people(), asked, progress=3)),
    "sweep": lambda asked: list(
        sweep(people(), asked, alpha=[0], delta=[0.1], progress=3)
    ),
}


@pytest.mark.parametrize("run", RUNS)
def test_progress_that_cannot_be_called_is_refused_before_any_work(run, no_work):
    with refused(JobError):
        RUNS[run](job(aggregation=P3M))


@pytest.mark.parametrize(
    "how",
    [
        {"method": "mean"},
        {"method": "p3m", "delta": 0.3},
        {"method": "p3m", "delta": {"column": "far"}},
        {"method": "satisfaction", "importance": {"column": "near"}},
    ],
)
def test_wishes_that_nothing_reads_are_refused(how, no_work):
    asking = job(roles={**ROLES, "wish": ["far", "near"]}, aggregation=how)
    with refused(JobError):
        aggopt.mask(people().assign(far=0.1, near=0.2), asking)


def test_wishes_that_one_attribute_each_reads_are_enough():
    both = {"age": {"column": "far"}, "income": {"column": "near"}}
    how = {"method": "p3m", "delta": {"attributes": both}}
    asking = job(roles={**ROLES, "wish": ["far", "near"]}, aggregation=how)
    release = aggopt.mask(people().assign(far=0.1, near=0.2), asking)
    assert release.measures.sl is not None
