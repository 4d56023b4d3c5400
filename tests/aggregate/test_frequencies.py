"""Categories published as often as before: laws, the best of all choices, refusals."""

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from aggopt.aggregate import frequencies, plurality
from aggopt.errors import (
    AggoptError,
    InfeasibleInputError,
    JobError,
    TableError,
    UnknownNameError,
)
from aggopt.solvers import Status

LEVELS = ["low", "middle", "high"]
TREE = {"lung": ["asthma", "flu"], "heart": ["attack", "stroke"]}


def table(seed, n=18, k=3, levels=LEVELS):
    """Return a column (n,) and groups (n,) of k records."""
    rng = np.random.default_rng(seed)
    return rng.choice(levels, n), rng.permutation(np.arange(n) // k)


def off(column, values):
    """Return by how many records each level differs."""
    before, after = Counter(column), Counter(values)
    return np.array([abs(after[v] - before[v]) for v in {*before, *after}])


def loss(column, values, apart):
    return sum(apart(a, b) for a, b in zip(column, values, strict=True))


def unlike(a, b):
    return float(a != b)


def steps(a, b):
    return abs(LEVELS.index(a) - LEVELS.index(b)) / 2


@pytest.mark.parametrize("solver", ["slots", "cvxpy:highs", "pyomo:highs"])
@pytest.mark.parametrize(
    ("seed", "how", "apart"),
    [(0, {"slack": 1}, unlike), (1, {"order": LEVELS, "slack": 2}, steps)],
)
def test_the_best_of_all_choices_is_published(solver, seed, how, apart):
    column, groups = table(seed)
    best = np.inf
    for names in product(LEVELS, repeat=6):
        values = [names[g] for g in groups]
        if off(column, values).max() <= how["slack"]:
            best = min(best, loss(column, values, apart))
    found = frequencies(column, groups, solver=solver, **how)
    proof = found.certificate
    if not np.isfinite(best):
        assert proof.status is Status.INFEASIBLE
        return
    assert proof.status is Status.OPTIMAL
    assert proof.solver == solver
    assert loss(column, found.values, apart) == pytest.approx(best)
    assert proof.objective == pytest.approx(best)
    assert proof.bound == pytest.approx(best)
    assert proof.violation == 0
    assert off(column, found.values).max() <= how["slack"]


def test_a_price_is_paid_for_each_record_of_difference():
    column, groups = table(2)
    found = frequencies(column, groups, order=LEVELS, price=0.4)
    best = min(
        loss(column, values, steps) + 0.4 * off(column, values).sum()
        for names in product(LEVELS, repeat=6)
        for values in [[names[g] for g in groups]]
    )
    assert found.certificate.objective == pytest.approx(best)
    assert found.certificate.status is Status.OPTIMAL


def test_the_slack_is_four_records_and_exact_none():
    column, groups = table(3, 60)
    usual = frequencies(column, groups)
    assert off(column, usual.values).max() <= 4
    assert usual.certificate.objective == pytest.approx(
        frequencies(column, groups, slack=4).certificate.objective
    )
    even = np.repeat(LEVELS, 20)[np.random.default_rng(0).permutation(60)]
    exact = frequencies(even, np.arange(60) // 4, slack="exact")
    assert off(even, exact.values).max() == 0


def test_it_loses_no_less_than_plurality_and_ties_go_to_it():
    column, groups = table(4, 120, 2, ["a", "b"])  # most groups of two are tied
    near, kept = plurality(column, groups), frequencies(column, groups, slack="exact")
    assert near.tied > 10
    assert kept.certificate.objective >= near.certificate.bound
    assert kept.certificate.objective == pytest.approx(near.certificate.objective)
    assert off(column, kept.values).max() == 0


def test_the_order_of_records_and_the_numbers_of_groups_change_no_figure():
    column, groups = table(5, 90)
    first = frequencies(column, groups, order=LEVELS, slack=2)
    rng = np.random.default_rng(0)
    order, names = rng.permutation(90), rng.permutation(30)
    again = frequencies(column[order], names[groups[order]], order=LEVELS, slack=2)
    assert again.certificate.objective == pytest.approx(first.certificate.objective)
    assert again.certificate.bound == pytest.approx(first.certificate.bound, rel=1e-5)
    assert off(column, again.values).max() <= 2


def test_a_seed_decides_among_groups_that_are_alike_and_changes_no_loss():
    column = np.tile(["a", "b"], 40)  # all groups of two are alike
    groups = np.arange(80) // 2
    found = [frequencies(column, groups, slack="exact", seed=s) for s in (0, 0, 1)]
    assert (found[0].values == found[1].values).all()
    assert (found[0].values != found[2].values).any()
    assert {f.certificate.objective for f in found} == {40.0}


def test_typed_and_untyped_columns_are_published_alike():
    column, groups = table(6, 60)
    ranked = pd.Series(pd.Categorical(column, LEVELS, ordered=True))
    plain = frequencies(column, groups, order=LEVELS)
    typed = frequencies(ranked, groups)
    assert (plain.values == typed.values).all()
    codes = np.array([LEVELS.index(v) for v in column])
    star = frequencies(codes, groups, tree={"any": [0, 1, 2]})
    flat = frequencies(column, groups)
    half = 2 * star.certificate.objective  # below a root of its own
    assert half == pytest.approx(flat.certificate.objective)


def test_of_a_tree_nearer_leaves_are_published_and_only_what_records_have():
    rng = np.random.default_rng(7)
    column = rng.choice(["asthma", "flu", "attack"], 60)
    found = frequencies(column, np.arange(60) // 3, tree=TREE, slack=3)
    assert set(found.values) <= {"asthma", "flu", "attack"}
    assert found.certificate.status is Status.OPTIMAL


def test_where_there_is_no_choice_the_plurality_is_returned_and_said_to_be_none():
    column = np.array(["a"] * 7 + ["b"] * 8)
    groups = np.arange(15) // 5
    found = frequencies(column, groups, slack=1)
    assert found.certificate.status is Status.INFEASIBLE
    assert found.certificate.bound is None
    assert found.certificate.violation == 1  # 7 and 8 are not 5 and 10 within 1
    assert found.certificate.objective == plurality(column, groups).certificate.bound


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"slack": 4, "price": 1.0}, JobError),
        ({"slack": "none"}, JobError),
        ({"slack": -1}, JobError),
        ({"slack": True}, JobError),
        ({"slack": np.nan}, JobError),
        ({"price": 0}, JobError),
        ({"order": LEVELS, "tree": TREE}, JobError),
        ({"order": LEVELS[:2]}, TableError),
        ({"solver": "lagrangian"}, JobError),
        ({"solver": "slot"}, UnknownNameError),
        ({"time_limit": 0}, JobError),
        ({"seed": -1}, JobError),
        ({"options": {"presolve": "off"}}, JobError),
    ],
)
def test_what_makes_no_sense_is_refused(how, error):
    column, groups = table(0, 30)
    with refused(error) as error:
        frequencies(column, groups, **how)
    assert isinstance(error.value, AggoptError)


def test_levels_of_few_records_are_refused_where_counts_are_exact_and_not_named():
    column = np.array(["usual"] * 16 + ["seldom"] * 2 + ["never"] * 2)
    with refused(InfeasibleInputError) as no:
        frequencies(column, np.arange(20) // 5, slack="exact")
    assert "seldom" not in str(no.value)
    assert frequencies(column, np.arange(20) // 5).certificate.status is Status.OPTIMAL


def test_groups_that_are_none_are_refused():
    with refused(JobError, "labels have shape"):
        frequencies(["a", "b"], [0, 0, 0])
