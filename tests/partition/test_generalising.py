"""Truthful groups: never below the best partition, never above their start."""

import numpy as np
import pandas as pd
import pytest
from conftest import require_solver
from generalised import find_best, has_kinds, make_table

import aggopt
from aggopt.algorithms.boxes.loss_tables import pack_losses
from aggopt.encoding.generalisation import generalise, generalise_numbers
from aggopt.encoding.generalisation_rule import GeneralisationRule
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    TableError,
    UnknownNameError,
)
from aggopt.partition import generalising
from aggopt.partition._generalising import generalising as method
from aggopt.partition._generalising.certificate import (
    bound_by_pairs,
    bound_generalised_loss,
)
from aggopt.partition._generalising.search import find_near_rows
from aggopt.partition._generalising.start import cut_at_medians, split_by_position
from aggopt.partition.shared.scaling import Weighing
from aggopt.privacy import distinct_l, entropy_l, t_closeness
from aggopt.solvers import Status

RNG = np.random.default_rng(5)
X = RNG.integers(0, 9, (80, 3)).astype(float)
PAY = RNG.permutation(np.arange(80) % 5)
FEW = X[:40]  # whose bound takes little time


def search(table, k, steps, weights=None, first=None):
    """Return the groups of a search in a table that has no coordinates."""
    weighing = Weighing.read(weights, len(table))
    limit = method.Deadline(None)
    return method.search_low_loss(table, k, first, None, weighing, 0, steps, limit)[0]


def test_search_finds_the_best_of_all_partitions_nearly_always():
    met = 0
    for seed in range(30):
        table, k = make_table(seed)
        weights = RNG.integers(1, 4, len(table)) if seed % 3 == 0 else None
        labels = search(table, k, 3000, weights)
        assert np.bincount(labels).min() >= k
        loss, best = table.compute_loss(labels, weights), find_best(table, k, weights)
        assert loss >= best - 1e-9
        met += loss <= best + 1e-9
    assert met >= 28


def test_bound_is_below_the_best_partition_below_the_search():
    shares = []
    for seed in range(30):
        table, k = make_table(seed)
        labels = search(table, k, 1000)
        best = find_best(table, k)
        bound = method.certify_generalised(
            table,
            labels,
            k,
            Weighing.read(None, len(table)),
            seconds=0.0,
            status=Status.LOCAL,
        ).certificate.bound
        assert bound <= best + 1e-9
        if best > 0:
            shares.append(bound / best)
    assert np.mean(shares) > 0.85


def test_a_bound_by_pairs_is_below_the_best_partition():
    shares = []
    for seed in range(30):
        table, k = make_table(seed)
        weights = RNG.integers(1, 4, len(table)) if seed % 3 == 0 else None
        weighing = Weighing.read(weights, len(table))
        best = find_best(table, k, weights)
        bound = bound_by_pairs(table, k, weighing) * weighing.unit
        assert bound <= best + 1e-9
        if best > 0:
            shares.append(bound / best)
    assert np.mean(shares) > 0.5


def test_many_distinct_numbers_have_a_bound_by_pairs():
    records = np.random.default_rng(0).normal(size=(40, 9))
    table = generalise_numbers(records)
    groups = generalising(records, 5, effort="fast")
    bound = bound_by_pairs(table, 5, Weighing(None, 1.0))
    assert 0.4 * groups.loss < bound == groups.certificate.bound


