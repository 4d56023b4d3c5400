"""Optimal partitions, held against every partition; and the bounds at any time."""

from dataclasses import replace
from functools import cache
from itertools import combinations
from math import inf

import numpy as np
import pytest
from partition.obeyed import ON_ANY_RECORDS, obeys
from refusals import refused

from aggopt import datasets
from aggopt.core.deadline import Deadline
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError, JobError, SolverError, UnknownNameError
from aggopt.partition import local_search, mdav, optimal
from aggopt.partition._optimal import column_generation, schedule, search_tree_kernels
from aggopt.partition._optimal import optimal as optimal_module
from aggopt.partition._optimal.column_generation import ColumnGeneration
from aggopt.partition._optimal.columns import ColumnPool, group_columns, number_groups
from aggopt.partition._optimal.incumbent import Incumbent
from aggopt.partition._optimal.pricing import Duals, Pricer, PricingEffort, SubsetCut
from aggopt.partition.neighbours import find_neighbours
from aggopt.partition.shared import restricted_master
from aggopt.solvers import SOLVERS, Status


@pytest.fixture(autouse=True)
def _by_columns(monkeypatch):
    """Few records are priced like many, and pairs of records prove nothing.

    `test_optimal_few.py` and `test_optimal_pairs.py` are about the others.
    """
    monkeypatch.setattr(search_tree_kernels, "MOST", 0)
    monkeypatch.setattr(optimal_module, "MANY_SECONDS", 0.0)


KINDS = ("normal", "tied", "repeated", "far apart")


