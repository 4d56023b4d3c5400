"""Repair: feasible by an oracle in fractions, never below the optimum, never worse."""

from dataclasses import replace
from fractions import Fraction

import closeness as oracle
import numpy as np
import pytest
from conftest import require_solver
from refusals import refused

import aggopt.repair._local_search as multistart_module
import aggopt.repair._merge_ilp as exchange_module
import aggopt.repair._merge_ilp as ilp_module
import aggopt.repair._problem as problem_module
import aggopt.repair._unions as unions_module
from aggopt.aggregate import mean
from aggopt.core.deadline import Deadline
from aggopt.errors import AggoptError
from aggopt.partition import closeness_first, loss_bound, mdav
from aggopt.partition._closeness_first import fit_count, partition_by_strata
from aggopt.partition._merge_until_close import merge_until_close
from aggopt.repair import _closeness as closeness_module
from aggopt.repair import closeness
from aggopt.repair._closeness import RepairOptions
from aggopt.repair._merge_ilp import SearchedUnions, exchange_records
from aggopt.repair._problem import (
    MethodResult,
    create_problem,
    make_close,
)
from aggopt.solvers import Status, choose_solver

methods = pytest.mark.parametrize("method", ["merge-ilp", "swap", "sweep"])
searches = pytest.mark.parametrize("method", ["swap", "sweep"])


def few(method):
    return {} if method == "merge-ilp" else {"proposals": 2000}


@searches
@pytest.mark.parametrize("seed", range(8))
def test_feasible_and_never_below_the_optimum(method, seed):
    Z, values = oracle.instance(seed, 8)
    k, t = 2 + seed % 2, (0.1, 0.2, 0.3)[seed % 3]
    exact_t = Fraction(str(t))
    labels = np.arange(8) // k % (8 // k)
    found = closeness(Z, values, labels, k, t, method=method, seed=seed, **few(method))
    assert oracle.holds(values, found.labels, k, exact_t)
    best = float(oracle.least(Z, values, k, exact_t))
    mine = float(oracle.sse(Z, oracle.parts(found.labels)))
    assert mine >= best - 1e-9
    certificate = found.certificate
    assert certificate.objective == pytest.approx(mine)
    assert certificate.bound <= best + 1e-9
    assert certificate.violation == 0.0


@pytest.mark.parametrize("seed", range(2))
def test_merging_is_feasible_optimal_and_as_good_as_algorithm_1(seed):
    require_solver("cvxpy:highs")
    Z, values = oracle.instance(seed, 28)
    t, start = 0.15, mdav(Z, 4)
    found = closeness(Z, values, start, 4, t)
    one = merge_until_close(Z, values, 4, t)
    assert oracle.holds(values, found.labels, 4, Fraction("0.15"))
    for group in oracle.parts(start):
        assert len(set(found.labels[group])) == 1
    task = create_problem(Z, values, 4, t, "distinct")
    assert task.sse(found.labels) <= task.sse(one) + 1e-9
    assert found.merging.status is Status.OPTIMAL
    assert found.merging.bound <= found.merging.objective == found.certificate.objective
    best = _best_union(task, start)
    assert found.merging.objective == pytest.approx(best)


def _best_union(task, start):
    """By looking at every partition of the groups."""
    from partition.exact import partitions

    def united(parts):
        of_group = np.empty(start.max() + 1, int)
        for u, part in enumerate(parts):
            of_group[part] = u
        return of_group[start]

    every = map(united, partitions(list(range(start.max() + 1)), 1))
    return min(task.sse(labels) for labels in every if task.holds(labels))


def test_another_solver_chooses_as_well():
    require_solver("pyomo:highs")
    Z, values = oracle.instance(5, 24)
    start = mdav(Z, 3)
    one = closeness(Z, values, start, 3, 0.2)
    other = closeness(Z, values, start, 3, 0.2, solver="pyomo:highs", time_limit=600)
    assert other.certificate.solver == "pyomo:highs"
    assert other.merging.objective == pytest.approx(one.merging.objective)


