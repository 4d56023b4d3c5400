"""The univariate partition is optimal: against exact arithmetic, at every edge."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from conftest import require_solver
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from partition import exact
from refusals import refused

from aggopt import aggregate
from aggopt.core import memory
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    SolverError,
    TableError,
    UnknownNameError,
)
from aggopt.partition import _univariate as univariate_module
from aggopt.partition import individual_ranking, univariate

RNG = np.random.default_rng(4)
COSTS = ("sse", "sae", "maxdist")
LAST_BITS = 4e-16

EDGES = {
    "normal": RNG.normal(size=20),
    "small whole numbers": RNG.integers(0, 6, 20),
    "offset of 1e6": 1e6 + RNG.normal(size=20),
    "1e9 and its neighbours": 1e9 + RNG.choice([-1.0, 0.0, 1.0], 20),
    "scales from 1e-12 to 1e12": 10.0 ** RNG.uniform(-12, 12, 20),
    "both signs, all scales": RNG.choice([-1, 1], 20)
    * 10.0 ** RNG.uniform(-12, 12, 20),
    "a far outlier first": np.append(-1e12, RNG.integers(0, 9, 19)),
    "a far cluster first": np.append(np.full(3, -1e12), RNG.normal(size=17)),
    "long ties": np.repeat([3.0, 1.0, 2.0], [9, 2, 9]),
    "one value": np.full(40, 0.1),
    "tenths": RNG.integers(0, 60, 20) * 0.1,
    "near the largest float": RNG.choice([-8e307, 8e307, 1e307], 20),
    "at the smallest float": RNG.choice([0.0, 5e-324, 1e-323], 20),
    "at the limit": np.repeat([-8e307, 5e307, 8e307], [7, 6, 7]),
    "tiny beside one": np.append(RNG.integers(0, 50, 19) * 1e-170, 1.0),
    "1e-200 beside 1e5": np.append(RNG.integers(0, 9, 17) * 1e-200, [1e5, 1.1e5, 3e5]),
    "single precision": RNG.normal(size=20).astype(np.float32),
    "sorted": np.sort(RNG.normal(size=20)),
    "reversed": np.sort(RNG.normal(size=20))[::-1],
}


def is_optimal(x, k: int, kind: str) -> None:
    how = {"centroids": "integer"} if kind == "integer" else {"cost": kind}
    labels = univariate(x, k, **how)
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert len(x) < 2 * k or sizes.max() < 2 * k
    best, found = exact.least(x, k, kind), exact.of(x, labels, kind)
    assert best <= found <= best * (1 + exact.Fraction(LAST_BITS))


@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize("k", [1, 2, 3, 6, 10, 11, 20])
@pytest.mark.parametrize("edge", EDGES)
def test_no_partition_costs_less_in_exact_arithmetic(edge, k, kind) -> None:
    is_optimal(EDGES[edge], k, kind)


def inputs(elements) -> st.SearchStrategy:
    return st.lists(elements, min_size=1, max_size=30)


tied = inputs(st.integers(0, 5))
tenths = inputs(st.integers(-30, 30).map(lambda v: v * 0.1))
anything = inputs(st.floats(-1e12, 1e12, allow_subnormal=False))


@pytest.mark.parametrize("kind", COSTS)
@given(x=tied | tenths | anything, data=st.data())
@examples(100)
def test_nor_on_inputs_at_random(kind, x, data) -> None:
    is_optimal(x, data.draw(st.integers(1, len(x))), kind)


@given(x=tied | inputs(st.integers(-1000, 1000)) | tenths, data=st.data())
@examples(100)
def test_nor_with_whole_numbers_for_centroids(x, data) -> None:
    is_optimal(x, data.draw(st.integers(1, len(x))), "integer")


@pytest.mark.parametrize("seed", range(30))
def test_no_partition_of_any_kind_costs_less(seed) -> None:
    rng = np.random.default_rng(seed)
    k = 2 + seed % 2
    x = rng.integers(0, 7, int(rng.integers(k, 9)))
    for kind in COSTS:
        everything = exact.partitions(list(range(len(x))), k)
        v = exact.values(x)
        best = min(
            sum(exact.cost([v[i] for i in group], kind) for group in groups)
            for groups in everything
        )
        assert exact.of(x, univariate(x, k, cost=kind), kind) == best


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_digits_covered_by_larger_costs_before_them_still_count(k, cost) -> None:
    small = RNG.integers(0, 50, 20 * k) * 1e-9
    x = np.concatenate([-(10.0**12) * np.arange(1, k + 1), small])
    found = exact.of(small, univariate(x, k, cost=cost)[k:], cost)
    assert found == exact.of(small, univariate(small, k, cost=cost), cost)


@pytest.mark.parametrize(
    ("x", "k", "expected"),
    [
        ([0, 100, 1, 101, 2, 102], 3, [0, 1, 0, 1, 0, 1]),
        ([0, 0, 1, 1, 2, 6, 6, 7, 10, 11], 3, [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]),
        ([5, 1, 3], 2, [0, 0, 0]),
        ([7.5], 1, [0]),
        ([3, 1, 2], 1, [2, 0, 1]),
        ([1, 1, 1, 1], 2, [0, 0, 1, 1]),
    ],
)
def test_small_inputs_by_hand(x, k, expected) -> None:
    labels = univariate(x, k).labels
    assert labels.dtype == np.intp
    assert labels.tolist() == expected


@pytest.mark.parametrize("k", [2, 7, 30, 255, 256, 300])
@pytest.mark.parametrize("cost", COSTS)
def test_all_ways_to_work_off_rows_agree_with_the_whole_graph(k, cost) -> None:
    x = np.round(np.random.default_rng(k).normal(size=max(300, 2 * k + 50)), 2)
    ours = univariate(x, k, cost=cost).certificate
    graph = univariate(x, k, cost=cost, solver="shortest_path").certificate
    assert ours.objective == pytest.approx(graph.objective, rel=1e-14)


@pytest.mark.parametrize("name", ["cvxpy:highs", "cvxpy:clarabel", "pyomo:highs"])
@pytest.mark.parametrize("cost", COSTS)
def test_solvers_of_linear_programs_find_the_same_cost(cost, name) -> None:
    require_solver(name)
    rng = np.random.default_rng(5)
    for _ in range(6):
        n, tied = int(rng.integers(1, 30)), rng.integers(2)
        x = rng.integers(0, 6, n) if tied else rng.normal(size=n)
        k = int(rng.integers(1, min(n, 6) + 1))
        best = float(exact.least(x, k, cost))
        labels = univariate(x, k, cost=cost, solver=name)
        assert float(exact.of(x, labels, cost)) == pytest.approx(best, rel=LAST_BITS)


@pytest.mark.slow
def test_all_solvers_agree_on_thousands_of_inputs() -> None:
    rng = np.random.default_rng(6)
    names = ["shortest_path", "cvxpy:highs", "cvxpy:clarabel", "pyomo:highs"]
    for turn in range(2000):
        n, cost = int(rng.integers(1, 25)), COSTS[turn % 3]
        x = (rng.integers(0, 6, n), rng.normal(size=n), rng.integers(0, 60, n) * 0.1)
        k = int(rng.integers(1, min(n, 6) + 1))
        x = x[turn // 3 % 3]
        best = float(exact.of(x, univariate(x, k, cost=cost), cost))
        for name in names if turn % 20 == 0 else names[:1]:
            labels = univariate(x, k, cost=cost, solver=name)
            found = float(exact.of(x, labels, cost))
            assert found == pytest.approx(best, rel=LAST_BITS), (turn, name)


def test_scip_finds_the_same_cost() -> None:
    require_solver("pyomo:scip")
    x = np.random.default_rng(0).integers(0, 9, 25)
    labels = univariate(x, 3, solver="scip")
    assert exact.of(x, labels) == exact.least(x, 3)


def test_rounding_the_best_groups_is_not_best_for_whole_numbers() -> None:
    x = [0, 0, 2, 4, 5, 5, 8]
    found = exact.of(x, univariate(x, 2, centroids="integer"), "integer")
    rounded = exact.of(x, univariate(x, 2), "integer")
    assert found == exact.least(x, 2, "integer") < rounded


def test_where_a_rival_stops_above_the_optimum() -> None:
    x = [0, 0, 1, 1, 2, 6, 6, 7, 10, 11]  # microagg1d 0.4.0 by default: 24.8
    assert exact.of(x, univariate(x, 3)) == exact.Fraction(61, 3)


def test_order_and_units_do_not_matter() -> None:
    x = RNG.normal(size=101)
    order = RNG.permutation(101)
    for cost in COSTS:
        labels = univariate(x, 4, cost=cost)
        assert (univariate(x[order], 4, cost=cost) == labels[order]).all()
        assert (univariate(8 * x, 4, cost=cost) == labels).all()
        mirrored = univariate(-x, 4, cost=cost).certificate
        ours = univariate(x, 4, cost=cost).certificate
        assert mirrored.objective == pytest.approx(ours.objective, rel=1e-14)


def test_copies_cost_nothing() -> None:
    x = RNG.permutation(np.repeat(RNG.normal(size=20), 3))
    assert univariate(x, 3).certificate.objective == 0.0


def test_of_equal_values_the_first_goes_lower() -> None:
    labels = univariate(np.zeros(10), 3)
    assert (np.diff(labels) >= 0).all()


def test_the_input_is_left_alone_and_may_be_read_only() -> None:
    x = np.array([3.0, -0.0, 0.0, 9.0, 8.0])[::-1]
    x.flags.writeable = False
    before = x.copy()
    univariate(x, 2)
    assert (x == before).all()


def test_the_certificate_is_that_of_the_mean() -> None:
    x = RNG.gamma(2.0, 1e4, size=200)
    result = univariate(x, 5)
    masked = aggregate.mean(x[:, None], result.labels)
    certificate = result.certificate
    assert certificate.objective == pytest.approx(masked.certificates[0].objective)
    assert certificate.bound == certificate.objective
    assert certificate.violation == 0.0
    assert certificate.solver == "dynamic"


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_other_costs_are_certified_in_standard_deviations(offset) -> None:
    x = np.round(RNG.gamma(2.0, 1e4, size=200)) + offset
    result = univariate(x, 5, cost="sae")
    masked = aggregate.median(x[:, None], result.labels)
    lost = masked.certificates[0].objective
    assert result.certificate.objective == pytest.approx(lost)
    result = univariate(x, 5, cost="maxdist")
    groups = [x[result.labels == g] for g in range(result.labels.max() + 1)]
    lost = sum(np.ptp(group) for group in groups) / x.std()
    assert result.certificate.objective == pytest.approx(lost)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("solver", ["dynamic", "shortest_path"])
def test_certificates_are_numbers(edge, solver) -> None:
    certificate = univariate(EDGES[edge], 4, solver=solver).certificate
    assert 0 <= certificate.bound == certificate.objective < np.inf


def test_a_bound_is_never_above_the_objective(monkeypatch) -> None:
    real = univariate_module.run_solver

    def rounded_up(*asked, **settings):
        return replace(real(*asked, **settings), bound=1e300)

    monkeypatch.setattr(univariate_module, "run_solver", rounded_up)
    certificate = univariate(RNG.normal(size=30), 4).certificate
    assert certificate.bound == certificate.objective


def test_a_linear_program_proves_a_bound() -> None:
    require_solver("cvxpy:highs")
    certificate = univariate(RNG.normal(size=60), 4, solver="highs").certificate
    assert certificate.gap == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "x",
    [
        [1.0, np.nan],
        [1.0, -np.inf],
        ["a", "b"],
        [1 + 1j, 2],
        [[1.0, 2.0]],
        3.0,
        [],
        [-1.7e308, 1.7e308],
    ],
)
def test_values_that_cannot_be_used_are_refused(x) -> None:
    with refused(TableError):
        univariate(x, 1)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"k": 5}, InfeasibleInputError),
        ({"k": 0}, JobError),
        ({"k": 2.0}, JobError),
        ({"cost": "ssse"}, UnknownNameError),
        ({"centroids": "int"}, UnknownNameError),
        ({"centroids": "integer", "cost": "sae"}, JobError),
        ({"solver": "shortest_pathh"}, UnknownNameError),
        ({"solver": 3}, UnknownNameError),
        ({"options": 3}, JobError),
        ({"cost": np.array(["sse"])}, UnknownNameError),
        ({"solver": "lagrangian"}, JobError),
        ({"time_limit": 3}, JobError),
        ({"options": {"a": 1}}, JobError),
        ({"solver": "shortest_path", "options": {"a": 1}}, JobError),
        ({"solver": "cvxpy:highs", "time_limit": -1}, JobError),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(settings, error) -> None:
    with refused(error):
        univariate([1.0, 2.0, 8.0, 9.0], **{"k": 2, **settings})


def test_whole_centroids_need_values_that_floats_tell_apart() -> None:
    with refused(TableError):
        univariate([1e17, 2e17], 1, centroids="integer")


def test_scales_too_far_apart_for_linear_programs_are_refused() -> None:
    x = np.append(10.0 ** np.arange(-12, 12), -1e12)
    univariate(x, 3)
    with refused(TableError, "shortest_path"):
        univariate(x, 3, solver="cvxpy:highs")


def test_a_solver_stopped_early_returns_nothing_worse() -> None:
    require_solver("cvxpy:highs")
    x = RNG.normal(size=3000)
    with refused(SolverError):
        univariate(x, 5, solver="cvxpy:highs", time_limit=1e-6)


@pytest.mark.parametrize(
    "solver", ["dynamic", "shortest_path", "cvxpy:highs", "pyomo:highs"]
)
def test_what_does_not_fit_is_refused_with_the_size(solver, monkeypatch) -> None:
    monkeypatch.setattr(memory, "find_available_memory", lambda: 3_000)
    with refused(InfeasibleInputError):
        univariate(np.arange(1000.0), 100, solver=solver)


def test_memory_is_asked_for_what_is_needed() -> None:
    with pytest.raises(InfeasibleInputError, match=r"1024\.5 GiB"):
        univariate(np.arange(10**6), 10**4, solver="shortest_path")


def test_memory_grows_with_the_values_and_not_with_k() -> None:
    x = np.random.default_rng(0).normal(size=100_000)
    univariate(x[:100], 20)
    peaks = []
    for k in (5, 500):
        tracemalloc.start()
        univariate(x, k)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 10 * x.nbytes


def test_individual_ranking_is_each_attribute_by_itself() -> None:
    X = np.column_stack([RNG.normal(size=50), RNG.integers(0, 9, 50)])
    labels = individual_ranking(X, 4, cost="sae")
    assert labels.shape == X.shape
    for j in range(2):
        assert (labels[:, j] == univariate(X[:, j], 4, cost="sae")).all()


def test_individual_ranking_refuses_as_univariate_does() -> None:
    with refused(TableError):
        individual_ranking([1.0, 2.0], 1)
    with refused(InfeasibleInputError):
        individual_ranking([[1.0], [2.0]], 3)
    with refused(UnknownNameError, "'x'"):
        individual_ranking([[1.0], [2.0]], 1, cost="x")
