"""The pair program: below every partition, whoever found its multipliers."""

from itertools import combinations

import numpy as np
import pytest
from conftest import require_solver
from partition import exact

from aggopt.errors import JobError, UnknownNameError
from aggopt.models import MODELS
from aggopt.models import pair_bound as model
from aggopt.solvers import SOLVERS, solve
from aggopt.solvers.run_solver import run_solver

LP = pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs"])
SIZES = [(5, 2), (6, 2), (7, 3), (8, 3), (9, 4)]
by_size = pytest.mark.parametrize(("n", "k"), SIZES)


def instance(n, k, seed=0):
    """Records with ties and copies, cuts with random ends, and random sets."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)).round(1)
    x[1] = x[0]
    cut = np.array([*combinations(range(n), 2)])
    ends = rng.choice([0, 0, 1, 1, -1], size=(len(cut), n))
    return model.Data(x, k, cut, ends, rng.random((6, n)) < 0.6)


def partitions(n, k):
    """Return the labels of all partitions into groups of k or more."""
    every = exact.partitions(list(range(n)), k)
    labels = np.empty((len(list(every)), n), int)
    for row, groups in enumerate(exact.partitions(list(range(n)), k)):
        for g, members in enumerate(groups):
            labels[row, list(members)] = g
    return labels


def loss(x, labels):
    return sum(
        ((x[labels == g] - x[labels == g].mean(axis=0)) ** 2).sum()
        for g in range(labels.max() + 1)
    )


@by_size
def test_every_partition_satisfies_all_inequalities_at_its_loss(n, k):
    data = instance(n, k)
    for labels in partitions(n, k):
        at = model.point_of_groups(data, labels)
        assert model.objective(data, at) == pytest.approx(loss(data.x, labels))
        missed = model.violations(data, at)
        if np.bincount(labels).max() >= 2 * k:
            missed.pop("least")  # a group that can be split
        assert max(missed.values()) < 1e-9


@LP
@by_size
def test_the_least_value_is_below_the_optimum_and_multipliers_prove_it(name, n, k):
    require_solver(name)
    data = instance(n, k, 1)
    best = min(loss(data.x, labels) for labels in partitions(n, k))
    problem = model.build(data, SOLVERS[name].language)
    value = solve(problem, name).bound
    assert value <= best * (1 + 1e-9)
    multipliers = model.multipliers(problem, data)
    assert model.proven(data, multipliers) == pytest.approx(value, abs=1e-6)


@by_size
def test_no_multipliers_prove_more_than_the_optimum(n, k):
    data = instance(n, k, 2)
    best = min(loss(data.x, labels) for labels in partitions(n, k))
    rng = np.random.default_rng(3)
    counts = [len(data.families[name].sides) for name in model.FAMILIES]
    for scale in (0.01, 0.1, 1.0):
        for _ in range(50):
            drawn = [rng.exponential(scale, c) * (rng.random(c) < 0.2) for c in counts]
            drawn[0] = rng.exponential(scale, n)
            assert model.proven(data, np.concatenate(drawn)) <= best
    assert model.proven(data, np.full(sum(counts), np.nan)) == 0.0


@by_size
def test_degrees_alone_prove_the_neighbour_bound(n, k):
    data = instance(n, k, 4)
    apart = ((data.x[:, None] - data.x) ** 2).sum(axis=2)
    apart = np.sort(apart + np.diag(np.full(n, np.inf)), axis=1)
    y = np.zeros(sum(len(rows.sides) for rows in data.families.values()))
    y[:n] = apart[:, k - 2] / (2 * k)
    neighbour_bound = apart[:, : k - 1].sum() / (2 * k)
    assert model.proven(data, y) >= neighbour_bound * (1 - 1e-12)


@pytest.mark.parametrize("name", ["cvxpy:highs", "pyomo:highs", "pair_bound"])
def test_rows_of_a_requirement_hold_for_groups_that_satisfy_it(name):
    require_solver(name)
    n, k, alpha = 9, 2, 0.5
    x = np.random.default_rng(6).normal(size=(n, 2))
    codes = np.arange(n) % 3
    levels = np.tile(-1.0 * (codes == np.arange(3)[:, None]), (n, 1))
    record = np.repeat(np.arange(n), 3)
    entry = levels[np.arange(3 * n), record]
    rows = model.Promises(record, entry, np.full(3 * n, -alpha * k), levels)
    data = model.Data(x, k, promises=rows)
    best = np.inf
    for labels in partitions(n, k):
        counts = np.zeros((labels.max() + 1, 3))
        np.add.at(counts, (labels, codes), 1)
        missed = model.violations(data, model.point_of_groups(data, labels))
        is_kept = (counts <= alpha * counts.sum(axis=1, keepdims=True)).all()
        assert (missed["promise"] < 1e-9) == is_kept
        if is_kept:
            assert max(missed.values()) < 1e-9
            best = min(best, loss(x, labels))
    if name == "pair_bound":
        value = run_solver(MODELS["pair_bound"], data, SOLVERS[name], None).bound
    else:
        problem = model.build(data, SOLVERS[name].language)
        value = solve(problem, name).bound
        multipliers = model.multipliers(problem, data)
        assert model.proven(data, multipliers) == pytest.approx(value, abs=1e-6)
    free = solve(model.build(model.Data(x, k), "cvxpy"), "cvxpy:highs").bound
    assert free < value <= best * (1 + 1e-9)
    with pytest.raises(JobError, match="shapes"):
        model.Data(x, k, promises=rows._replace(levels=levels[:, 1:]))


def test_violations_by_hand():
    x = np.array([[0.0], [1.0], [5.0], [6.0]])
    data = model.Data(x, 2, inside=np.array([[True, True, True, False]]))
    w = np.zeros(6)
    assert data.number[0, 1] == 0
    w[0] = 1.5
    missed = model.violations(data, model.Point(w, np.ones(4)))
    assert missed == {
        "degree": 1.0,  # 2 and 3 are with nobody
        "cap": 0.5,
        "triangle": 0.5,
        "common": 0.0,  # k - 2 = 0
        "sizes": 1.0,  # 3 records in 1 group, with nobody outside
        "promise": 0.0,
        "share": 0.5,
        "least": 0.0,
    }


def test_a_cut_counts_the_ends_that_represent_the_others():
    x = np.array([[0.0], [1.0], [3.0], [7.0], [9.0], [10.0]])
    ends = np.array([[0, 0, 0, 1, -1, 1]])
    data = model.Data(x, 3, np.array([[0, 1]]), ends)
    row = data.families["common"].pairs.toarray()[0]
    pairs = {(0, 2): 1.0, (1, 3): 1.0, (1, 5): 1.0, (0, 1): 0.0}  # k - 2 - |M| = 0
    expected = [pairs.get((i, j), 0.0) for i, j in combinations(range(6), 2)]
    assert row.tolist() == expected


def test_data_that_state_no_program_are_refused():
    x = np.arange(6.0)[:, None]
    cut, ends = np.array([[0, 1]]), np.zeros((1, 6), int)
    with pytest.raises(JobError, match="one without the other"):
        model.Data(x, 2, cut)
    with pytest.raises(JobError, match="shape"):
        model.Data(x, 2, cut, ends[:, 1:])
    with pytest.raises(JobError, match="no pair of two records"):
        model.Data(x, 2, cut * 6, ends)
    with pytest.raises(JobError, match="is no end"):
        model.Data(x, 2, cut, ends + 2)
    with pytest.raises(JobError, match="row of 6 entries"):
        model.Data(x, 2, inside=np.ones((1, 5), bool))
    with pytest.raises(UnknownNameError, match="did you mean 'cvxpy'"):
        model.build(model.Data(x, 2), "cvxpi")
    assert "array" not in repr(model.Data(x, 2, cut, ends))