@searches
@pytest.mark.parametrize("seed", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_solver_that_is_named_has_the_last_word(method, seed):
    require_solver("cvxpy:highs")
    Z, values = oracle.instance(seed, 24, ties=False)
    given = (mdav(Z, 3), 3, 0.25)
    asked = {"method": method, "proposals": 0, "seed": seed}
    without = closeness(Z, values, *given, **asked).certificate
    found = closeness(Z, values, *given, **asked, solver="highs")
    assert oracle.holds(values, found.labels, 3, Fraction("0.25"))
    assert found.certificate.objective <= without.objective + 1e-9
    assert found.certificate.solver == "swaps and moves, then cvxpy:highs"
    assert found.merging is None


def test_a_ring_of_three_changes_is_found():
    require_solver("cvxpy:highs")
    # each group holds a record of the next; any swap of two loses more
    corner = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 8.66]])
    Z = np.concatenate([corner[[g, g, (g + 1) % 3]] for g in range(3)])
    values, labels = np.tile([1, 2, 3], 3), np.arange(9) // 3
    task = create_problem(Z, values, 3, 0.5, "distinct")
    highs = choose_solver("highs", "closeness_merge", "MILP")
    found = exchange_records(task, labels, highs, Deadline(None)).labels
    assert task.sse(found) == pytest.approx(0.0)
    assert task.sse(labels) > 1


def test_exchanging_ends_in_time_and_merges_no_single_records(monkeypatch, ticking):
    require_solver("cvxpy:highs")
    Z, values = oracle.instance(2, 60, ties=False)
    task, highs = (
        create_problem(Z, values, 3, 0.3, "distinct"),
        choose_solver("highs", "closeness_merge", "MILP"),
    )
    labels = closeness_first(Z, values, 3, 0.3)
    monkeypatch.delattr(ilp_module, "make_close")
    nothing = SearchedUnions(np.full(60, -1))
    monkeypatch.setattr(ilp_module, "search_unions", lambda *given: nothing)
    found = exchange_records(task, labels, highs, Deadline(0.4))
    assert task.sse(found.labels) <= task.sse(labels)
    looked = []

    def slowly(*given):
        looked.append(given)
        ticking.sleep(0.05)
        return []

    monkeypatch.setattr(exchange_module, "_change_group", slowly)
    found = exchange_records(task, labels, highs, Deadline(0.15))
    assert 0 < len(looked) < labels.max()
    assert (found.labels == labels).all()
    assert found.status is Status.LIMIT


@pytest.mark.filterwarnings("ignore:.*one value only:UserWarning")
@searches
def test_a_solver_has_nothing_to_exchange_in_one_record(method):
    require_solver("cvxpy:highs")
    found = closeness([[1.0]], [3], [0], 1, 0.2, method=method, solver="highs")
    assert found.labels.tolist() == [0]


def test_more_groups_than_can_be_looked_at_claim_no_bound(monkeypatch):
    require_solver("cvxpy:highs")
    monkeypatch.setattr(unions_module, "MOST", 30)
    Z, values = oracle.instance(3, 60, ties=False)
    start = mdav(Z, 3)
    found = closeness(Z, values, start, 3, 0.2)
    one = merge_until_close(Z, values, 3, 0.2)
    task = create_problem(Z, values, 3, 0.2, "distinct")
    assert task.sse(found.labels) < task.sse(one)
    assert found.merging.bound is None
    assert found.merging.status is Status.LOCAL


@pytest.mark.parametrize("count", [2, 3])
def test_near_unions_are_close_unions_each_once(count):
    Z, values = oracle.instance(4, 36, ties=False)
    task, labels = create_problem(Z, values, 3, 0.3, "distinct"), mdav(Z, 3).labels
    always = Deadline(None)
    every = set(
        map(tuple, unions_module._find_all_of_width(task, labels, count, always))
    )
    near = list(
        map(tuple, unions_module._find_near_unions(task, labels, count, always))
    )
    assert set(near) == every  # m is small: all are near
    assert len(near) == len(every)
    for g, row in enumerate(unions_module._find_near_groups(task, labels, 4)):
        assert g not in row
        assert len(set(row)) == 4