def records(seed: int, n: int, d: int, kind: str = "normal"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "tied":
        return np.rint(X)
    if kind == "repeated":
        return X[rng.integers(0, max(1, n // 2), n)]
    return X * 10.0 ** rng.integers(-6, 7, d) if kind == "far apart" else X


def least_loss(Z, k: int) -> float:
    """The least loss of all partitions into groups of k or more."""

    @cache
    def loss(group: tuple[int, ...]) -> float:
        return float(((Z[list(group)] - Z[list(group)].mean(axis=0)) ** 2).sum())

    @cache
    def least(left: tuple[int, ...]) -> float:
        best = inf if left else 0.0
        for size in range(k, len(left) + 1) if left else ():
            for others in combinations(left[1:], size - 1):
                rest = tuple(i for i in left[1:] if i not in others)
                best = min(best, loss((left[0], *others)) + least(rest))
        return best

    return least(tuple(range(len(Z))))


def priced(X, k: int, gap: float = 1e-9) -> ColumnGeneration:
    """Column generation over z-scores, from MDAV's groups."""
    Z = np.ascontiguousarray(Scale.of(X).standardise(X))
    labels = number_groups(group_columns(mdav(X, k), k), len(X))
    best = Incumbent(Z, k, labels, 0.0, gap)
    return ColumnGeneration(best, Pricer(Z, k, find_neighbours(Z, 8)), Deadline(None))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "d", "k"),
    [(7, 1, 2), (8, 3, 2), (9, 2, 3), (10, 1, 3), (10, 2, 4), (10, 3, 5)],
)
def test_no_partition_loses_less(n, d, k, kind):
    X = records(n + d + k, n, d, kind)
    found = optimal(X, k)
    Z = Scale.of(X).standardise(X)
    best = least_loss(Z, k)
    certificate = found.certificate
    assert certificate.status is Status.OPTIMAL
    assert certificate.objective == pytest.approx(best, abs=1e-6 * Z.size)
    assert certificate.bound <= best * (1 + 1e-12) + 1e-12
    assert certificate.gap <= 1.1e-6
    means = [Z[found.labels == g].mean(axis=0) for g in found.labels]
    assert certificate.objective == pytest.approx(((Z - means) ** 2).sum())


@pytest.mark.parametrize("seed", range(4))
def test_records_may_be_taken_as_they_are(seed):
    X = 1e3 * records(seed, 9, 2) + 1e6
    found = optimal(X, 2, scale="none").certificate
    assert found.objective == pytest.approx(least_loss(X, 2), rel=1e-5)
    assert found.bound <= least_loss(X, 2)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["cvxpy:highs", "pyomo:highs", "pyomo:scip"])
def test_any_solver_of_integer_programs_will_do(solver, monkeypatch):
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is missing; to enable: {SOLVERS[solver].install}")
    monkeypatch.setattr(schedule, "QUICK", 0)  # no branches before integer programs
    monkeypatch.setattr(column_generation, "CUTS", 0)
    X = records(3, 10, 2)
    found = optimal(X, 2, solver=solver).certificate
    best = least_loss(Scale.of(X).standardise(X), 2)
    assert found.objective == pytest.approx(best)
    assert found.bound <= best
    assert (found.status, found.solver) == (Status.OPTIMAL, solver)


@pytest.mark.parametrize(("k", "most"), [(2, 0.2), (3, -0.5), (4, -0.3), (5, 0.5)])
@pytest.mark.parametrize("kind", ["normal", "tied"])
def test_exact_pricing_finds_every_group_that_pays(k, most, kind):
    rng = np.random.default_rng(k)
    Z, n = records(k, 13, 3, kind), 13
    u, s = rng.uniform(0.5, 2, n), -rng.uniform(0, 1, 9)
    sizes = [*4 * [3], *3 * [5], k + 1, 2 * k]
    drawn = [rng.choice(n, size, replace=False).tolist() for size in sizes]
    divisors = [*7 * [2], k, k]
    pricer = Pricer(Z, k, find_neighbours(Z, 5))
    for together, apart in (((), ()), ([(0, 3), (3, 5)], [(1, 4), (5, 6)])):
        cuts = [SubsetCut(tuple(c), p) for c, p in zip(drawn, divisors, strict=True)]
        duals = Duals(u, cuts, s, together, apart)
        found = pricer.price_groups(
            duals, PricingEffort(keep=9999), Deadline(None), most
        )
        pays = {}
        for size in range(k, 2 * k):
            for g in combinations(range(n), size):
                rows, inside = list(g), {*g}
                if any((i in inside) != (j in inside) for i, j in together):
                    continue
                if any(i in inside and j in inside for i, j in apart):
                    continue
                cost = ((Z[rows] - Z[rows].mean(axis=0)) ** 2).sum() - u[rows].sum()
                counts = np.array([len(inside & {*c}) for c in drawn])
                pays[g] = cost - np.dot(s, counts // divisors)
        got = [tuple(row[row >= 0].tolist()) for row in found.groups.members]
        assert found.complete
        assert len(got) == len({*got})
        assert {*got} == {g for g, cost in pays.items() if cost <= most}
        for g, cost in zip(got, found.reduced, strict=True):
            assert cost == pytest.approx(pays[g])


@pytest.mark.parametrize("seed", range(3))
def test_any_prices_prove_no_more_than_the_best(seed):
    X = records(seed, 9, 2, KINDS[seed])
    of = priced(X, 3)
    best = least_loss(of.best.Z, 3)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        drawn = [tuple(rng.choice(9, 3, replace=False).tolist()) for _ in range(4)]
        cuts = [SubsetCut(each, 2 + at % 2) for at, each in enumerate(drawn)]
        duals = Duals(rng.normal(1, 1, 9), cuts, -rng.exponential(0.3, 4))
        found = of.pricer.price_groups(duals, PricingEffort(), Deadline(None))
        assert found.done
        assert of.pricer.bound(duals, found.lowest) <= best + 1e-9


def test_a_share_of_the_prices_proves_a_bound():
    of = priced(records(5, 40, 3), 3)
    of.price_heuristically(Deadline(None))
    assert schedule.raise_bound_by_scaling(of, Deadline(None))
    scaled = of.best.bound
    assert of.price()
    assert of.solved.value == pytest.approx(of.best.bound, rel=1e-6)
    assert 0.97 * of.best.bound < scaled < of.best.bound


@pytest.mark.parametrize("seed", range(4))
def test_branches_close_the_gap_without_cuts(seed, monkeypatch):
    monkeypatch.setattr(column_generation, "CUTS", 0)
    of = priced(records(seed, 10, 2, KINDS[seed % 3]), 2 + seed % 2, gap=1e-7)
    assert of.price()
    schedule.BranchAndPrice(of).process(Deadline(None))
    best = least_loss(of.best.Z, of.best.k)
    assert of.best.value == pytest.approx(best)
    assert best * (1 - 1e-6) - 1e-6 <= of.best.bound <= best


def test_branches_of_few_records_need_no_integer_program(monkeypatch):
    asked = []
    monkeypatch.setattr(
        column_generation, "_solve_program", lambda *args: asked.append(args)
    )
    found = optimal(records(11, 14, 3), 3).certificate
    assert (found.status, asked) == (Status.OPTIMAL, [])


def test_cuts_are_broken_by_the_choice_and_raise_the_bound():
    of = priced(records(7, 60, 2), 3)
    assert of.price()
    before, share = of.best.bound, of.solved.share
    count = of.cut()
    found = of.master.cuts
    held = (
        column_generation.count_quotients(of.pool.all, found, 60)[:, : len(share)]
        @ share
    )
    assert count == len(found) == len({*found})
    assert (held > [c.side for c in found]).all()
    assert of.price()
    assert of.best.bound > before


def test_a_pool_holds_each_group_once():
    Z = records(0, 6, 2)
    pool = ColumnPool(Z, 2)
    groups = group_columns(np.array([0, 1, 0, 2, 1, 2]), 2)
    assert pool.add(groups).tolist() == [0, 1, 2]
    assert pool.add(groups).tolist() == []
    assert pool.places(groups.at([2, 0])).tolist() == [2, 0]
    assert pool.costs[0] == pytest.approx(((Z[0] - Z[2]) ** 2).sum() / 2)


def labels(X, k):
    return optimal(X, k).labels


@pytest.mark.parametrize(
    "law",
    [
        *ON_ANY_RECORDS,
        "container_does_not_matter",
        "order_of_attributes_does_not_matter",
        "order_of_records_does_not_matter",
        "copies_stay_together",
        "impossible_k_is_refused",
        "unusable_records_are_refused",
    ],
)
def test_laws(law):
    obeys(optimal, records(11, 14, 3), 3, [law])


@pytest.mark.parametrize(
    "law", ["units_do_not_matter", "constant_attribute_does_not_matter"]
)
def test_laws_of_units(law):
    obeys(optimal, records(12, 12, 2), 2, [law])


def test_labels_follow_the_groups_first_records():
    found = labels(records(13, 12, 2), 2)
    first = [int(np.flatnonzero(found == g)[0]) for g in range(found.max() + 1)]
    assert first == sorted(first)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 1), (4, 4), (7, 4)])