def test_it_never_loses_more_than_its_start():
    table = generalise_numbers(FEW)
    start = method.make_first_groups(table, table.combine().of_record, 4, None)
    at_start = table.compute_loss(start)
    losses = [generalising(FEW, 4, effort=e).loss for e in ("fast", "default")]
    assert max(losses) < at_start
    assert losses[1] == pytest.approx(table.compute_loss(generalising(FEW, 4)))
    given = generalising(FEW, 4, effort="best").labels
    kept = generalising(FEW, 4, initial_labels=given, effort="fast")
    assert kept.loss <= table.compute_loss(given)
    at_once = generalising(FEW, 4, initial_labels=np.arange(40) // 4, time_limit=0)
    assert at_once.labels.tolist() == (np.arange(40) // 4).tolist()
    assert at_once.certificate.status is Status.LIMIT


def test_piles_of_equal_records_stay_whole_and_lose_nothing():
    piles = np.repeat([[0.0, 0.0], [9.0, 1.0], [4.0, 9.0]], [4, 40, 7], axis=0)
    groups = generalising(piles, 4)
    assert groups.sizes.tolist() == [4, 40, 7]
    assert groups.loss == 0
    assert groups.certificate.status is Status.OPTIMAL


def test_a_pile_lends_no_more_than_it_has_beyond_k():
    records = np.vstack([np.repeat([[0.0, 0.0]], 30, axis=0), [[1.0, 0.0], [9.0, 9.0]]])
    groups = generalising(records, 3)
    table = generalise_numbers(records)
    assert groups.loss == pytest.approx(find_pile_optimum(table))
    assert groups.sizes.min() >= 3


def find_pile_optimum(table):
    """Return the loss if both single records share a group with one of the pile."""
    together = np.array([0] * 29 + [1, 1, 1])
    apart = np.array([0] * 26 + [1, 1, 2, 2, 1, 2])
    return min(table.compute_loss(together), table.compute_loss(apart))


@pytest.mark.parametrize("l", [2, 3])
def test_groups_keep_distinct_l(l):  # noqa: E741
    groups = generalising(FEW, 3, confidential=PAY[:40], l=l, levels="values")
    assert distinct_l(groups, PAY[:40]) >= l
    assert groups.sizes.min() >= 3
    plain = generalising(FEW, 3)
    assert groups.loss >= groups.certificate.bound >= 0.98 * plain.certificate.bound


def test_groups_keep_entropy_l_and_t():
    asked = {"confidential": PAY, "l": 3, "levels": "values", "diversity": "entropy"}
    groups = generalising(X, 5, **asked)
    assert entropy_l(groups, PAY) >= 3 - 1e-9
    groups = generalising(X, 5, confidential=PAY, t=0.2)
    assert t_closeness(groups, PAY) <= 0.2
    both = generalising(X, 5, confidential=PAY, t=0.25, l=3, levels="values")
    assert t_closeness(both, PAY) <= 0.25
    assert distinct_l(both, PAY) >= 3


def test_groups_have_records_of_k_units():
    units = np.array([f"house {x}" for x in np.arange(80) // 4])
    alike = np.repeat(X[:20], 4, axis=0)
    groups = generalising(alike, 3, units=units)
    assert distinct_l(groups, np.arange(80) // 4) >= 3
    assert groups.loss > generalising(alike, 3).loss == 0
    asked = {"confidential": PAY, "l": 4, "levels": "values"}
    groups = generalising(X, 3, units=units, **asked)
    assert distinct_l(groups, np.arange(80) // 4) >= 3
    assert distinct_l(groups, PAY) >= 4


def test_best_partition_with_a_requirement_is_between_search_and_bound():
    met, gain = 0, 0.0
    for seed in range(30):
        table, k = make_table(seed)
        n = len(table)
        kept = method._build_requirements(None, np.arange(n) % 2, 2)
        limit = method.Deadline(None)
        labels, _ = method.search_low_loss(
            table, k, None, kept, Weighing.read(None, n), 0, 2000, limit
        )
        assert distinct_l(labels, np.arange(n) % 2) == 2
        best = find_best(table, k, allowed=has_kinds(np.arange(n) % 2, 2))
        loss = table.compute_loss(labels)
        assert loss >= best - 1e-9
        met += loss <= best + 1e-9
        weighing = Weighing.read(None, n)
        bounds = [
            bound_generalised_loss(table, labels, k, weighing, each)
            for each in (None, kept)
        ]
        assert bounds[1] <= best + 1e-9
        gain += bounds[1] - bounds[0]
    assert met >= 27
    assert gain > 3  # of bounds that know the requirement over those that do not


@pytest.mark.parametrize("weighted", [False, True])
def test_a_solver_proves_the_best_partition(weighted):
    require_solver("cvxpy:highs")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        records = rng.integers(0, 5, (8, 2)).astype(float)
        weights = rng.integers(1, 4, 8) if weighted else None
        asked = {"weights": weights, "seed": seed, "effort": "fast"}
        groups = generalising(records, 3, solver="cvxpy:highs", **asked)
        certificate = groups.certificate
        best = find_best(generalise_numbers(records), 3, weights)
        assert certificate.objective == pytest.approx(best)
        assert certificate.status is Status.OPTIMAL
        assert groups.sizes.min() >= 3
        if weights is None:
            table = generalise_numbers(records)
            assert table.compute_loss(groups) == pytest.approx(best)


def test_a_solver_improves_poor_groups():
    require_solver("cvxpy:highs")
    poor = np.arange(80) // 4
    asked = {"initial_labels": poor, "time_limit": 40.0, "solver": "cvxpy:highs"}
    table = generalise_numbers(X[:, :1])
    groups = generalising(X[:, :1], 4, **asked)
    assert groups.certificate.status is Status.OPTIMAL
    assert groups.certificate.objective == pytest.approx(table.compute_loss(groups))
    assert groups.loss < table.compute_loss(poor)


def frame(n=60):
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "job": rng.choice(["smith", "turner", "nurse", "doctor"], n),
            "age": rng.integers(18, 80, n),
            "town": rng.choice(list("abc"), n),
        }
    )


TREE = {"craft": ["smith", "turner"], "care": ["nurse", "doctor"]}


def test_an_encoded_table_publishes_by_its_types_and_rules():
    encoded = aggopt.encode(frame(), {"job": {"tree": TREE}})
    by_leaves = generalising(encoded, 3)
    height = {"job": {"tree": TREE, "cost": "height"}}
    by_height = generalising(aggopt.encode(frame(), height), 3)
    assert by_leaves.loss < by_height.loss  # 1 of 3 leaves, 1 of 2 levels
    rules = {"age": GeneralisationRule(cuts=[0, 30, 50, 100], weight=2.0)}
    groups = generalising(encoded, 3, rules=rules)
    table = method.read_generalised(encoded, rules)
    assert groups.loss == pytest.approx(table.compute_loss(groups))


def test_the_same_seed_gives_the_same_groups():
    one, other = (generalising(X, 3, seed=7) for _ in range(2))
    assert (one.labels == other.labels).all()
    reported = []
    generalising(X, 3, progress=reported.append)
    assert reported[-1] == 1.0
    assert reported == sorted(reported)


def test_an_interrupt_returns_the_best_groups_so_far():
    def interrupt(share):
        if 0.3 < share < 1:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        groups = generalising(FEW, 3, progress=interrupt)
    assert groups.interrupted
    assert groups.certificate.status is Status.INTERRUPTED
    assert groups.loss < generalising(FEW, 3, time_limit=0).loss


def test_what_cannot_be_used_is_refused():
    for change, error, says in (
        ({"effort": "bset"}, UnknownNameError, "did you mean 'best'"),
        ({"effort": "best", "time_limit": 1}, JobError, "both set"),
        ({"time_limit": -1}, JobError, "time_limit = -1"),
        ({"seed": -1}, JobError, "seed = -1"),
        ({"rules": {"age": GeneralisationRule()}}, JobError, "no names"),
        ({"units": [1, 2]}, TableError, "units have shape"),
        ({"units": np.arange(80) % 2}, InfeasibleInputError, "only 2 units"),
        ({"weights": np.zeros(80)}, TableError, "weights"),
        ({"l": 2}, JobError, "no confidential attribute"),
        ({"initial_labels": np.arange(80) // 2}, JobError, "a group of 2"),
    ):
        with pytest.raises(error, match=says):
            generalising(X, 3, **change)
    with pytest.raises(JobError, match="more than k"):
        generalising(X, 3, solver="cvxpy:highs", confidential=PAY, l=2, levels="values")
    with pytest.raises(UnknownNameError, match="did you mean 'cvxpy:highs'"):
        generalising(X, 3, solver="cvxpy:hihgs")
    units = np.arange(80) // 4
    with pytest.raises(JobError, match="a group of 1 units"):
        generalising(X, 3, units=units, initial_labels=np.arange(80) // 4)
    encoded = aggopt.encode(
        pd.DataFrame({"a": ["x", "y"] * 9}), {"a": {"distances": {"x": {"y": 1.0}}}}
    )
    with pytest.raises(JobError, match="give it a tree"):
        generalising(encoded, 2)


def list_pair_losses(table):
    """Return the loss of each pair of combinations, inf of one with itself (c, c)."""
    rows = table.combine().positions
    losses = sum(
        a.weight * a.losses(rows[:, None, j], rows[None, :, j])
        for j, a in enumerate(table.attributes)
    )
    np.fill_diagonal(losses, np.inf)
    return losses


def test_near_combinations_are_the_nearest_or_nearly_all_of_them():
    encoded = aggopt.encode(frame(300), {"job": {"tree": TREE}})
    table = generalise(encoded)
    losses = pack_losses(table.attributes)
    rows = table.combine().positions
    slow = np.sort(list_pair_losses(table), axis=1)
    near, distances = find_near_rows(losses, rows)
    np.testing.assert_allclose(distances, slow[:, : distances.shape[1]])
    pairs = list_pair_losses(table)[np.arange(len(rows))[:, None], near]
    np.testing.assert_allclose(distances, pairs)
    _, roughly = find_near_rows(losses, rows, exact=10)
    assert (roughly >= distances - 1e-12).all()
    assert (roughly[:, :10] <= distances[:, :10] + 1e-12).mean() > 0.9


def test_cuts_at_medians_divide_no_further_and_do_not_depend_on_signs():
    table, turned = generalise_numbers(X), generalise_numbers(-X)
    allowed = lambda members: len(members) >= 4  # noqa: E731
    labels = cut_at_medians(table, allowed)
    assert np.bincount(labels).min() >= 4
    other = cut_at_medians(turned, allowed)
    assert len(np.unique(np.column_stack([labels, other]), axis=0)) == labels.max() + 1
    for g in range(labels.max() + 1):
        members = X[labels == g]
        for column in members.T:
            middle = np.median(column)
            below, above = (column < middle).sum(), (column > middle).sum()
            assert min(len(members) - below, below) < 4
            assert min(len(members) - above, above) < 4


def test_large_groups_are_split_at_no_loss():
    table = generalise_numbers(X)
    one = np.zeros(80, np.int64)
    labels = split_by_position(table, one, 6)
    assert np.bincount(labels).tolist() == [6] * 12 + [8]
    assert table.compute_loss(labels) <= table.compute_loss(one)
    alike = generalise_numbers(np.ones((80, 1)))
    assert split_by_position(alike, one, 6).tolist() == one.tolist()