class Looks:
    """A clock that is over from the look at it after so many others."""

    seconds = spent = left = 1.0

    def __init__(self, looks):
        self.looks = looks

    @property
    def over(self):
        self.looks -= 1
        return self.looks < 0


def test_the_clock_is_looked_at_between_portions_of_unions(monkeypatch):
    Z, values = oracle.instance(4, 36, ties=False)
    task, labels = create_problem(Z, values, 3, 0.3, "distinct"), mdav(Z, 3).labels
    every = unions_module._find_all_of_width(task, labels, 2, Deadline(None))
    monkeypatch.setattr(unions_module, "LOOKED_AT", 10 * task.ordered.m)
    in_tens = unions_module._find_all_of_width(task, labels, 2, Looks(9))
    assert (in_tens == every).all()
    for of in (unions_module._find_all_of_width, unions_module._find_near_unions):
        assert of(task, labels, 2, Looks(1)) is None
    known = np.zeros(36, int)
    whole = unions_module.find_close_unions(task, labels, known, Deadline(None))
    cut = unions_module.find_close_unions(task, labels, known, Looks(1))
    assert (whole.complete, cut.complete) == (True, False)
    assert len(cut.costs) < len(whole.costs)


@searches
def test_when_time_is_up_no_search_begins(method, monkeypatch):
    Z, values = oracle.instance(4, 36, ties=False)
    start, none = merge_until_close(Z, values, 3, 0.3), Deadline(0.0)
    task = create_problem(Z, values, 3, 0.3, "distinct")
    for module, name in (
        (problem_module, "find_neighbours"),
        (multistart_module, "partition_by_strata"),
    ):
        monkeypatch.delattr(module, name)
    how = RepairOptions(None, 10, 0)
    found = closeness_module.list_closeness_methods()[method].solve(
        task, start.labels, how, none
    )
    assert found.labels is start.labels
    assert found.status is Status.LIMIT


def test_compilation_is_not_in_the_time(monkeypatch):
    called = []
    monkeypatch.setattr(closeness_module, "compile_for", lambda *of: called.append(of))
    Z, values = oracle.instance(3, 12)
    closeness(Z, values, [0] * 12, 3, 0.2, method="swap")
    assert not called
    closeness(Z, values, [0] * 12, 3, 0.2, method="swap", time_limit=9)
    assert called == [("swap", None)]


@pytest.mark.parametrize("n", [2, 5, 9, 12, 31])
def test_strata_make_groups_of_one_record_of_each(n):
    Z, values = oracle.instance(0, n, ties=False)
    task = create_problem(Z, values, 1, 0.5, "rank")
    for wanted in range(1, n + 1):
        size = fit_count(n, wanted)
        counts = np.bincount(partition_by_strata(task.Z, task.ordered.place, size))
        assert set(counts) <= {size, size + 1}
        assert len(counts) == n // size


@methods
def test_labels_that_are_best_already_are_kept(method):
    Z = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]])
    given = [0, 0, 0, 0, 1, 1, 1, 1]
    found = closeness(Z, [1, 2, 3, 4, 4, 3, 2, 1], given, 3, 0.2, method=method)
    assert found.labels.tolist() == given
    assert found.certificate.status in (Status.KEPT, Status.OPTIMAL)


@methods
def test_the_bound_of_any_groups_of_k_holds_too(method):
    Z = np.array([[0.0], [0.1], [5.0], [5.1]])
    found = closeness(Z, [1, 2, 2, 1], [0, 0, 1, 1], 2, 0.2, method=method).certificate
    assert found.status is Status.OPTIMAL
    assert found.gap == pytest.approx(0, abs=1e-9)
    assert found.bound == pytest.approx(loss_bound(Z, 2))