def test_where_there_is_one_choice(n, k):
    found = optimal(records(n, n, 2), k, time_limit=0)
    assert found.labels.tolist() == (list(range(n)) if k == 1 else [0] * n)
    assert found.certificate.status is Status.OPTIMAL
    assert found.certificate.gap == 0


def test_n_of_2k_may_be_two_groups():
    X = [[0.0], [0.1], [9.0], [9.1]]
    assert optimal(X, 2).labels.tolist() == [0, 0, 1, 1]


def test_constant_attributes_lose_nothing():
    found = optimal(np.full((9, 2), 7.0), 2)
    assert found.certificate.status is Status.OPTIMAL
    assert (found.certificate.objective, found.certificate.bound) == (0, 0)


@pytest.mark.slow
def test_records_by_the_thousand_at_a_few_places():
    X = np.repeat([[0.0, 1.0], [5.0, 2.0], [9.0, 9.0]], [1001, 800, 2], axis=0)
    found = optimal(X, 3, time_limit=600)
    Z = Scale.of(X).standardise(X)
    near = ((Z[1000] - Z[-1]) ** 2).sum(), ((Z[1001] - Z[-1]) ** 2).sum()
    assert found.certificate.objective == pytest.approx(min(near) * 2 / 3)
    assert found.certificate.status is Status.OPTIMAL


def test_no_time_leaves_the_start_and_says_so():
    X = records(20, 60, 3)
    found = optimal(X, 3, time_limit=0)
    assert (found.labels == number_groups(group_columns(mdav(X, 3), 3), 60)).all()
    assert found.certificate.status is Status.LIMIT
    assert 0 < found.certificate.bound < found.certificate.objective
    assert found.certificate.solver == "local search"


