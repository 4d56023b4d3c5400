"""Shared parts of searches: pools, orderings, a restricted program, screens."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from from_python import from_python
from refusals import refused
from tables import ROLES, people

from aggopt import experiment
from aggopt.core.highs_program import HighsProgram
from aggopt.errors import JobError, SolverError
from aggopt.partition import _mhm as orderings
from aggopt.partition import _screened_distances as screens
from aggopt.partition import _screened_distances_kernels as kernels
from aggopt.partition import _unassigned_pool as unassigned
from aggopt.partition import blocked, cbfs, in_blocks, mdav, mhm, optimal, vmdav
from aggopt.partition._optimal.column_generation import GroupMaster
from aggopt.partition._optimal.columns import group_columns
from aggopt.partition.path_split import get_orderings, share_orderings
from aggopt.partition.shared import restricted_master
from aggopt.partition.shared.restricted_master import RestrictedMaster, require_highs


@pytest.mark.parametrize("f", [mdav, cbfs])
@pytest.mark.parametrize("n", [2, 10, 1000])
def test_progress_grows_to_one_in_few_calls(
    f, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unassigned, "CHUNK", 0)  # a look after every turn
    shares: list[float] = []
    f(np.random.default_rng(0).normal(size=(n, 2)), 2, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] >= 0.0
    assert shares[-1] == 1.0
    assert len(shares) <= 40
    assert len(shares) >= min(n // 4, 20)


def test_progress_changes_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    assert (mdav(X, 3, progress=lambda share: None) == mdav(X, 3)).all()


@pytest.mark.parametrize("f", [mdav, cbfs])
def test_what_progress_raises_stops_the_work(f) -> None:
    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        f(np.zeros((100, 2)), 3, progress=stop)


def one_block(X, k, **how):
    return in_blocks(X, k, [[0]], **how)


@pytest.mark.parametrize("f", [mdav, cbfs, vmdav, blocked, optimal, one_block])
def test_progress_that_cannot_be_told_is_refused(f) -> None:
    with refused(JobError):
        f([[0.0], [1.0], [3.0], [4.0], [9.0], [7.0]], 2, progress=3)


def test_memory_grows_as_the_records_and_not_as_their_pairs() -> None:
    X = np.random.default_rng(0).normal(size=(4000, 5))
    mdav(X[:100], 50)  # compiles
    tracemalloc.start()
    mdav(X, 50)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * X.nbytes
    assert 6 * X.nbytes < 4000**2 * 8 / 50


# --- orderings that are the same for every k are made once where that is asked for


X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.fixture
def made(monkeypatch):
    """Return a list that gets the number of records of each set of orderings made."""
    found, make = [], orderings._iterate_npn

    def counted(records, *how):
        found.append(len(records))
        return make(records, *how)

    monkeypatch.setattr(orderings, "_iterate_npn", counted)
    return found


@pytest.mark.parametrize("order", ["npn", "tsp"])
def test_every_k_has_the_groups_that_it_has_alone(made, order):
    alone = [mhm(X, k, order=order).labels for k in (3, 5, 10)]
    assert made == [40] * 3
    with share_orderings():
        together = [mhm(X, k, order=order).labels for k in (3, 5, 10)]
    assert made == [40] * 4
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other)


def test_other_records_and_other_ways_have_orderings_of_their_own(made):
    with share_orderings():
        for how in ({"order": "npn"}, {"order": "tsp"}, {"order": "npn", "starts": 2}):
            mhm(X, 3, **how)
        mhm(X[:30], 3, order="npn")
        mhm(X[::-1], 3, order="npn")
        mhm(X, 3)
        mhm(X, 5)
    assert made == [40, 40, 40, 30, 40, 40, 40]
    mhm(X, 3, order="npn")
    assert len(made) == 8


def test_what_is_kept_is_forgotten_afterwards():
    with share_orderings():
        kept = get_orderings("a", X, lambda: iter([np.arange(40)]))
        assert get_orderings("a", X, lambda: iter([])) is kept
    assert list(get_orderings("a", X, lambda: iter([]))) == []


def test_cells_that_differ_in_k_alone_share_orderings(made):
    how = {"method": "mhm", "order": "npn", "starts": 1}
    grid = {"k": [3, 5, 30], "partition": [how], "aggregation": ["mean", "median"]}
    rows = experiment([people(40), people(30)], grid, roles=ROLES, on_error="row").rows
    assert made == [40, 30]
    grid["partition"] = {**how, "order": "mdav"}
    experiment([people(40)], {**grid, "aggregation": "mean"}, roles=ROLES)
    assert len(made) == 4
    assert len(rows) == 2 * 3 * 2 * 2


# --- the restricted master: its optimum, its duals, columns and rows added later


def test_the_optimum_takes_the_cheaper_cover():
    master = RestrictedMaster(3)
    starts, rows = np.array([0, 2, 3]), np.array([0, 1, 2, 0, 1, 2])
    master.add_columns(np.array([1.0, 1.0, 3.0]), starts, rows, np.ones(6))
    assert master.ask(10, HighsProgram.solve, 10.0).objective == pytest.approx(2.0)
    master.add_columns(np.array([0.5]), np.array([0]), np.arange(3), np.ones(3))
    found = master.ask(np.inf, HighsProgram.solve, np.inf)
    assert list(found.columns) == pytest.approx([0, 0, 0, 1])
    assert sum(found.duals) == pytest.approx(0.5)


def test_groups_are_priced_by_their_records():
    labels = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0]]
    master = GroupMaster(6)
    for found, cost in zip(labels, (2.0, 5.0), strict=True):
        master.add(group_columns(np.array(found), 3), np.full(2, cost))
    solved = master.solve()
    assert solved.value == pytest.approx(4.0)
    assert list(solved.share) == pytest.approx([1, 1, 0, 0])
    assert solved.is_integral
    assert solved.duals.u.sum() == pytest.approx(4.0)


def test_a_deadline_that_has_passed_is_no_limit_below_zero():
    master = GroupMaster(4)
    master.add(group_columns(np.array([0, 0, 1, 1]), 2), np.ones(2))
    solved = master.solve(-1.0)
    assert solved is None or solved.value == pytest.approx(2.0)


def test_without_highs_the_command_that_installs_it_is_named(monkeypatch):
    class Lacking:
        lacks = ("highspy",)
        install = "pip install highspy"

    monkeypatch.setattr(restricted_master, "SOLVERS", {"cvxpy:highs": Lacking})
    with refused(SolverError):
        require_highs("Unions")


# --- what the screen tells of distances holds for the exact ones


exact_of, least_of, most_of, next_within, draw, measure = map(
    from_python,
    (
        kernels.measure_exactly,
        kernels.compute_lower_limit,
        kernels.compute_upper_limit,
        kernels.find_next,
        kernels.fill_screen,
        kernels.measure_screen,
    ),
)

SPREADS = {
    "even": lambda rng, shape: rng.uniform(-1, 1, shape),
    "one far out": lambda rng, shape: np.tanh(rng.standard_cauchy(shape) / 1e4),
    "alike": lambda rng, shape: 0.9 + rng.uniform(0, 1e-9, shape),
    "tied": lambda rng, shape: rng.integers(-2, 3, shape) / 2.0,
}


@pytest.mark.parametrize("d", [1, 4, 7])
@pytest.mark.parametrize("spread", SPREADS)
def test_no_exact_distance_is_beyond_its_bounds(spread, d) -> None:
    rng = np.random.default_rng(d)
    records = SPREADS[spread](rng, (d, 100))
    screen = measured(records, records[:, 7], 3.0)
    for j in range(100):
        exact = sum(
            (3 * Fraction(x) - Fraction(p)) ** 2
            for x, p in zip(records[:, j], screen.point, strict=True)
        )
        assert exact_of(screen, records, j) == pytest.approx(float(exact), 1e-12)
        least, most = (f(screen, float(exact)) for f in (least_of, most_of))
        assert least <= screen.near[j] <= most


def test_only_near_enough_columns_are_found() -> None:
    rng = np.random.default_rng(0)
    screen = measured(rng.uniform(-1, 1, (2, 199)), np.zeros(2), 1.0)
    for at, end, least, most in ((0, 199, 0, 0.05), (20, 150, 0.5, 0.6), (5, 5, 0, 9)):
        found, j = [], at - 1
        while (j := next_within(screen, j + 1, end, least, most)) < end:
            found.append(j)
        inside = (screen.near[at:end] >= least) & (screen.near[at:end] <= most)
        assert found == (at + np.flatnonzero(inside)).tolist()


def test_what_is_no_point_is_infinitely_far() -> None:
    screen = measured(np.zeros((3, 65)), np.zeros(3), 1.0)
    assert (screen.near[:65] == 0).all()
    assert (screen.near[65:] == np.inf).all()
    assert next_within(screen, 65, 128, 0, kernels.LARGEST) == 128


def measured(records, point, factor):
    screen = screens.create_screen(*records.shape)
    screen.point[:], screen.factor[0] = factor * point, factor
    draw(screen, records, records.shape[1])
    measure(screen, records.shape[1])
    return screen