@searches
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_close_labels(method, seed):
    Z, values = oracle.instance(seed, 60)
    start = closeness(Z, values, mdav(Z, 3), 3, 0.2, method="swap").labels
    task = create_problem(Z, values, 3, 0.2, "distinct")
    found = closeness(Z, values, start, 3, 0.2, method=method, proposals=0).labels
    assert task.sse(found) <= task.sse(start)


def test_small_groups_join_the_nearest_smallest_first():
    Z = np.array([[0.0], [0.3], [1.0], [5.0], [5.2], [5.3]])
    task = create_problem(Z, [1, 2, 1, 2, 1, 2], 2, 0.9, "distinct")
    assert make_close(task, np.arange(6)).tolist() == [0, 0, 0, 1, 1, 1]
    assert make_close(task, np.array([0, 1, 1, 2, 2, 2])).tolist() == [0, 0, 0, 1, 1, 1]
    alone = create_problem(Z, [1, 2, 1, 2, 1, 2], 6, 0.9, "distinct")
    assert make_close(alone, np.arange(6)).tolist() == [0] * 6


@methods
def test_labels_may_break_k_and_t(method):
    Z, values = oracle.instance(3, 30)
    labels = np.array([0, 1, 2, *[3] * 27])
    found = closeness(Z, values, labels, 4, 0.1, method=method, **few(method))
    assert oracle.holds(values, found.labels, 4, Fraction("0.1"))


@methods
def test_one_group_where_nothing_else_is_possible(method):
    Z, values = oracle.instance(3, 7)
    for k, t in ((4, 0.2), (2, 1e-9), (7, 0.5)):
        found = closeness(Z, values, np.arange(7) % 3, k, t, method=method)
        assert set(found.labels) == {0}
        assert found.certificate.objective == pytest.approx(14)


@pytest.mark.filterwarnings("ignore:.*one value only:UserWarning")
@methods
def test_a_constant_confidential_attribute_is_close_in_any_groups(method):
    Z, _ = oracle.instance(3, 20)
    found = closeness(Z, np.ones(20), mdav(Z, 3), 3, 0.1, method=method)
    assert np.bincount(found.labels).min() >= 3
    assert found.certificate.bound == pytest.approx(loss_bound(Z, 3, bound="quick"))
    assert found.certificate.bound > 0
    assert found.certificate.objective <= create_problem(
        Z, np.ones(20), 3, 0.1, "distinct"
    ).sse(mdav(Z, 3))


def test_the_objective_is_the_sum_of_the_means_certificates():
    X, values = oracle.instance(4, 50)
    X = 1000 + 30 * X
    found = closeness(X, values, mdav(X, 3), 3, 0.3, method="swap")
    lost = sum(c.objective for c in mean(X, found.labels).certificates)
    assert found.certificate.objective == pytest.approx(lost)


@searches
def test_the_same_seed_gives_the_same_groups(method):
    Z, values = oracle.instance(6, 80)
    one, other = (
        closeness(Z, values, mdav(Z, 3), 3, 0.2, method=method, seed=7, **few(method))
        for _ in range(2)
    )
    assert (one.labels == other.labels).all()


@pytest.mark.slow
@methods
def test_the_time_limit_holds(method, own_process):
    Z, values = oracle.instance(7, 400, ties=False)
    start = mdav(Z, 2)
    more = {} if method == "merge-ilp" else {"proposals": 10**9}  # for hours
    found = closeness(Z, values, start, 2, 0.1, method=method, time_limit=0.3, **more)
    assert found.certificate.status in (Status.LIMIT, Status.KEPT)
    assert found.certificate.violation == 0.0