def test_a_gap_that_is_wide_enough_ends_it():
    X = records(21, 60, 3)
    wide, narrow = optimal(X, 3, gap_tol=0.1), optimal(X, 3)
    assert wide.certificate.gap <= 0.1
    assert wide.certificate.status is Status.GAP
    assert wide.certificate.bound < wide.certificate.objective
    assert wide.certificate.bound <= narrow.certificate.objective
    assert narrow.certificate.status is Status.OPTIMAL


@pytest.mark.parametrize("when", [0.0, 0.3, 0.5])
def test_an_interrupt_leaves_the_best_so_far(when):
    X = records(22, 80, 3)

    def interrupt(share: float) -> None:
        if share >= when:
            raise KeyboardInterrupt

    found = optimal(X, 3, progress=interrupt)
    assert found.certificate.status is Status.INTERRUPTED
    assert np.bincount(found.labels).min() >= 3
    start = optimal(X, 3, time_limit=0).certificate
    assert found.certificate.objective <= start.objective
    assert start.bound <= found.certificate.bound <= found.certificate.objective


def test_each_kernel_that_python_calls_is_compiled_once(ticking):
    from aggopt.partition._optimal import pricing_kernels as exact_pricing_kernels
    from aggopt.partition._optimal import pricing_kernels as heuristic_pricing_kernels
    from aggopt.partition._optimal import subset_row_kernels as subset_row_kernels

    kernels = (
        heuristic_pricing_kernels.improve_priced_groups,
        subset_row_kernels.fill_pair_shares,
        subset_row_kernels.find_triples,
        subset_row_kernels.find_quintuples,
        exact_pricing_kernels.price_groups,
    )
    for k in (3, 6):
        optimal(records(27, 40, 2), k, time_limit=0.05)
    assert max(len(kernel.signatures) for kernel in kernels) == 1