def test_few_near_records_suffice(monkeypatch):
    Z, values = oracle.instance(8, 300, ties=False)
    monkeypatch.setattr(problem_module, "NEAR", 10)
    found = closeness(Z, values, mdav(Z, 3), 3, 0.2, method="sweep", proposals=0)
    assert found.certificate.violation == 0.0
    first = closeness(Z, values, mdav(Z, 3), 3, 0.2, method="sweep", proposals=5)
    assert found.certificate.bound <= first.certificate.objective


def test_progress_is_told():
    Z, values = oracle.instance(6, 40)
    told = []
    closeness(Z, values, mdav(Z, 3), 3, 0.2, method="sweep", progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_objects_are_the_numbers_they_are():
    Z, values = oracle.instance(6, 20)
    one, other = (
        closeness(Z, given, mdav(Z, 3), 3, 0.2, method="swap").labels
        for given in (values, np.array(values, dtype=object))
    )
    assert (one == other).all()


def test_a_constant_attribute_warns_where_it_is_passed():
    Z, _ = oracle.instance(3, 20)
    with pytest.warns(UserWarning, match="one value only") as warned:
        closeness(Z, np.ones(20), mdav(Z, 3), 3, 0.1, method="swap")
    assert warned[0].filename == __file__


def test_nothing_printed_shows_a_value():
    Z, values = oracle.instance(6, 20)
    found = closeness(Z, values, mdav(Z, 3), 3, 0.2, method="swap")
    assert "array" not in repr(found)
    assert "array" not in repr(create_problem(Z, values, 3, 0.2, "distinct"))


@pytest.mark.parametrize(
    "change",
    [
        {"method": "swop"},
        {"method": "swap", "solver": "uno"},
        {"seed": 3},
        {"proposals": 3},
        {"method": "swap", "proposals": -1},
        {"method": "swap", "seed": 0.5},
        {"time_limit": 0},
        {"solver": "lagrangian"},
        {"solver": "higs"},
        {"bins": "ranks"},
        {"k": 9},
        {"t": 0},
        {"labels": [0] * 7},
        {"confidential": range(7)},
        {"X": [[np.nan]] * 8},
        {"X": None},
        {"X": 3.0, "method": "sweep"},
        {"X": (row for row in [[1.0]])},
        {"X": {1.0, 2.0}},
        {"X": [[1.0], [1.0, 2.0]]},
        {"labels": [[0], [0, 1]]},
        {"labels": np.ma.masked_equal([0] * 7 + [1], 1)},
        {"confidential": [[0], [0, 1]]},
        {"confidential": np.ma.masked_less(range(8), 3)},
        {"confidential": [*range(7), None]},
        {"confidential": list("abcdefgh")},
        {"confidential": np.arange(8).astype("M8[D]")},
        {"confidential": np.ones((8, 2))},
    ],
)
def test_refusals_say_what_to_do(change):
    given = {
        "X": np.arange(8.0)[:, None],
        "confidential": range(8),
        "labels": [0] * 8,
        "k": 2,
        "t": 0.2,
    }
    with refused(AggoptError):
        closeness(**(given | change))


@pytest.mark.parametrize(
    ("method", "solver", "limit"),
    [("merge-ilp", None, 600.0), ("swap", "cvxpy:highs", 600.0), ("sweep", None, None)],
)
def test_what_an_integer_program_does_has_a_limit(monkeypatch, method, solver, limit):
    clocks = []

    def solve(problem, given, how, clock):
        clocks.append(clock.seconds)
        return MethodResult(given, Status.LOCAL)

    stood_in = {
        n: replace(r, solve=solve)
        for n, r in closeness_module.list_closeness_methods().items()
    }
    monkeypatch.setattr(closeness_module, "list_closeness_methods", lambda: stood_in)
    Z, values = oracle.instance(3, 8)
    for seconds in (None, 5.0):
        how = {"method": method, "solver": solver, "time_limit": seconds}
        monkeypatch.setattr(closeness_module, "compile_for", lambda *of: None)
        closeness(Z, values, np.zeros(8, int), 2, 0.2, **how)
    assert clocks == [limit, 5.0]