CTRL_C = """
import os, signal, threading
import numpy as np
from aggopt.core.deadline import Deadline
from aggopt.partition._optimal.columns import group_columns
from aggopt.partition._optimal.pricing import Duals, Pricer, PricingEffort
from aggopt.partition.neighbours import find_neighbours

Z = np.random.default_rng(0).normal(size=(1500, 13))
pricer, duals = Pricer(Z, 3, find_neighbours(Z, 8)), Duals(np.full(1500, 9.0))
groups = group_columns(np.arange(1500) // 3, 3).at(np.tile(np.arange(500), 40))
signal.signal(signal.SIGINT, signal.default_int_handler)
for work in (
    lambda seconds: pricer.price_groups(duals, PricingEffort(), Deadline(seconds)),
    lambda _: pricer.price_heuristically(duals, groups),
):
    work(0.05)  # loads
    press = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    try:
        while press.is_alive():
            work(9.0)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_while_compiled_pricing_runs_is_an_interrupt_and_no_crash(forked):
    found = forked(CTRL_C)
    said = 2 * "interrupted\n"
    assert (found.returncode, found.stdout, found.stderr) == (0, said, "")


def test_progress_ends_with_all_done():
    told: list[float] = []
    optimal(records(23, 30, 2), 3, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_large_table_gets_a_local_search_and_is_told(monkeypatch):
    monkeypatch.setattr(optimal_module, "LARGE", 50)
    X = records(24, 60, 3)
    found = optimal(X, 3).certificate
    assert (found.status, found.solver) == (Status.UNPROVEN, "local search")
    start = optimal(X, 3, time_limit=0).certificate
    assert found.objective < start.objective
    assert found.bound == pytest.approx(start.bound)


def test_what_cannot_be_used_is_named():
    X = records(25, 9, 2)
    with refused(InfeasibleInputError):
        optimal(X, 10)
    for seconds in (-1, inf, "1", True):
        with refused(JobError):
            optimal(X, 3, time_limit=seconds)
    for gap in (-0.1, 1.0, None):
        with refused(JobError):
            optimal(X, 3, gap_tol=gap)
    with refused(JobError):
        optimal(X, 3, seed=-1)
    with refused(UnknownNameError, "'highs'"):
        optimal(X, 3, solver="highz")
    with refused(JobError):
        optimal(X, 3, solver="dynamic")
    with refused(UnknownNameError, "No scale"):
        optimal(X, 3, scale="y")


def test_a_solver_that_is_missing_is_named_before_any_work(monkeypatch):
    missing = replace(SOLVERS["cvxpy:highs"], needs=("no_such_package",))
    monkeypatch.setitem(SOLVERS._methods, "cvxpy:highs", missing)
    X = records(26, 9, 2)
    with refused(SolverError):
        optimal(X, 3, solver="cvxpy:highs", progress=lambda _: pytest.fail("it worked"))
    with refused(SolverError):
        optimal(X, 3, progress=lambda _: pytest.fail("it worked"))
    assert restricted_master.SOLVERS is SOLVERS


STRATA = np.column_stack([np.arange(60) % 2, records(23, 60, 2)])


@pytest.mark.parametrize("weight", [1e3, 1e5, 1e7])
def test_proven_means_little_of_what_is_lost_not_of_what_there_is(weight):
    X = STRATA * [weight, 1, 1]
    found = optimal(X, 3, scale="none").certificate
    assert found.status is Status.OPTIMAL
    assert found.objective - found.bound <= 1e-6 * found.objective
    other = local_search(X, 3, scale="none").certificate
    assert found.objective <= other.objective * (1 + 1e-6)


def test_a_code_for_missing_entries_hides_no_gap():
    X = records(24, 40, 2)
    X[:4] = 1e8
    found = optimal(X, 3).certificate
    assert found.status is Status.OPTIMAL
    assert 0 < found.objective < 1e-9
    assert found.objective - found.bound <= 1e-6 * found.objective


def test_a_gap_that_is_asked_for_is_one_of_what_is_lost():
    near = np.repeat(records(25, 20, 2), 6, axis=0)
    X = near + 0.01 * records(26, 120, 2)
    found = optimal(X, 3, scale="none", gap_tol=0.01).certificate
    assert found.objective - found.bound <= 0.01 * found.objective


@pytest.mark.parametrize("unit", [1e-150, 1e160, 1e300])
def test_units_whose_squares_are_no_floats_do_not_matter(unit):
    X = records(28, 30, 2)
    found = optimal(X * unit, 3, scale="none")
    proof = found.certificate
    proven = (proof.status is Status.OPTIMAL, proof.bound is not None)
    assert proven == (unit < 1, unit < 1)
    assert np.isfinite(proof.objective) == (unit < 1)
    np.testing.assert_array_equal(found.labels, optimal(X, 3, scale="none").labels)


def test_many_records_and_little_time_are_not_priced(ticking):
    X = records(27, 4000, 3)
    found = optimal(X, 3, time_limit=0.1).certificate
    assert found.solver == "local search"
    assert found.status is Status.LIMIT
    assert found.objective < 0.9 * optimal(X, 3, time_limit=0).certificate.objective


@pytest.mark.slow
def test_census_is_proven():
    found = optimal(datasets.census(), 3, time_limit=900).certificate
    assert found.status is Status.OPTIMAL
    assert 100 * found.objective / (1080 * 13) == pytest.approx(4.667936, abs=1e-6)


def test_cuts_are_found_when_groups_came_after_the_last_prices(monkeypatch):
    from aggopt.partition._optimal import column_generation
    from aggopt.partition._optimal.columns import group_columns

    real, grew = column_generation.ColumnGeneration.cut, []

    def grown(self):
        before = len(self.pool.all.sizes)
        mixed = np.random.default_rng(before).permutation(np.arange(60) // 3)
        self.add(group_columns(mixed, 3))
        grew.append(len(self.pool.all.sizes) > before)
        return real(self)

    X = np.random.default_rng(1).normal(size=(60, 3))
    expected = optimal(X, 3).certificate
    monkeypatch.setattr(column_generation.ColumnGeneration, "cut", grown)
    found = optimal(X, 3).certificate
    assert any(grew)
    assert found.status is expected.status is Status.OPTIMAL
    assert found.objective == pytest.approx(expected.objective)
